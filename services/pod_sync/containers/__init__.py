"""containers: what is to be done with the sandbox and the containers of one pod. Pure.

Inputs    the allocated pod, the pod as the runtime was last listed (`RuntimePod`), probe results by container id.
Outputs   `core.compute_pod_actions(...) -> PodActions`: kill, create, start, in the order of one sync.
State     crash-loop back-off (`backoff.CrashLoops`), a value that the shell keeps and stores.
If down   not a process: part of pod_sync.
Restart   nothing of its own; the same listing gives the same plan, whoever started the containers.
Never     does I/O, reads a clock; starts a container that a newer listing could show as already started.
Bounds    one plan for a 20-container pod in under 1 ms.

Modules: `model` (PodActions), `core` (the plan), `core_sandbox`, `core_init`, `core_restart` (its parts), `hashing` (has
a definition changed), `backoff` (crash loops).
"""
