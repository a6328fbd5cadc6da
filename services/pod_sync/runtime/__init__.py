"""runtime: carries out what was decided about a pod's sandbox and containers. The one room that calls the CRI.

Inputs    a `PodContext` (room `environment`), the container, its attempt; host files under the root directory.
Outputs   CRI calls, the container's host files (log directory, etc-hosts, termination log), Kubernetes Events by callback.
State     none of its own. What it made is seen in the runtime by name and attempt.
If down   not a process: part of pod_sync. A runtime that is away raises `Transient`; nothing is half recorded.
Restart   every act may be repeated: a sandbox or container of the same name and attempt that a former life of the
          process made is found, and used when it is whole or removed when it is not. Stopping what is gone is success.
Never     decides whether to start, stop or restart; keeps a status; sleeps to retry.
Bounds    CRI's own deadlines (RunPodSandbox 4 min, StopContainer grace + 2 min, others 2 min, PullImage none).

API for pod_sync's shell::

    from services.pod_sync.runtime.acts import Runtime
    runtime = Runtime(cri, images, ports=Ports(node=..., prepare_container=..., objects=...), host=HostFiles(...))
    # event: EventSink = Callable[[container_name | None, type, reason, message], None]; the object reference of a
    # container is the pod with field_path=environment.metadata.field_path(pod, name)

    sandbox = await runtime.create_sandbox(pod, attempt, event=event)        # -> Sandbox(id, attempt, ips)
        # raises StartError("CreatePodSandboxError" | "ConfigPodSandboxError", message); events are emitted already
    await runtime.stop_sandbox(sandbox_id)               # NotFound is success
    await runtime.remove_sandbox(sandbox_id)             # stops, then removes; NotFound is success

    pod = await runtime.pull_image_volumes(pod, sandbox=sandbox, event=event)    # PodContext with image_volumes set
    attempt = runtime.next_attempt(pod.pod, name, newest)    # newest: ContainerState | None -> restart count
    container_id = await runtime.start_container(pod, name, sandbox=sandbox, attempt=attempt, event=event)
        # kind (init, regular, ephemeral) follows from the name. Raises StartError(reason, message): the waiting reason
        # and message of the container (ErrImagePull, CreateContainerConfigError, CreateContainerError,
        # RunContainerError, PostStartHookError, ...), events emitted already; Transient when container_manager or
        # volume_manager is away (not the pod's fault: try again, show nothing).

    target = KillTarget.of(container_state, pod.pod | None)      # without a pod: rebuilt from labels and annotations
    order = KillOrder(message="", reason=KillReason.LIVENESS, grace_s=None, skip_pre_stop=..., pre_stop_ended=...)
    await runtime.kill_container(target, order, event=event)
    turns = TerminationOrder.of(pod.pod, running_names)          # one per pod kill; only needed with sidecars
    await runtime.kill_containers(targets, order, event=event, turns=turns)      # all at once, sidecars last
        # To shrink the grace meanwhile: cancel that call and make it again; a running preStop goes on, once.
    await runtime.remove_container(container_state, keep_logs=False)             # NotFound is success
    text = await runtime.termination_message(container_state)    # what goes into state.terminated.message
    await runtime.update_container_resources(container_id, environment.resources.container_resources(...))

`PodContext` (`environment.model`) is the pod with what the node made for it: cgroup parent, pod folder, volumes, IPs
(the sandbox's; the node's for a pod in the host's network), ids of its containers. `start_container` asks
`ports.prepare_container` (container_manager) and `ports.objects` (config maps, secrets) itself, only where needed.

Modules: `acts` (the interface), `sandboxes`, `start`, `creation` (create and start again after a crash), `kill`,
`ordering`, `grace` (pure), `hooks` and `http_hook`, `termination` and `log_tail`, `host_files`, `subpaths`.
"""
