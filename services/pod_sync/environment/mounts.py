"""A container's mounts and devices. Pure (upstream `pkg/kubelet`, kubelet_pods: makeMounts, makeBlockVolumes).

Order: volume mounts as in the spec, `/etc/hosts`, the termination log. Paths below volumes (`subPath`) were prepared
before and are given by the index of their volume mount.
"""

from collections.abc import Mapping
from typing import Final

from services.pod_sync.environment.model import AnyContainer, ConfigError, ContainerInputs, NodeFacts, PodContext
from services.pod_sync.environment.namespaces import id_mappings
from shared.cri import api
from shared.kube.expansion import expand_all
from shared.kube.types import VolumeMount
from shared.messages.volume_manager import MountedVolume

HOSTS_PATH: Final = "/etc/hosts"
_PRIVATE: Final = api.MountPropagation.PROPAGATION_PRIVATE


def container_mounts(
    pod: PodContext, container: AnyContainer, inputs: ContainerInputs, *, node: NodeFacts
) -> list[api.Mount]:
    """All mounts of one container instance. Raises ConfigError for a volume that is not there or a wrong mount."""
    mounts = [
        _volume_mount(pod, container, index, inputs=inputs, node=node) for index in range(len(container.volume_mounts))
    ]
    if inputs.hosts_path and wants_hosts_file(pod, container):
        mounts.append(_file_mount(HOSTS_PATH, inputs.hosts_path, node))
    if inputs.termination_log_path and container.termination_message_path:
        mounts.append(_file_mount(container.termination_message_path, inputs.termination_log_path, node))
    mappings = id_mappings(pod)
    for mount in mounts:
        mount.uidMappings.extend(mappings)
        mount.gidMappings.extend(mappings)
    return mounts


def wants_hosts_file(pod: PodContext, container: AnyContainer) -> bool:
    """Whether `/etc/hosts` is managed here: not when the container mounts that path itself, nor without a network."""
    if any(mount.mount_path == HOSTS_PATH for mount in container.volume_mounts):
        return False
    return bool(pod.ips) or bool(pod.pod.spec.host_network)


def subpath_of(mount: VolumeMount, variables: Mapping[str, str]) -> str:
    """The path below the volume that a mount names, expanded; empty for the volume itself. Raises ConfigError."""
    path = mount.sub_path or ""
    if mount.sub_path_expr:
        path, missing = expand_all(mount.sub_path_expr, variables)
        if missing:
            raise ConfigError(f"missing value for {', '.join(missing)}")
    if path.startswith("/"):
        raise ConfigError(f"error SubPath `{path}` must not be an absolute path")
    if ".." in path.split("/"):
        raise ConfigError(f"unable to provision SubPath `{path}`: must not contain '..'")
    return path


def container_devices(pod: PodContext, container: AnyContainer, inputs: ContainerInputs) -> list[api.Device]:
    """Devices from managers, and raw block volumes. Raises ConfigError for a volume that is not there."""
    devices = [
        api.Device(host_path=d.host_path, container_path=d.container_path, permissions=d.permissions)
        for d in inputs.extras.devices
    ]
    for device in container.volume_devices:
        if not device.device_path.startswith("/"):
            raise ConfigError(f"error DevicePath `{device.device_path}` must be an absolute path")
        source = pod.block_devices.get(device.name)
        if source is None:
            raise ConfigError(f'cannot find volume "{device.name}" to pass into container "{container.name}"')
        devices.append(
            api.Device(host_path=source.host_path, container_path=device.device_path, permissions=source.permissions)
        )
    return devices


def _volume_mount(
    pod: PodContext, container: AnyContainer, index: int, *, inputs: ContainerInputs, node: NodeFacts
) -> api.Mount:
    mount = container.volume_mounts[index]
    volume = pod.volumes.get(mount.name)
    if volume is None:
        raise ConfigError(f'cannot find volume "{mount.name}" to mount into container "{container.name}"')
    below = subpath_of(mount, inputs.environment)
    propagation = _propagation(mount)
    result = api.Mount(
        container_path=mount.mount_path if mount.mount_path.startswith("/") else f"/{mount.mount_path}",
        readonly=bool(mount.read_only) or volume.read_only or bool(volume.image),
        propagation=propagation,
        recursive_read_only=_recursive_read_only(pod, mount, node),
        selinux_relabel=volume.selinux_relabel and node.selinux,
        image_sub_path=below,  # of every volume, as upstream: runtimes read it only for images
    )
    if volume.image:
        result.image.CopyFrom(_image_spec(pod, mount.name, volume))
    else:
        result.host_path = inputs.subpaths.get(index) or volume.host_path
    return result


def _image_spec(pod: PodContext, name: str, volume: MountedVolume) -> api.ImageSpec:
    reference = pod.image_volumes.get(name)
    if reference is None:
        raise ConfigError(f'image of volume "{name}" is not on the node')
    return api.ImageSpec(image=reference, user_specified_image=volume.image, annotations=pod.pod.metadata.annotations)


def _propagation(mount: VolumeMount) -> api.MountPropagation:
    match mount.mount_propagation:
        case None | "" | "None":
            return _PRIVATE
        case "HostToContainer":
            return api.MountPropagation.PROPAGATION_HOST_TO_CONTAINER
        case "Bidirectional":
            return api.MountPropagation.PROPAGATION_BIDIRECTIONAL
        case other:
            raise ConfigError(f'invalid MountPropagation mode: "{other}"')


def _recursive_read_only(pod: PodContext, mount: VolumeMount, node: NodeFacts) -> bool:
    mode = mount.recursive_read_only
    if mode in (None, "", "Disabled"):
        return False
    trouble = f'failed to resolve recursive read-only mode: volume "{mount.name}" requested recursive read-only mode'
    if not mount.read_only:
        raise ConfigError(f"{trouble}, but it is not read-only")
    if mount.mount_propagation not in (None, "", "None"):
        raise ConfigError(f'{trouble}, but it is not compatible with propagation "{mount.mount_propagation}"')
    handler = node.handlers.get(pod.runtime_handler)
    supported = handler is not None and handler.recursive_read_only_mounts
    if mode == "IfPossible":
        return supported
    if mode != "Enabled":
        raise ConfigError(f'failed to resolve recursive read-only mode: unknown recursive read-only mode "{mode}"')
    if not supported:
        raise ConfigError(f"{trouble}, but it is not supported by the runtime")
    return True


def _file_mount(container_path: str, host_path: str, node: NodeFacts) -> api.Mount:
    return api.Mount(
        container_path=container_path, host_path=host_path, propagation=_PRIVATE, selinux_relabel=node.selinux
    )
