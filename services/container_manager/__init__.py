"""container_manager: the control groups of pods, what the node has, who gets it, and what is used of it.

Inputs    tables `pods`, `pod_volumes`, `runtime_pods`, `runtime_health`; bus requests `admit`, `prepare_pod`,
          `prepare_container`, `unprepare_pod`, `usage`; cgroup hierarchies, /proc, /sys; file system of the root directory.
Outputs   tables `node_resources` (capacity, allocatable, ids of the machine) and `pod_resources` (a pod's group: ready,
          failed, released); the groups `kubepods`, its tiers and one per pod; events about allocatable.
State     groups are read back from the kernel; grants of `admit` are kept in RUN/state/container_manager, because between
          the answer and the pod's row nothing else shows them.
If down   limits stay in the kernel; pod_sync waits with new pods; nobody sees usage.
Restart   safe at any instant: a group that was made but not yet given its values is finished when its pod is seen.
Never     touches a group outside of its `kubepods`; removes one before `pods` is complete, or while volumes of the pod
          are mounted; starts, stops or creates a container.
Bounds    on 2 cores with cgroup v1: 2.5 ms to make a pod's group, 40 ms of CPU to read 250 pods; 41 MB RSS by itself.
"""
