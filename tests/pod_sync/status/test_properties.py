from itertools import pairwise
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from services.pod_sync.records.progress import WaitingReason
from services.pod_sync.status.core import compute_status
from services.pod_sync.status.finish import finished_status
from services.pod_sync.status.merge import merge_with_api
from services.pod_sync.status.model import TERMINAL, StatusContext
from services.pod_sync.status.patch import status_patch
from services.pod_sync.workers.model import StatusOverride
from shared.kube.types import Pod, PodStatus
from shared.messages.pleg import RuntimePod
from shared.messages.prober import ContainerProbes, ProbeOutcome
from tests.pod_sync.status.build import START, container, instance, listed, pod, sandbox, sidecar

RULE = {
    "restartPolicy": "Never",
    "restartPolicyRules": [{"action": "RestartAllContainers", "exitCodes": {"operator": "In", "values": [9]}}],
}
PROBED = {"startupProbe": {"exec": {"command": ["x"]}}, "readinessProbe": {"exec": {"command": ["x"]}}}
RESOURCES = {"resources": {"requests": {"cpu": "100m"}, "limits": {"memory": "1Gi"}}}

pods = st.builds(
    lambda policy, source, init, own, deadline, gates: pod(
        container("a", **own),
        container("b", **PROBED, **RESOURCES),
        init=init,
        policy=policy,
        source=source,
        generation=2,
        readinessGates=[{"conditionType": "x/gate"}] if gates else [],
        activeDeadlineSeconds=5 if deadline else None,
    ),
    st.sampled_from(["Always", "OnFailure", "Never"]),
    st.sampled_from(["api", "file"]),
    st.sampled_from([[], [container("i")], [container("i"), sidecar("s", **PROBED)], [sidecar("s")]]),
    st.sampled_from([{}, RULE, {"restartPolicy": "OnFailure"}]),
    st.booleans(),
    st.booleans(),
)
names = ["a", "b", "i", "s"]
instances = st.lists(
    st.builds(
        lambda name, state, code, number: instance(name, state, code if state == "exited" else 0, number=number),
        st.sampled_from(names),
        st.sampled_from(["running", "created", "exited", "unknown"]),
        st.sampled_from([0, 1, 9]),
        st.integers(0, 3),
    ),
    max_size=7,
    unique_by=lambda i: i.id,
).map(lambda found: sorted(found, key=lambda i: -i.created_at_ns))
sandboxes = st.sampled_from(
    [
        [],
        [sandbox()],
        [sandbox(ready=False)],
        [sandbox(1), sandbox(0, ready=False)],
        [sandbox(ips=[])],
        [sandbox(ips=["fd00::1", "10.0.0.9"])],
    ]
)
listings = st.none() | st.builds(lambda found, boxes: listed(*found, sandboxes=boxes), instances, sandboxes)
outcomes = st.sampled_from([None, ProbeOutcome.SUCCESS, ProbeOutcome.FAILURE, ProbeOutcome.UNKNOWN])
probes = st.dictionaries(
    st.builds(lambda n, i: f"{n}-{i}", st.sampled_from(names), st.integers(0, 3)),
    st.builds(lambda s, r: ContainerProbes(pod_uid="u1", container="c", startup=s, readiness=r), outcomes, outcomes),
    max_size=4,
)
reasons = st.dictionaries(
    st.sampled_from(names),
    st.sampled_from([WaitingReason("CrashLoopBackOff", "m"), WaitingReason("ErrImagePull")]),
    max_size=3,
)
overrides = st.none() | st.just(StatusOverride("Failed", "Evicted", "low", "disrupted"))


@st.composite
def moments(draw: Any) -> dict[str, Any]:
    """Everything about one moment but the pod, the time and what was before."""
    return {
        "seen": draw(listings),
        "probes": draw(probes),
        "reasons": draw(reasons),
        "stopped": draw(st.booleans()),
        "override": draw(overrides),
        "node_ips": draw(st.sampled_from([(), ("10.0.0.1",), ("fd00::9", "10.0.0.1")])),
    }


histories = st.lists(moments(), min_size=1, max_size=4)
relaxed = settings(max_examples=25, suppress_health_check=[HealthCheck.too_slow])


def walk(subject: Pod, history: list[dict[str, Any]]) -> list[PodStatus]:
    """The statuses of one pod through its life, a second apart."""
    told: list[PodStatus] = []
    for second, moment in enumerate(history):
        old = told[-1] if told else None
        told.append(compute_status(StatusContext(pod=subject, old=old, now=START + second, **moment)).status)
    return told


@relaxed
@given(pods, histories)
def test_computing_again_from_the_result_changes_nothing(subject: Pod, history: list[dict[str, Any]]) -> None:
    last = walk(subject, history)[-1]
    final = START + len(history) - 1
    again = compute_status(StatusContext(pod=subject, old=last, now=final, **history[-1]))
    assert msgspec.to_builtins(again.status) == msgspec.to_builtins(last)
    later = compute_status(
        StatusContext(
            pod=msgspec.structs.replace(subject, spec=_no_deadline(subject)), old=last, now=final + 99, **history[-1]
        )
    )
    assert msgspec.to_builtins(later.status) == msgspec.to_builtins(last)


def _no_deadline(subject: Pod) -> Any:
    return msgspec.structs.replace(subject.spec, active_deadline_seconds=None)


@relaxed
@given(pods, histories)
def test_ends_are_final_counts_never_fall_and_times_move_only_with_what_they_time(
    subject: Pod, history: list[dict[str, Any]]
) -> None:
    told = walk(subject, history)
    for before, after in pairwise(told):
        if before.phase in TERMINAL:
            assert after.phase in TERMINAL
        assert after.start_time == before.start_time
        counts = {s.name: s.restart_count for s in [*before.init_container_statuses, *before.container_statuses]}
        for status in [*after.init_container_statuses, *after.container_statuses]:
            assert status.restart_count >= counts[status.name]
        old = {c.type: c for c in before.conditions}
        for condition in after.conditions:
            known = old.get(condition.type)
            if known is not None and known.status == condition.status:
                assert known.last_transition_time == condition.last_transition_time


@relaxed
@given(pods, histories)
def test_a_status_is_whole_and_consistent(subject: Pod, history: list[dict[str, Any]]) -> None:
    for status in walk(subject, history):
        assert [s.name for s in status.container_statuses] == ["a", "b"]
        assert [s.name for s in status.init_container_statuses] == [c.name for c in subject.spec.init_containers]
        kinds = [c.type for c in status.conditions]
        assert len(kinds) == len(set(kinds))
        conditions = {c.type: c for c in status.conditions}
        ready, containers = conditions["Ready"], conditions["ContainersReady"]
        assert ready.status == "False" or containers.status == "True"
        if status.phase in TERMINAL:
            assert (ready.status, containers.status) == ("False", "False")
        for one in [*status.init_container_statuses, *status.container_statuses]:
            states = [one.state.running, one.state.waiting, one.state.terminated]
            assert sum(state is not None for state in states) == 1
            assert not one.started or one.state.running is not None
        assert msgspec.json.decode(msgspec.json.encode(status), type=PodStatus) == status


@relaxed
@given(pods, histories)
def test_a_finished_pod_stays_as_it_was_told(subject: Pod, history: list[dict[str, Any]]) -> None:
    final = finished_status(subject, walk(subject, history)[-1], now=START)
    assert finished_status(subject, final, now=START + 9) == final
    if subject.metadata.annotations["kubernetes.io/config.source"] == "api":
        assert final.phase in TERMINAL


@relaxed
@given(pods, histories, st.booleans())
def test_a_patch_applied_to_the_apis_status_gives_the_merged_one(
    subject: Pod, history: list[dict[str, Any]], may_run: bool
) -> None:
    told = walk(subject, history)
    api = PodStatus(phase="Pending")
    for status in told:
        merged = merge_with_api(msgspec.structs.replace(subject, status=api), status, may_run=may_run, now=START)
        body = status_patch(api, merged, uid="u1")
        assert (body is None) == (api == merged)
        if body is not None:
            api = apply(api, msgspec.json.decode(body)["status"])
        assert msgspec.to_builtins(api) == msgspec.to_builtins(merged)


KEYS = {"conditions": "type", "podIPs": "ip", "hostIPs": "ip", "resourceClaimStatuses": "name"}


def apply(status: PodStatus, changes: dict[str, Any]) -> PodStatus:
    """A strategic merge as the API server does it, written anew for this test."""
    merged = merge_map(msgspec.to_builtins(status), changes, top=True)
    return msgspec.convert(merged, PodStatus)


def merge_map(old: dict[str, Any], changes: dict[str, Any], *, top: bool = False) -> dict[str, Any]:
    merged = dict(old)
    for name, value in changes.items():
        if name.startswith("$setElementOrder/"):
            continue
        if value is None:
            merged.pop(name, None)
        elif top and name in KEYS:
            merged[name] = merge_list(old.get(name, []), value, KEYS[name])
        elif isinstance(value, dict) and isinstance(old.get(name), dict):
            merged[name] = merge_map(old[name], value)
        else:
            merged[name] = value
    for name, order in changes.items():
        if name.startswith("$setElementOrder/"):
            target = name.removeprefix("$setElementOrder/")
            ranks = {item[KEYS[target]]: rank for rank, item in enumerate(order)}
            merged[target] = sorted(merged.get(target, []), key=lambda item, t=target, r=ranks: r[item[KEYS[t]]])  # type: ignore[misc]
    return merged


def merge_list(old: list[Any], changes: list[Any], key: str) -> list[Any]:
    items = {item[key]: item for item in old}
    for change in changes:
        if change.get("$patch") == "delete":
            items.pop(change[key], None)
        else:
            items[change[key]] = merge_map(items.get(change[key], {}), change)
    return list(items.values())


@pytest.mark.parametrize("count", [20])
def test_a_pod_of_twenty_containers_takes_little_time(count: int) -> None:
    subject = pod(*(container(f"c{i}") for i in range(count)))
    seen: RuntimePod = listed(*(instance(f"c{i}") for i in range(count)))
    status = compute_status(StatusContext(pod=subject, seen=seen, now=START)).status
    assert (status.phase, len(status.container_statuses)) == ("Running", count)
