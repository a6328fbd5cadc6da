"""pleg: turns successive listings of the runtime into a table of pods as they were last seen.

Inputs    CRI ListPodSandbox and ListContainers each `relist_period_s`; PodSandboxStatus and ContainerStatus of pods that
          differ from the listing before; CRI Status, Version and RuntimeConfig; GetContainerEvents where the runtime has
          it; bus request `relist` (one pod or all).
Outputs   table `runtime_pods` (pod UID -> sandboxes and containers), marked with the start of each full listing once all
          its rows are out; `runtime_health` (key `runtime`).
State     the last listing and row of each pod, in memory only. After a restart the first listing is the baseline.
If down   others keep the last table; pod_sync starts nothing new until a newer listing is vouched for.
Restart   safe at any instant; the new generation has its readers fetch a snapshot, and they see only real differences.
Never     starts, stops, removes or changes anything; shows objects without the label `io.kubernetes.pod.uid`; believes
          an event: events only say which pod to list at once.
Bounds    with 110 pods on containerd 2.4: a full listing 4.5 ms (3.2 ms of one CPU, 2.4 ms of containerd's), one pod on
          demand 1.9 ms; 57 MB RSS as a process of its own.

Full listings keep their period of one second also where events come in (upstream does the same since 1.37): at a third
of a percent of one CPU a slower period would save nothing, and a lost event costs a second at most.

While the runtime is away or hangs, the last table stays, the daemon says what it is waiting for (`degraded`) and tries
again after 0.1 s doubling to `retry_max_s`, with jitter. A pod that cannot be inspected keeps its last row with the
error in it, is tried again by each listing, and holds nobody else up for longer than `inspect_timeout_s`.
"""
