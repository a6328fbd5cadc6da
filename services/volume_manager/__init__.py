"""volume_manager: makes pods' directories, mounts their volumes, and takes both away again.

Inputs    tables `pods` (what may run, what may be unmounted, what may be removed), `runtime_pods` (an orphan whose
          containers run is left alone), `node_resources` (allocatable memory bounds memory volumes); ROOT/pods and
          /proc/self/mountinfo.
Outputs   tables `pod_volumes` (host path of each volume, or that nothing is mounted any more), `volumes_in_use`,
          `volume_usage`; Kubernetes Events FailedMount; ROOT/pods/UID with its volumes.
State     which operations ran, their back-off, memory only. Volumes, mounts and markers are on disk and are found again.
If down   mounts stay and containers run on; no new mounts, nothing is unmounted, projected files are not refreshed.
Restart   safe at any instant: each operation may be cut off between two system calls and is repeated. Volumes that
          are found count as uncertain; they are set up again, which changes nothing of one that is in use.
Never     unmounts or deletes anything of a pod that may run, or of one that nobody has spoken of yet in this
          generation of pod_sync; deletes data outside of a volume's tear-down.
Bounds    one operation at a time per volume; 64 threads; a change of `pods` is acted on at once, without polling. Measured
          on two busy cores: a pod without volumes is ready 1.2 ms after its row, one with three after 4 ms; 43 MB RSS.
"""
