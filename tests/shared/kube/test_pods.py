from typing import Any

import msgspec
import pytest

from shared.kube import pods
from shared.kube.types import Pod


def pod(**spec: Any) -> Pod:
    raw = {"metadata": {"name": "web", "namespace": "shop", "uid": "u-1"}, "spec": spec}
    return msgspec.convert(raw, Pod)


def container(name: str = "c", *, restart: str | None = None, limits: Any = None, **requests: str) -> dict[str, Any]:
    made: dict[str, Any] = {"name": name, "resources": {"requests": requests, "limits": limits or {}}}
    return made | ({"restartPolicy": restart} if restart else {})


def annotated(**annotations: str) -> Pod:
    keys = {f"kubernetes.io/config.{k}": v for k, v in annotations.items()}
    return msgspec.convert({"metadata": {"annotations": keys}}, Pod)


def test_names_of_a_pod() -> None:
    assert pods.pod_full_name(pod()) == "web_shop"
    assert pods.pod_format(pod()) == "web_shop(u-1)"


def test_a_static_pod_has_a_source_other_than_the_api() -> None:
    assert pods.is_static(annotated(source="file"))
    assert pods.is_static(annotated(source="http"))
    assert not pods.is_static(annotated(source="api"))
    assert not pods.is_static(pod())


def test_a_mirror_pod_has_the_annotation_with_any_value() -> None:
    assert pods.is_mirror(annotated(mirror=""))
    assert not pods.is_mirror(annotated(source="file"))


@pytest.mark.parametrize(
    ("subject", "critical"),
    [
        (annotated(source="file"), True),
        (annotated(source="api", mirror="x"), True),
        (pod(priority=2_000_000_000), True),
        (pod(priority=1_999_999_999), False),
        (pod(), False),
    ],
)
def test_critical_are_static_mirror_and_high_priority_pods(subject: Pod, critical: bool) -> None:
    assert pods.is_critical(subject) is critical


def test_node_critical_needs_the_class_as_well() -> None:
    assert pods.is_node_critical(pod(priority=2_000_001_000, priorityClassName="system-node-critical"))
    assert not pods.is_node_critical(pod(priority=2_000_000_000, priorityClassName="system-cluster-critical"))
    assert not pods.is_node_critical(pod(priority=1, priorityClassName="system-node-critical"))


def test_containers_are_init_then_regular_then_ephemeral() -> None:
    subject = pod(containers=[{"name": "b"}], initContainers=[{"name": "a"}], ephemeralContainers=[{"name": "c"}])
    assert [c.name for c in pods.all_containers(subject)] == ["a", "b", "c"]


@pytest.mark.parametrize(
    ("requests", "limits", "expected"),
    [
        ({}, {}, "BestEffort"),
        ({"cpu": "0"}, {"memory": "0"}, "BestEffort"),
        ({"ephemeral-storage": "1Gi"}, {"ephemeral-storage": "1Gi"}, "BestEffort"),
        ({"cpu": "1", "memory": "1Gi"}, {"cpu": "1000m", "memory": "1024Mi"}, "Guaranteed"),
        ({"cpu": "1"}, {"cpu": "1"}, "Burstable"),
        ({"cpu": "1"}, {}, "Burstable"),
        ({}, {"cpu": "1", "memory": "1Gi"}, "Burstable"),
        ({"cpu": "1", "memory": "1Gi"}, {"cpu": "2", "memory": "1Gi"}, "Burstable"),
    ],
)
def test_quality_of_service_of_one_container_or_of_pod_level_resources(
    requests: dict[str, str], limits: dict[str, str], expected: str
) -> None:
    resources = {"requests": requests, "limits": limits}
    assert pods.qos_class(pod(containers=[{"name": "c", "resources": resources}])) == expected
    assert pods.qos_class(pod(resources=resources, containers=[{"name": "c"}])) == expected


def test_containers_of_different_classes_make_a_burstable_pod() -> None:
    full = {"cpu": "1", "memory": "1Gi"}
    guaranteed = container("a", limits=full, **full)
    assert pods.qos_class(pod(containers=[guaranteed, guaranteed])) == "Guaranteed"
    assert pods.qos_class(pod(containers=[guaranteed, {"name": "b"}])) == "Burstable"
    assert pods.qos_class(pod(containers=[guaranteed], initContainers=[{"name": "i"}])) == "Burstable"
    assert pods.qos_class(pod()) == "BestEffort"


def test_the_class_in_the_status_wins() -> None:
    subject = msgspec.convert({"status": {"qosClass": "Guaranteed"}}, Pod)
    assert pods.qos_class(subject) == "Guaranteed"
    assert pods.compute_qos_class(subject) == "BestEffort"


def test_requests_are_the_sum_or_the_largest_start_with_the_sidecars_before_it() -> None:
    subject = pod(
        containers=[container("a", cpu="1", memory="1Gi"), container("b", cpu="500m")],
        initContainers=[
            container("big", cpu="3"),
            container("side", restart="Always", cpu="1", memory="64Mi"),
            container("late", cpu="2500m"),
        ],
        overhead={"cpu": "250m", "memory": "1Mi"},
    )
    assert pods.effective_requests(subject) == {"cpu": "3750m", "memory": "1089Mi"}


def test_pod_level_resources_replace_those_of_the_containers() -> None:
    subject = pod(
        containers=[container(cpu="1", memory="1Gi", **{"ephemeral-storage": "2Gi"})],
        resources={"requests": {"cpu": "4", "hugepages-2Mi": "4Mi"}, "limits": {"cpu": "8"}},
        overhead={"cpu": "1"},
    )
    assert pods.effective_requests(subject) == {
        "cpu": "5",
        "memory": "1Gi",
        "ephemeral-storage": "2Gi",
        "hugepages-2Mi": "4Mi",
    }
    assert pods.effective_limits(subject) == {"cpu": "9"}


def test_overhead_is_added_only_to_limits_that_are_not_zero() -> None:
    subject = pod(containers=[container(limits={"cpu": "1", "memory": "0"})], overhead={"cpu": "1", "memory": "1Gi"})
    assert pods.effective_limits(subject) == {"cpu": "2", "memory": "0"}
