"""sources: where this node's pods come from, and what changed since they were last read.

Inputs    manifest files (a folder or one file), a manifest URL; later the API server's watch.
Outputs   `Mux.merge(source, pods, now_ns) -> Merged`: ADD, UPDATE, DELETE, REMOVE and RECONCILE of single pods.
State     the pods last read, by source and UID, memory only.
If down   not a process: part of pod_sync.
Restart   every source is read anew; its pods come as ADD.
Never     decides whether a pod may run, nor starts or ends one.
Bounds    one read of 250 manifests in well under a second.

How a shell uses it::

    mux = Mux(registered={"file"})
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(watch_files(FileSettings(path=..., node_name=..., period_s=20), deliver, log))
    def deliver(pods: list[Pod]) -> None:             # the whole list, each time it was read
        for operation in mux.merge("file", pods, time.time_ns()).operations: ...
    mux.all_read                                       # every registered source was read at least once

Modules: `mux` (pure), `files`, `http`, `manifests` (one file's bytes to a pod or a complaint).
"""
