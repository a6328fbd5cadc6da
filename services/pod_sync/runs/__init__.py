"""runs: what one run of a pod worker does, step by step.

Inputs    `StartRun` of a worker, the newest observation of the pod, what the peers have ready for it (`ports`).
Outputs   acts on the runtime, statuses, Kubernetes Events; a `RunResult`.
State     none between runs.
If down   not a process: part of pod_sync.
Restart   a run that was cut is done again from its start, on a newer observation.
Never     decides by itself whether to start, stop or restart: `containers.core` does.
Bounds    a sync that finds everything as it should be makes no call to the runtime.

Modules: `sync` (SyncPod), `acting` (carries out a plan), `context` (what the pod was given), `terminating` and
`terminated` (the end), `parts` (what they share). Source of the order of steps: upstream `kubelet.SyncPod`,
`SyncTerminatingPod`, `SyncTerminatingRuntimePod`, `SyncTerminatedPod`.
"""
