"""How long a container may take to end."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.pod_sync.runtime.grace import grace_of, remaining, stop_timeout
from services.pod_sync.runtime.model import KillReason, KillTarget
from shared.kube.types import LifecycleHandler, SleepAction
from shared.messages.pleg import ContainerState
from tests.pod_sync.environment.manifests import UID, make_container, make_pod


def target(deletion: int | None, own: int | None, probe: dict[KillReason, int] | None = None) -> KillTarget:
    return KillTarget(
        container_id="c1",
        name="app",
        pod="web_shop(u1)",
        deletion_grace_s=deletion,
        termination_grace_s=own,
        probe_grace_s=probe or {},
    )


PROBES = {KillReason.LIVENESS: 7, KillReason.STARTUP: 8}


@pytest.mark.parametrize(
    ("given_", "reason", "override", "grace"),
    [
        (target(None, 30), KillReason.OTHER, None, 30),
        (target(None, None), KillReason.OTHER, None, 2),
        (target(None, 0), KillReason.OTHER, None, 0),
        (target(5, 30), KillReason.OTHER, None, 5),
        (target(0, 30), KillReason.OTHER, None, 0),
        (target(None, 30, PROBES), KillReason.LIVENESS, None, 7),
        (target(None, 30, PROBES), KillReason.STARTUP, None, 8),
        (target(None, 30, PROBES), KillReason.OTHER, None, 30),
        (target(5, 30, PROBES), KillReason.LIVENESS, None, 5),
        (target(5, 30, PROBES), KillReason.LIVENESS, 1, 1),
        (target(None, 30), KillReason.OTHER, 0, 0),
    ],
)
def test_the_grace_is_that_of_the_deletion_the_probe_or_the_pod(
    given_: KillTarget, reason: KillReason, override: int | None, grace: int
) -> None:
    assert grace_of(given_, reason, override) == grace


@given(st.integers(-5, 100), st.floats(0, 200))
def test_the_runtime_is_never_asked_for_less_than_two_seconds(grace: int, used: float) -> None:
    left = remaining(grace, used)
    assert left <= grace
    assert stop_timeout(left) >= 2


def test_only_whole_seconds_are_used_up() -> None:
    assert remaining(10, 3.999) == 7


SPEC = make_container(
    ports=[{"name": "http", "containerPort": 8080}, {"containerPort": 9}],
    lifecycle={"preStop": {"sleep": {"seconds": 3}}},
    livenessProbe={"terminationGracePeriodSeconds": 11},
    startupProbe={},
)


def state(**fields: object) -> ContainerState:
    labels = {
        "io.kubernetes.pod.name": "web",
        "io.kubernetes.pod.namespace": "shop",
        "io.kubernetes.pod.uid": UID,
        "io.kubernetes.container.name": "app",
    }
    made = {"id": "c1", "name": "app", "attempt": 0, "sandbox_id": "s1", "state": "running", "labels": labels}
    return ContainerState(**{**made, **fields})  # type: ignore[arg-type]


def test_a_known_pod_says_how_its_container_ends() -> None:
    pod = make_pod({"containers": [SPEC]}, deletionGracePeriodSeconds=9)
    assert KillTarget.of(state(), pod) == KillTarget(
        container_id="c1",
        name="app",
        pod=f"web_shop({UID})",
        sandbox_id="s1",
        pre_stop=LifecycleHandler(sleep=SleepAction(seconds=3)),
        ports={"http": 8080},
        deletion_grace_s=9,
        termination_grace_s=30,
        probe_grace_s={KillReason.LIVENESS: 11},
    )


ANNOTATIONS = {
    "io.kubernetes.container.preStopHandler": '{"sleep":{"seconds":3}}',
    "io.kubernetes.container.ports": '[{"name":"http","containerPort":8080,"protocol":"TCP"}]',
    "io.kubernetes.pod.deletionGracePeriod": "9",
    "io.kubernetes.pod.terminationGracePeriod": "30",
}


def test_an_unknown_pod_is_rebuilt_from_what_its_container_carries() -> None:
    expected = KillTarget(
        container_id="c1",
        name="app",
        pod=f"web_shop({UID})",
        sandbox_id="s1",
        pre_stop=LifecycleHandler(sleep=SleepAction(seconds=3)),
        ports={"http": 8080},
        deletion_grace_s=9,
        termination_grace_s=30,
    )
    assert KillTarget.of(state(annotations=ANNOTATIONS), None) == expected
    other = make_pod({"containers": [make_container(name="other")]})
    assert KillTarget.of(state(annotations=ANNOTATIONS), other) == expected


@pytest.mark.parametrize("value", ["", "null", "[", "[1]", '{"sleep":5}', "x"])
def test_foreign_annotations_are_as_good_as_none(value: str) -> None:
    made = KillTarget.of(state(annotations=dict.fromkeys(ANNOTATIONS, value)), None)
    assert (made.pre_stop, dict(made.ports), made.termination_grace_s) == (None, {}, None)
