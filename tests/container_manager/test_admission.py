"""Does a pod fit: texts as upstream has them, and never too much in total."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.container_manager.admission.core import (
    Insufficient,
    find_shortages,
    host_ports_of,
    is_port_taken,
    requests_of,
)
from tests.container_manager.pods import container, guaranteed, pod

GI, MI = 1 << 30, 1 << 20
NODE = {"cpu": 4000, "memory": 8 * GI, "ephemeral-storage": 10 * GI, "pods": 3, "hugepages-2Mi": 4 * MI}


@pytest.mark.parametrize(
    ("wanted", "others", "reason", "message"),
    [
        (
            {"cpu": 2001},
            [{"cpu": 2000}],
            "OutOfcpu",
            "Node didn't have enough resource: cpu, requested: 2001, used: 2000, capacity: 4000",
        ),
        (
            {"memory": 9 * GI},
            [],
            "OutOfmemory",
            f"Node didn't have enough resource: memory, requested: {9 * GI}, used: 0, capacity: {8 * GI}",
        ),
        (
            {"ephemeral-storage": 11 * GI},
            [],
            "OutOfephemeral-storage",
            f"Node didn't have enough resource: ephemeral-storage, requested: {11 * GI}, used: 0, capacity: {10 * GI}",
        ),
        ({}, [{}, {}, {}], "OutOfpods", "Node didn't have enough resource: pods, requested: 1, used: 3, capacity: 3"),
        (
            {"hugepages-2Mi": 6 * MI},
            [],
            "OutOfhugepages-2Mi",
            f"Node didn't have enough resource: hugepages-2Mi, requested: {6 * MI}, used: 0, capacity: {4 * MI}",
        ),
        (
            {"hugepages-1Gi": GI},
            [],
            "OutOfhugepages-1Gi",
            f"Node didn't have enough resource: hugepages-1Gi, requested: {GI}, used: 0, capacity: 0",
        ),
    ],
)
def test_a_refusal_says_what_is_short_as_upstream_says_it(
    wanted: dict[str, int], others: list[dict[str, int]], reason: str, message: str
) -> None:
    first = find_shortages(wanted, others, NODE)[0]
    assert (first.reason, first.message) == (reason, message)


def test_shortages_come_in_upstreams_order() -> None:
    wanted = {"hugepages-2Mi": GI, "memory": 9 * GI, "ephemeral-storage": 11 * GI, "cpu": 5000}
    shortages = find_shortages(wanted, [{}, {}, {}], NODE)
    assert [s.resource for s in shortages] == ["pods", "cpu", "memory", "ephemeral-storage", "hugepages-2Mi"]


def test_what_fits_exactly_is_admitted() -> None:
    assert find_shortages({"cpu": 4000, "memory": 8 * GI}, [{}, {}], NODE) == []


def test_a_pod_that_asks_for_nothing_fits_on_a_node_that_is_used_up() -> None:
    assert find_shortages({}, [{"cpu": 9000, "memory": 9 * GI}], NODE) == []


def test_extended_resources_that_the_node_does_not_know_are_somebody_elses() -> None:
    assert find_shortages({"vendor.com/gpu": 1}, [], NODE) == []
    assert find_shortages({"vendor.com/gpu": 2}, [], NODE | {"vendor.com/gpu": 1}) == [
        Insufficient("vendor.com/gpu", 2, 0, 1)
    ]


def test_ephemeral_storage_is_not_checked_while_its_size_is_not_known() -> None:
    node = {name: amount for name, amount in NODE.items() if name != "ephemeral-storage"}
    assert find_shortages({"ephemeral-storage": 1}, [], node) == []


def test_requests_count_init_containers_and_overhead() -> None:
    of = pod(
        "a",
        container(requests={"cpu": "250m", "memory": "1Gi"}),
        initContainers=[container("i", requests={"cpu": "2"})],
        overhead={"cpu": "100m"},
    )
    assert requests_of(of) == {"cpu": 2100, "memory": GI}
    assert requests_of(guaranteed("b")) == {"cpu": 500, "memory": 64 * MI}


amounts = st.fixed_dictionaries({}, optional={"cpu": st.integers(0, 3000), "memory": st.integers(0, 6 * GI)})


@given(st.lists(amounts, max_size=8))
def test_pods_admitted_one_after_the_other_never_take_more_than_there_is(pods: list[dict[str, int]]) -> None:
    admitted: list[dict[str, int]] = []
    for wanted in pods:
        shortages = find_shortages(wanted, admitted, NODE)
        if not shortages:
            admitted.append(wanted)
        for shortage in shortages:
            assert shortage.requested > shortage.capacity - shortage.used
    assert len(admitted) <= NODE["pods"]
    for name in ("cpu", "memory"):
        assert sum(p.get(name, 0) for p in admitted) <= NODE[name]


@pytest.mark.parametrize(
    ("wanted", "other", "taken"),
    [
        (("0.0.0.0", "TCP", 80), ("0.0.0.0", "TCP", 80), True),
        (("0.0.0.0", "TCP", 80), ("127.0.0.1", "TCP", 80), True),
        (("127.0.0.1", "TCP", 80), ("0.0.0.0", "TCP", 80), True),
        (("127.0.0.1", "TCP", 80), ("127.0.0.2", "TCP", 80), False),
        (("0.0.0.0", "TCP", 80), ("0.0.0.0", "UDP", 80), False),
        (("0.0.0.0", "TCP", 80), ("0.0.0.0", "TCP", 81), False),
    ],
)
def test_a_port_is_taken_on_its_address_or_on_every_address(
    wanted: tuple[str, str, int], other: tuple[str, str, int], taken: bool
) -> None:
    assert is_port_taken([wanted], [other]) is taken
    assert not is_port_taken([], [other])


def test_ports_on_the_node_are_those_of_containers_that_run_side_by_side() -> None:
    def with_port(name: str, number: int, **more: object) -> dict[str, object]:
        return container(name) | {"ports": [{"containerPort": 1, "hostPort": number, "protocol": "UDP"}]} | more

    made = pod(
        "p",
        with_port("main", 1),
        container("none") | {"ports": [{"containerPort": 9}]},
        initContainers=[with_port("init", 2), with_port("sidecar", 3, restartPolicy="Always")],
    )
    assert host_ports_of(made) == [("0.0.0.0", "UDP", 1), ("0.0.0.0", "UDP", 3)]
