"""eviction: keeps the node from running out of memory, disk or processes, and throws away what nobody uses any more.

Inputs    bus request `usage` (of container_manager), statfs, CRI ImageFsInfo every `pressure_period_s`; tables `pods`,
          `runtime_pods`, `volume_usage`; CRI listings of containers, sandboxes and images.
Outputs   tables `node_pressure` (key `node`) and `removed_images`; `kill_pod` requests, one pod per pass; removals of dead
          containers, sandboxes, images, log folders; rotated logs; events about node and pods.
State     since when thresholds are met and conditions last true, in RUN/state/eviction; ages of images in memory only.
If down   the last pressure stays with its readers; nothing is reclaimed; logs grow.
Restart   safe at any instant: a condition stays for its transition period across lives, a removal or a rotation that was
          cut off is finished by the next look.
Never     ends a static or critical pod; removes anything of a pod that `pods` names, beyond what its row allows, or of any
          other pod before `pods` is complete; removes the newest dead container of a pod that is there.
Bounds    one pod per pass for pressure; containers are listed once a minute, images once in five.
"""
