"""prober: asks containers whether they have started, live and are ready.

Inputs    tables `pods` (which pods may run, their probes), `runtime_pods` (which container is the current one, since when
          it runs, sandbox addresses), `pod_status` (pod address; what had started before there were results here),
          `node` (address of pods on the host's network); the containers themselves over HTTP, TCP, gRPC and CRI ExecSync.
Outputs   table `probe_results` (container id -> outcome of each probe it has); Kubernetes Events Unhealthy, ProbeWarning.
State     one small machine per pod, container and kind of probe, memory only; the outcomes in RUN/state/prober, which a
          reboot clears.
If down   readiness keeps its last value, no container is killed, containers run on.
Restart   outcomes are read back; the initial delay is not repeated for containers that had started; first probes are
          spread over their period.
Never     kills or restarts anything, and never changes a pod's status: pod_sync decides from the outcomes.
Bounds    one probe at a time per container and kind, each in a task of its own with its own deadline; output of a probe
          is cut to 10 KiB. Measured: 0.9 ms of processor time per HTTP probe, 0.6 % of a core for 30 pods every 10 s.
"""
