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

    runtime = Runtime(cri, images, ports, host)          # ports: Ports(node, prepare_container, objects); host: HostFiles(...)
    # event: EventSink = Callable[[container_name | None, type, reason, message], None]

    sandbox = await runtime.create_sandbox(pod, attempt, event=event)        # -> Sandbox(id, attempt, ips)
        # raises StartError("CreatePodSandboxError" | "ConfigPodSandboxError", message); events are emitted already
    await runtime.stop_sandbox(sandbox_id)               # NotFound is success
    await runtime.remove_sandbox(sandbox_id)             # stops, then removes; NotFound is success

    attempt = runtime.next_attempt(pod, name, newest)    # newest: ContainerState | None -> restart count = CRI attempt
    container_id = await runtime.start_container(pod, name, sandbox=sandbox, attempt=attempt, event=event)
        # kind (init, regular, ephemeral) follows from the name. Raises StartError(reason, message): the waiting reason
        # and message of the container (ErrImagePull, CreateContainerConfigError, CreateContainerError,
        # RunContainerError, PostStartHookError, ...). Events are emitted already.
    await runtime.pull_image_volumes(pod, sandbox=sandbox, event=event)      # -> {volume: ImageVolume}; put it in PodContext

    target = KillTarget.of(container_state, pod.pod | None)      # without a pod: rebuilt from labels and annotations
    await runtime.kill_container(target, KillOrder(message=..., reason=KillReason.LIVENESS, grace_s=None, ...), event=event)
        # KillOrder.ordering: `TerminationOrder` shared by one pod kill; made by `TerminationOrder.of(pod, running_names)`
    await runtime.kill_containers(targets, order, event=event)   # all at once, sidecars last; the errors joined
    await runtime.remove_container(container_state, keep_logs=False)         # NotFound is success
    text = await runtime.termination_message(container_state)    # what goes into state.terminated.message
    await runtime.update_container_resources(container_id, resources)        # in-place resize

`PodContext` is `environment.model.PodContext`; `start_container` asks `ports.prepare_container` (container_manager) and
`ports.objects` (config maps, secrets) itself, only for containers that need them.
"""
