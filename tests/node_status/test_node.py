"""The Node object: conditions, texts and when their times move."""

import dataclasses

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.node_status.node.core import compute_node, node_images, not_ready_reasons
from services.node_status.node.model import Clock, Identity, Image, Observed
from shared.kube.types import Node
from shared.messages.container_manager import NodeResources
from shared.messages.eviction import NodePressure
from shared.messages.pleg import RuntimeCondition, RuntimeHandler, RuntimeHealth

IDENTITY = Identity(
    name="node1",
    port=10250,
    kernel_version="6.1.0",
    os_image="Debian",
    operating_system="linux",
    architecture="amd64",
    labels={"team": "blue"},
)
CAPACITY = {"cpu": "2", "memory": "8Gi", "pods": "110", "ephemeral-storage": "10Gi"}
RESOURCES = NodeResources(
    capacity=CAPACITY, allocatable=CAPACITY, cpus=2, memory_bytes=8 << 30, machine_id="m", boot_id="b"
)
RUNTIME = RuntimeHealth(
    name="containerd",
    version="v1.6.20",
    conditions=[RuntimeCondition(type="RuntimeReady", status=True), RuntimeCondition(type="NetworkReady", status=True)],
    handlers=[RuntimeHandler(name="runc"), RuntimeHandler(name="", user_namespaces=True)],
    last_ok_mono=100.0,
    last_relist_mono=100.0,
)
HEALTHY = Observed(
    addresses=(("InternalIP", "10.0.0.1"), ("Hostname", "node1")),
    resources=RESOURCES,
    pressure=NodePressure(),
    runtime=RUNTIME,
)
GRACE = 30.0


def compute(
    observed: Observed, previous: Node | None = None, *, mono: float = 101.0, wall: str = "T1"
) -> tuple[Node, list[str]]:
    node, events = compute_node(IDENTITY, observed, previous, Clock(wall=wall, mono=mono), daemon_grace_s=GRACE)
    return node, [e.reason for e in events]


def observe(observed: Observed, **changes: object) -> Observed:
    return dataclasses.replace(observed, **changes)  # type: ignore[arg-type]


def conditions(node: Node) -> dict[str, tuple[str, str | None, str | None]]:
    return {c.type: (c.status, c.reason, c.message) for c in node.status.conditions}


def test_a_healthy_node_is_ready_in_upstreams_words_and_order() -> None:
    node, events = compute(HEALTHY)
    assert [c.type for c in node.status.conditions] == ["MemoryPressure", "DiskPressure", "PIDPressure", "Ready"]
    assert conditions(node) == {
        "MemoryPressure": ("False", "KubeletHasSufficientMemory", "kubelet has sufficient memory available"),
        "DiskPressure": ("False", "KubeletHasNoDiskPressure", "kubelet has no disk pressure"),
        "PIDPressure": ("False", "KubeletHasSufficientPID", "kubelet has sufficient PID available"),
        "Ready": ("True", "KubeletReady", "kubelet is posting ready status"),
    }
    assert events == ["NodeHasSufficientMemory", "NodeHasNoDiskPressure", "NodeHasSufficientPID"]
    assert node.status.node_info.container_runtime_version == "containerd://1.6.20"
    assert node.metadata.labels["kubernetes.io/hostname"] == "node1"
    assert node.metadata.labels["team"] == "blue"
    assert [h.name for h in node.status.runtime_handlers] == ["", "runc"]
    assert node.status.daemon_endpoints.kubelet_endpoint.port == 10250


def test_pressure_is_told_once_and_its_time_moves_only_with_it() -> None:
    calm, _ = compute(HEALTHY, wall="T1")
    pressed = observe(HEALTHY, pressure=NodePressure(conditions=["DiskPressure"]))
    first, events = compute(pressed, calm, wall="T2")
    assert conditions(first)["DiskPressure"] == ("True", "KubeletHasDiskPressure", "kubelet has disk pressure")
    assert events == ["NodeHasDiskPressure"]
    again, events = compute(pressed, first, wall="T3")
    disk = next(c for c in again.status.conditions if c.type == "DiskPressure")
    assert (disk.last_transition_time, disk.last_heartbeat_time, events) == ("T2", "T3", [])
    memory = next(c for c in again.status.conditions if c.type == "MemoryPressure")
    assert memory.last_transition_time == "T1"


def test_nothing_heard_of_pressure_leaves_its_conditions_as_they_were() -> None:
    before, _ = compute(observe(HEALTHY, pressure=NodePressure(conditions=["MemoryPressure"])))
    after, events = compute(observe(HEALTHY, pressure=None), before, wall="T2")
    assert after.status.conditions[:3] == before.status.conditions[:3]
    assert events == []


def runtime(**changes: object) -> RuntimeHealth:
    return msgspec.structs.replace(RUNTIME, **changes)


NOT_READY = RuntimeCondition(type="RuntimeReady", status=False, reason="r", message="m")
NO_NETWORK = RuntimeCondition(type="NetworkReady", status=False, reason="NetworkPluginNotReady", message="no cni")


@pytest.mark.parametrize(
    ("observed", "mono", "expected"),
    [
        (HEALTHY, 129.0, []),
        (HEALTHY, 131.0, ["container runtime is down"]),
        (
            HEALTHY,
            301.0,
            [
                "container runtime is down",
                "PLEG is not healthy: pleg was last seen active 3m21s ago; threshold is 3m0s",
            ],
        ),
        (
            observe(HEALTHY, runtime=None),
            101.0,
            [
                "container runtime status check may not have completed yet",
                "PLEG is not healthy: pleg has yet to be successful",
                "network state unknown",
            ],
        ),
        (
            observe(HEALTHY, runtime=runtime(conditions=[NOT_READY, NO_NETWORK])),
            101.0,
            [
                "container runtime not ready: RuntimeReady=false reason:r message:m",
                "container runtime network not ready: NetworkReady=false reason:NetworkPluginNotReady message:no cni",
            ],
        ),
        (
            observe(HEALTHY, resources=None),
            101.0,
            ["missing node capacity for resources: cpu, memory, pods, ephemeral-storage"],
        ),
        (observe(HEALTHY, shutting_down=True), 101.0, ["node is shutting down"]),
        (observe(HEALTHY, silent={"pleg": 29.0}), 101.0, []),
        (observe(HEALTHY, silent={"pleg": 31.4}), 101.0, ["daemon pleg is down: last heard 31s ago"]),
    ],
)
def test_every_reason_for_not_ready_has_upstreams_text(observed: Observed, mono: float, expected: list[str]) -> None:
    assert not_ready_reasons(IDENTITY, observed, mono, daemon_grace_s=GRACE) == expected


def test_several_reasons_are_joined_and_the_flip_is_an_event() -> None:
    ready, _ = compute(HEALTHY)
    node, events = compute(observe(HEALTHY, shutting_down=True, resources=None), ready, wall="T2")
    assert events == ["NodeNotReady"]
    status, reason, message = conditions(node)["Ready"]
    assert (status, reason) == ("False", "KubeletNotReady")
    assert (
        message == "[node is shutting down, missing node capacity for resources: cpu, memory, pods, ephemeral-storage]"
    )


def test_addresses_that_cannot_be_found_stay_as_they_were() -> None:
    before, _ = compute(HEALTHY)
    after, _ = compute(observe(HEALTHY, addresses=None), before)
    assert after.status.addresses == before.status.addresses


images = st.lists(
    st.builds(
        Image,
        id=st.text("abc", min_size=1, max_size=3),
        names=st.lists(st.text("xy", min_size=1, max_size=3), max_size=7).map(tuple),
        size_bytes=st.integers(0, 5),
    ),
    max_size=8,
)


@given(images, st.integers(-1, 6))
def test_images_are_the_biggest_with_at_most_five_names(found: list[Image], limit: int) -> None:
    listed = node_images(found, limit)
    assert len(listed) == (len(found) if limit < 0 else min(limit, len(found)))
    sizes = [i.size_bytes or 0 for i in listed]
    assert sizes == sorted(sizes, reverse=True)
    assert sizes == sorted((i.size_bytes for i in found), reverse=True)[: len(listed)]
    assert all(len(i.names) <= 5 for i in listed)


@given(
    st.lists(
        st.tuples(st.sets(st.sampled_from(["MemoryPressure", "DiskPressure", "PIDPressure"])), st.booleans()),
        min_size=1,
        max_size=8,
    )
)
def test_transition_times_move_exactly_when_a_status_does(history: list[tuple[set[str], bool]]) -> None:
    previous: Node | None = None
    for moment, (pressure, down) in enumerate(history):
        observed = observe(HEALTHY, pressure=NodePressure(conditions=sorted(pressure)), shutting_down=down)
        node, _ = compute(observed, previous, wall=f"T{moment}")
        for condition in node.status.conditions:
            old = next((c for c in previous.status.conditions if c.type == condition.type), None) if previous else None
            moved = old is None or old.status != condition.status
            assert condition.last_transition_time == (
                f"T{moment}" if moved or old is None else old.last_transition_time
            )
        previous = node
