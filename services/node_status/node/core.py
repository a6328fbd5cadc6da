"""Computes the Node object from what was heard. Pure.

The order of the parts, the texts and the rules when a transition time moves are upstream's `nodestatus` setters
(v1.37). Two things are ours: a daemon that stays silent longer than its grace makes the node not Ready, and the
declared features leave out `ExtendWebSocketsToKubelet`, so that API servers speak SPDY to this node.
"""

from collections.abc import Iterable

import msgspec

from services.node_status.node.model import KUBELET_VERSION, Clock, Identity, Image, NodeEvent, Observed
from shared.kube.duration import format_go_duration
from shared.kube.types import (
    ContainerImage,
    DaemonEndpoint,
    Node,
    NodeAddress,
    NodeCondition,
    NodeDaemonEndpoints,
    NodeFeatures,
    NodeRuntimeHandler,
    NodeRuntimeHandlerFeatures,
    NodeSpec,
    NodeStatus,
    NodeSystemInfo,
    ObjectMeta,
    Taint,
)
from shared.messages.pleg import RuntimeHealth

RUNTIME_DOWN_AFTER_S = 30.0
"""upstream `runtimeState`: a runtime without a good Status for this long is down"""
PLEG_THRESHOLD_S = 180.0
"""upstream `pleg`: a last good relist older than this makes the node not Ready"""
MAX_IMAGE_NAMES = 5
"""upstream `nodestatus`: at most this many names per image"""
DECLARED_FEATURES = (
    "InPlacePodLevelResourcesVerticalScaling",
    "InPlacePodVerticalScalingInitContainers",
    "RestartAllContainersOnContainerExits",
)
_PRESSURES = (
    ("MemoryPressure", "HasSufficientMemory", "HasInsufficientMemory", "sufficient memory", "insufficient memory"),
    ("DiskPressure", "HasNoDiskPressure", "HasDiskPressure", "no disk pressure", "disk pressure"),
    ("PIDPressure", "HasSufficientPID", "HasInsufficientPID", "sufficient PID", "insufficient PID"),
)


def compute_node(
    identity: Identity, observed: Observed, previous: Node | None, clock: Clock, *, daemon_grace_s: float
) -> tuple[Node, list[NodeEvent]]:
    """The Node as of now, and the Events its changed conditions call for. `previous` is the last Node computed."""
    old_conditions = {c.type: c for c in previous.status.conditions} if previous else {}
    events: list[NodeEvent] = []
    conditions = [
        _pressure_condition(old_conditions.get(row[0]), row, observed, clock, events, identity.name)
        for row in _PRESSURES
    ]
    errors = not_ready_reasons(identity, observed, clock.mono, daemon_grace_s=daemon_grace_s)
    conditions.append(_ready_condition(old_conditions.get("Ready"), errors, clock, events, identity.name))
    resources = observed.resources
    status = NodeStatus(
        capacity=dict(resources.capacity) if resources else {},
        allocatable=dict(resources.allocatable) if resources else {},
        conditions=conditions,
        addresses=_addresses(observed, previous),
        daemon_endpoints=NodeDaemonEndpoints(kubelet_endpoint=DaemonEndpoint(port=identity.port)),
        node_info=_node_info(identity, observed),
        images=node_images(observed.images, identity.max_images),
        volumes_in_use=sorted(set(observed.volumes_in_use or ())),
        runtime_handlers=_handlers(observed.runtime),
        features=NodeFeatures(
            supplemental_groups_policy=bool(observed.runtime and observed.runtime.supplemental_groups_policy)
        ),
        declared_features=list(DECLARED_FEATURES),
    )
    return Node(metadata=_metadata(identity, previous), spec=_spec(identity), status=status), events


def not_ready_reasons(identity: Identity, observed: Observed, mono: float, *, daemon_grace_s: float) -> list[str]:
    """Why the node is not Ready, in upstream's order and words; empty when it is."""
    errors = _runtime_errors(observed.runtime, mono)
    if observed.shutting_down:
        errors.append("node is shutting down")
    capacity = observed.resources.capacity if observed.resources else {}
    required = ["cpu", "memory", "pods"] + (["ephemeral-storage"] if identity.local_storage else [])
    missing = [name for name in required if name not in capacity]
    if missing:
        errors.append(f"missing node capacity for resources: {', '.join(missing)}")
    errors += [
        f"daemon {name} is down: last heard {format_go_duration(int(silence))} ago"
        for name, silence in sorted(observed.silent.items())
        if silence > daemon_grace_s
    ]
    return list(dict.fromkeys(errors))


def _runtime_errors(runtime: RuntimeHealth | None, mono: float) -> list[str]:
    if runtime is None or not runtime.last_ok_mono:
        errors = ["container runtime status check may not have completed yet"]
    elif mono - runtime.last_ok_mono > RUNTIME_DOWN_AFTER_S:
        errors = ["container runtime is down"]
    else:
        errors = []
    if runtime is None or not runtime.last_relist_mono:
        errors.append("PLEG is not healthy: pleg has yet to be successful")
    elif (age := mono - runtime.last_relist_mono) > PLEG_THRESHOLD_S:
        text = format_go_duration(age)
        errors.append(f"PLEG is not healthy: pleg was last seen active {text} ago; threshold is 3m0s")
    known = {c.type: c for c in runtime.conditions} if runtime else {}
    ready, network = known.get("RuntimeReady"), known.get("NetworkReady")
    if ready is not None and not ready.status:
        errors.append(f"container runtime not ready: RuntimeReady=false reason:{ready.reason} message:{ready.message}")
    if runtime is None or not runtime.last_ok_mono:
        errors.append("network state unknown")
    elif network is None:
        errors.append("container runtime network not ready: <nil>")
    elif not network.status:
        errors.append(
            f"container runtime network not ready: NetworkReady=false reason:{network.reason} message:{network.message}"
        )
    return errors


def _pressure_condition(
    old: NodeCondition | None,
    row: tuple[str, str, str, str, str],
    observed: Observed,
    clock: Clock,
    events: list[NodeEvent],
    node_name: str,
) -> NodeCondition:
    kind, good, bad, good_text, bad_text = row
    if observed.pressure is None:
        # Nothing heard: what was last said stays true, as for a kubelet that is being restarted.
        return old or NodeCondition(type=kind, status="Unknown", last_transition_time=clock.wall)
    pressed = kind in observed.pressure.conditions
    status = "True" if pressed else "False"
    if old is not None and old.status == status:
        return msgspec.structs.replace(old, last_heartbeat_time=clock.wall)
    suffix = bad if pressed else good
    events.append(_status_event(node_name, f"Node{suffix}"))
    return NodeCondition(
        type=kind,
        status=status,
        reason=f"Kubelet{suffix}",
        message=f"kubelet has {bad_text if pressed else good_text}" + ("" if kind == "DiskPressure" else " available"),
        last_heartbeat_time=clock.wall,
        last_transition_time=clock.wall,
    )


def _ready_condition(
    old: NodeCondition | None, errors: list[str], clock: Clock, events: list[NodeEvent], node_name: str
) -> NodeCondition:
    status = "False" if errors else "True"
    same = old is not None and old.status == status
    if old is not None and not same:
        events.append(_status_event(node_name, "NodeNotReady" if errors else "NodeReady"))
    return NodeCondition(
        type="Ready",
        status=status,
        reason="KubeletNotReady" if errors else "KubeletReady",
        message=_aggregate(errors) if errors else "kubelet is posting ready status",
        last_heartbeat_time=clock.wall,
        last_transition_time=old.last_transition_time if old is not None and same else clock.wall,
    )


def _aggregate(errors: list[str]) -> str:
    return errors[0] if len(errors) == 1 else f"[{', '.join(errors)}]"


def _status_event(node_name: str, reason: str) -> NodeEvent:
    return NodeEvent(reason=reason, message=f"Node {node_name} status is now: {reason}")


def node_images(images: Iterable[Image], limit: int) -> list[ContainerImage]:
    """The biggest `limit` images (all when negative), ties by descending id, at most five names each."""
    ordered = sorted(images, key=lambda i: (i.size_bytes, i.id), reverse=True)
    chosen = ordered if limit < 0 else ordered[:limit]
    return [ContainerImage(names=list(i.names[:MAX_IMAGE_NAMES]), size_bytes=i.size_bytes) for i in chosen]


def _addresses(observed: Observed, previous: Node | None) -> list[NodeAddress]:
    if observed.addresses is None:
        return list(previous.status.addresses) if previous else []
    return [NodeAddress(type=kind, address=address) for kind, address in observed.addresses]


def _node_info(identity: Identity, observed: Observed) -> NodeSystemInfo:
    resources, runtime = observed.resources, observed.runtime
    version = f"{runtime.name}://{runtime.version.removeprefix('v')}" if runtime and runtime.name else "Unknown"
    return NodeSystemInfo(
        machine_id=resources.machine_id if resources else "",
        system_uuid=resources.system_uuid if resources else "",
        boot_id=resources.boot_id if resources else "",
        kernel_version=identity.kernel_version,
        os_image=identity.os_image,
        container_runtime_version=version,
        kubelet_version=KUBELET_VERSION,
        kube_proxy_version="",
        operating_system=identity.operating_system,
        architecture=identity.architecture,
    )


def _handlers(runtime: RuntimeHealth | None) -> list[NodeRuntimeHandler]:
    return [
        NodeRuntimeHandler(
            name=h.name,
            features=NodeRuntimeHandlerFeatures(
                recursive_read_only_mounts=h.recursive_read_only_mounts, user_namespaces=h.user_namespaces
            ),
        )
        for h in sorted(runtime.handlers if runtime else [], key=lambda h: h.name)
    ]


def _metadata(identity: Identity, previous: Node | None) -> ObjectMeta:
    standard = {
        "kubernetes.io/hostname": identity.name,
        "kubernetes.io/os": identity.operating_system,
        "kubernetes.io/arch": identity.architecture,
        "beta.kubernetes.io/os": identity.operating_system,
        "beta.kubernetes.io/arch": identity.architecture,
    }
    base = previous.metadata if previous else ObjectMeta(name=identity.name)
    annotations = dict(base.annotations)
    annotations.pop("volumes.kubernetes.io/controller-managed-attach-detach", None)
    if identity.controller_attach_detach:
        annotations["volumes.kubernetes.io/controller-managed-attach-detach"] = "true"
    labels = {**standard, **identity.labels}
    return msgspec.structs.replace(base, labels=labels, annotations=annotations)


def _spec(identity: Identity) -> NodeSpec:
    taints = [msgspec.convert(dict(t), Taint) for t in identity.taints]
    return NodeSpec(provider_id=identity.provider_id or None, taints=taints)
