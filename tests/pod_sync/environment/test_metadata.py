"""Names, labels, annotations and paths on CRI objects."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.pod_sync.environment import metadata
from services.pod_sync.environment.model import ConfigError
from tests.pod_sync.environment.manifests import UID, make_container, make_pod


def test_the_hash_of_a_container_is_the_one_upstream_gives_it() -> None:
    assert metadata.container_hash("test_container", "foo/image:v1") == 0x8E45CBD0


@given(st.text(max_size=20), st.text(max_size=20))
def test_every_hash_is_a_32_bit_number(name: str, image: str) -> None:
    assert 0 <= metadata.container_hash(name, image) < 2**32


def test_json_is_escaped_as_go_does_it() -> None:
    assert metadata.go_json({"a": "<b>&\u2028é\n"}) == '{"a":"\\u003cb\\u003e\\u0026\\u2028é\\n"}'


@given(st.dictionaries(st.text(max_size=5), st.text(max_size=20), max_size=3))
def test_json_with_go_escapes_still_means_the_same(value: dict[str, str]) -> None:
    assert json.loads(metadata.go_json(value)) == value


def test_a_sandbox_carries_the_pods_labels_and_its_identity() -> None:
    pod = make_pod(labels={"app": "web", "io.kubernetes.pod.name": "forged"})
    assert metadata.pod_labels(pod) == {
        "app": "web",
        "io.kubernetes.pod.name": "web",
        "io.kubernetes.pod.namespace": "shop",
        "io.kubernetes.pod.uid": UID,
    }


def test_a_container_carries_exactly_four_labels() -> None:
    assert metadata.container_labels(make_pod(labels={"app": "web"}), "app") == {
        "io.kubernetes.pod.name": "web",
        "io.kubernetes.pod.namespace": "shop",
        "io.kubernetes.pod.uid": UID,
        "io.kubernetes.container.name": "app",
    }


def test_a_bare_container_is_annotated_with_what_a_restart_needs() -> None:
    pod = make_pod()
    assert metadata.container_annotations(pod, pod.spec.containers[0], attempt=3, extra={}) == {
        "io.kubernetes.container.hash": f"{metadata.container_hash('app', 'busybox:1.36'):x}",
        "io.kubernetes.container.restartCount": "3",
        "io.kubernetes.container.terminationMessagePath": "/dev/termination-log",
        "io.kubernetes.container.terminationMessagePolicy": "File",
        "io.kubernetes.pod.terminationGracePeriod": "30",
    }


def test_device_annotations_cannot_replace_the_nodes_own() -> None:
    pod = make_pod()
    extra = {"vendor.com/x": "1", "io.kubernetes.container.restartCount": "99"}
    annotations = metadata.container_annotations(pod, pod.spec.containers[0], attempt=0, extra=extra)
    assert annotations["vendor.com/x"] == "1"
    assert annotations["io.kubernetes.container.restartCount"] == "0"


HANDLERS = [
    ({"exec": {"command": ["/bin/sh", "-c", "a && b"]}}, '{"exec":{"command":["/bin/sh","-c","a \\u0026\\u0026 b"]}}'),
    (
        {"httpGet": {"path": "/bye", "port": "http", "scheme": "HTTP", "httpHeaders": [{"name": "X", "value": ""}]}},
        '{"httpGet":{"path":"/bye","port":"http","scheme":"HTTP","httpHeaders":[{"name":"X","value":""}]}}',
    ),
    ({"httpGet": {"port": 8080, "host": "h"}}, '{"httpGet":{"port":8080,"host":"h"}}'),
    ({"tcpSocket": {"port": 80}}, '{"tcpSocket":{"port":80}}'),
    ({"sleep": {"seconds": 0}}, '{"sleep":{"seconds":0}}'),
]


@pytest.mark.parametrize(("handler", "text"), HANDLERS)
def test_a_pre_stop_handler_is_kept_as_the_api_writes_it(handler: dict[str, object], text: str) -> None:
    pod = make_pod({"containers": [make_container(lifecycle={"preStop": handler})]})
    annotations = metadata.container_annotations(pod, pod.spec.containers[0], attempt=0, extra={})
    assert annotations["io.kubernetes.container.preStopHandler"] == text


def test_ports_and_a_deletion_grace_are_kept() -> None:
    ports = [{"name": "http", "containerPort": 80, "protocol": "TCP"}, {"containerPort": 53, "hostPort": 53}]
    pod = make_pod({"containers": [make_container(ports=ports)]}, deletionGracePeriodSeconds=0)
    annotations = metadata.container_annotations(pod, pod.spec.containers[0], attempt=0, extra={})
    assert annotations["io.kubernetes.container.ports"] == (
        '[{"name":"http","containerPort":80,"protocol":"TCP"},{"hostPort":53,"containerPort":53}]'
    )
    assert annotations["io.kubernetes.pod.deletionGracePeriod"] == "0"


def test_a_container_is_found_whatever_its_kind_and_named_in_events() -> None:
    pod = make_pod(
        {
            "initContainers": [make_container(name="setup")],
            "ephemeralContainers": [make_container(name="debug")],
        }
    )
    for name, path in (
        ("app", "spec.containers{app}"),
        ("setup", "spec.initContainers{setup}"),
        ("debug", "spec.ephemeralContainers{debug}"),
    ):
        assert metadata.find_container(pod, name).name == name
        assert metadata.field_path(pod, name) == path
    assert metadata.field_path(pod, "nobody") == ""
    with pytest.raises(ConfigError, match="nobody"):
        metadata.find_container(pod, "nobody")


def test_log_paths_follow_namespace_name_uid_and_attempt() -> None:
    assert metadata.pod_log_dir("/var/log/pods", "shop", "web", "u1") == "/var/log/pods/shop_web_u1"
    assert metadata.container_log_path("app", 4) == "app/4.log"


@pytest.mark.parametrize(
    ("names", "attempt"),
    [
        ([], 0),
        (["0.log"], 1),
        (["0.log", "2.log", "1.log.20260101-000000.gz"], 3),
        (["7.log.20260101-000000"], 8),
        (["x.log", "3.txt", "log", "12.log.tmp", ".log"], 13),
        (["5.logs"], 6),
    ],
)
def test_the_restart_count_of_a_forgotten_container_follows_from_its_logs(names: list[str], attempt: int) -> None:
    assert metadata.attempt_after_logs(names) == attempt


def test_a_link_to_a_log_fits_a_directory_entry() -> None:
    assert metadata.legacy_log_name("web", "shop", container="app", container_id="abc") == "web_shop_app-abc.log"
    name = metadata.legacy_log_name("p" * 253, "n" * 63, container="c", container_id="f" * 64)
    assert len(name) == 255
    assert name.endswith(".log")
