"""sources: where this node's pods come from, and what changed since they were last read.

Inputs    manifest files (a folder or one file), a manifest URL; later the API server's watch.
Outputs   `Mux.merge(source, pods, now_ns) -> Merged`: ADD, UPDATE, DELETE, REMOVE and RECONCILE of pods.
State     the pods last read, by source and UID, memory only.
If down   not a process: part of pod_sync.
Restart   every source is read anew; its pods come as ADD.
Never     decides whether a pod may run, nor starts or ends one.
Bounds    one read of 250 manifests in well under a second, off the loop; a manifest has at most 10 MiB.

How a shell uses it::

    mux = Mux(registered=frozenset({"file", "http"}))
    tasks.create_task(watch_files(FileSettings(path=..., node_name=..., period_s=20), deliver, log))
    tasks.create_task(watch_url(HttpSettings(url=..., node_name=..., headers=..., period_s=20), deliver_http, log))
    def deliver(pods: Sequence[Pod]) -> None:         # in the loop; the whole list, each time it was read
        merged = mux.merge("file", pods, time.time_ns())
        for operation in merged.operations: ...       # at most one per kind, in the order REMOVE, ADD, UPDATE, ...
        for pod in merged.duplicates: ...             # event Warning FailedValidation, text duplicate_message(pod, source)
    mux.all_read                                      # every registered source was read at least once

Modules: `mux` (pure), `files` with `notices` (inotify), `http` with `fetch` (one GET), `manifests` (a file to a pod or a
complaint). What a manifest may hold is said in `shared.kube.manifest`.
"""
