"""records: what pod_sync must know again after a restart and cannot see in the world.

Inputs    values to keep, from the shell.
Outputs   the values as they were kept last.
State     RUN/state/pod_sync (tmpfs: a reboot, which ends every container, clears it): per pod the decision to end it,
          its status and waiting reasons, hooks that ended; crash-loop back-off. ROOT/allocated_pods_state: the pods that
          were admitted and with which resources, in the kubelet's own format.
If down   not a process: part of pod_sync.
Restart   a file that is torn or foreign is set aside with a warning, and its pod's state is rebuilt from the world.
Never     keeps secrets: environment values and pull credentials are not part of anything recorded.
Bounds    one small file per pod and kind; a write takes under 1 ms on tmpfs.

Modules: `folder` (one file per pod), `decisions`, `progress` (status, reasons, hooks), `backoff`, `allocations`.
"""
