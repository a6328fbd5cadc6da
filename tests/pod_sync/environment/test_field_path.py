"""Fields and resources as environment variables."""

from dataclasses import replace

import msgspec
import pytest

from services.pod_sync.environment.field_path import field_value, resource_value
from services.pod_sync.environment.model import ConfigError
from shared.kube.types import ResourceFieldSelector
from tests.pod_sync.environment.manifests import NODE, UID, context, make_container, make_pod

POD = make_pod(
    {"nodeName": "n1", "serviceAccountName": "robot"},
    labels={"app": "web", "it's": "odd"},
    annotations={"note": "two\nlines"},
)


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("metadata.name", "web"),
        ("metadata.namespace", "shop"),
        ("metadata.uid", UID),
        ("metadata.labels['app']", "web"),
        ("metadata.labels['it's']", "odd"),
        ("metadata.labels['none']", ""),
        ("metadata.annotations['note']", "two\nlines"),
        ("spec.nodeName", "n1"),
        ("spec.serviceAccountName", "robot"),
        ("status.hostIP", "192.0.2.10"),
        ("status.hostIPs", "192.0.2.10,2001:db8::10"),
        ("status.podIP", "10.0.0.1"),
        ("status.podIPs", "10.0.0.1,fd00::1"),
    ],
)
def test_a_field_is_told(path: str, value: str) -> None:
    node = replace(NODE, node_ips=("192.0.2.10", "2001:db8::10"))
    assert field_value(path, context(POD, ips=("fd00::1", "10.0.0.1")), node) == value


def test_the_pods_addresses_follow_the_nodes_first_family() -> None:
    node = replace(NODE, node_ips=("2001:db8::10", "192.0.2.10"))
    assert field_value("status.podIP", context(POD, ips=("10.0.0.1", "fd00::1")), node) == "fd00::1"


def test_a_pod_in_the_hosts_network_has_the_nodes_address() -> None:
    made = context(make_pod({"hostNetwork": True}), ips=())
    assert field_value("status.podIP", made, NODE) == "192.0.2.10"
    assert field_value("status.podIP", context(POD, ips=()), NODE) == ""


RESOURCES = {
    "requests": {"cpu": "250m", "memory": "64Mi", "hugepages-2Mi": "4Mi"},
    "limits": {"cpu": "1500m", "memory": "100M"},
}


@pytest.mark.parametrize(
    ("resource", "divisor", "value"),
    [
        ("requests.cpu", None, "1"),
        ("requests.cpu", "1m", "250"),
        ("requests.cpu", "0", "1"),
        ("limits.cpu", None, "2"),
        ("limits.cpu", "1m", "1500"),
        ("requests.memory", None, str(64 << 20)),
        ("requests.memory", "1Mi", "64"),
        ("limits.memory", "1Mi", "96"),
        ("limits.ephemeral-storage", "1Gi", "50"),
        ("requests.ephemeral-storage", None, "0"),
        ("requests.hugepages-2Mi", "1Mi", "4"),
        ("limits.hugepages-2Mi", None, "0"),
    ],
)
def test_a_resource_is_divided_and_rounded_up(resource: str, divisor: str | None, value: str) -> None:
    pod = make_pod({"containers": [make_container(resources=RESOURCES)]})
    selector = ResourceFieldSelector(resource=resource, divisor=divisor)
    assert resource_value(selector, context(pod), pod.spec.containers[0], node=NODE) == value


def test_a_missing_limit_is_the_pods_else_what_the_node_can_give() -> None:
    pod = make_pod({"resources": {"limits": {"cpu": "3"}}})
    made = context(pod)
    for resource, value in (("limits.cpu", "3"), ("limits.memory", str(7 << 30))):
        selector = ResourceFieldSelector(resource=resource)
        assert resource_value(selector, made, pod.spec.containers[0], node=NODE) == value


def test_another_container_of_the_pod_can_be_meant() -> None:
    pod = make_pod({"initContainers": [make_container(name="setup", resources={"limits": {"cpu": "2"}})]})
    selector = ResourceFieldSelector(resource="limits.cpu", container_name="setup")
    assert resource_value(selector, context(pod), pod.spec.containers[0], node=NODE) == "2"
    gone = msgspec.structs.replace(selector, container_name="gone")
    with pytest.raises(ConfigError, match="gone"):
        resource_value(gone, context(pod), pod.spec.containers[0], node=NODE)


@pytest.mark.parametrize("resource", ["limits.gpu", "cpu", "limit.cpu", ""])
def test_an_unknown_resource_is_refused(resource: str) -> None:
    pod = make_pod()
    with pytest.raises(ConfigError, match="unsupported container resource"):
        resource_value(ResourceFieldSelector(resource=resource), context(pod), pod.spec.containers[0], node=NODE)
