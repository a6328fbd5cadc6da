"""images: makes sure that a container's image is on the node.

Inputs    `ImageRequest` (pod, image as written, pull policy, sandbox configuration, runtime handler); CRI ImageStatus.
Outputs   `EnsuredImage` (the reference for CreateContainer, size, the image's user), Kubernetes Events by callback.
State     back-off per pod UID and image, memory only (`backoff.BackoffTable`, pure); the pull queue.
If down   not a process: part of pod_sync. The runtime away is a pull error of the pod (`ErrImagePull`), retried later.
Restart   a pull that was cut is started anew; a pull that the runtime finished meanwhile is found by ImageStatus.
Never     removes an image (eviction does); retries by itself (the pod's next sync does).
Bounds    one pull at a time (`serialize_pulls`), or `max_parallel_pulls`, or no bound.

API for pod_sync's shell::

    images = ImageManager(cri, PullSettings(serialize_pulls=True, registry_qps=5, registry_burst=10))
    image = await images.ensure(ImageRequest(pod=pod, image="busybox", policy="IfNotPresent", ...), event)
    # -> EnsuredImage(ref, size_bytes, uid, username); raises StartError(reason, message) with reason one of
    #    InvalidImageName, ImageInspectError, ErrImageNeverPull, ErrImagePull, ImagePullBackOff, RegistryUnavailable,
    #    SignatureValidationFailed. `event(container_name | None, type, reason, message)`.
    images.forget_expired()      # housekeeping: drops back-off entries that are past their reset time
    names.default_pull_policy("busybox") -> "Always"   # the API's default for static pods

`Runtime.start_container` (room `runtime`) calls `ensure` itself; the shell only builds the manager and hands it over.
"""
