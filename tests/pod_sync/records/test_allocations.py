"""The record of admitted pods has the kubelet's own format."""

import json
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from services.pod_sync.records.allocations import Allocations, checksum
from shared.kube.types import Container, ObjectMeta, Pod, PodSpec, ResourceRequirements


def make_pod(uid: str, cpu: str = "100m") -> Pod:
    wants = ResourceRequirements(requests={"cpu": cpu}, limits={"memory": "64Mi"})
    return Pod(
        metadata=ObjectMeta(name="web", namespace="default", uid=uid),
        spec=PodSpec(
            containers=[Container(name="c", resources=wants), Container(name="d")],
            init_containers=[Container(name="i", resources=wants)],
        ),
    )


def test_the_checksum_is_upstreams() -> None:
    data = '{"entries":{"pod1":{"ContainerResources":{"container1":{"requests":{"cpu":"1Ki","memory":"1Ki"}}}}}}'
    assert checksum(data) == 1178570812


def test_what_was_written_is_read_again_and_has_the_known_form(tmp_path: Path) -> None:
    path = tmp_path / "root" / "allocated_pods_state"
    store = Allocations(path)
    store.put(make_pod("u1"))
    store.save()
    file = json.loads(path.read_text())
    assert file["checksum"] == checksum(file["data"])
    assert json.loads(file["data"]) == {
        "entries": {
            "u1": {
                "ContainerResources": {
                    "c": {"limits": {"memory": "64Mi"}, "requests": {"cpu": "100m"}},
                    "d": {},
                    "i": {"limits": {"memory": "64Mi"}, "requests": {"cpu": "100m"}},
                },
                "EmptyDirVolumeLimits": None,
                "PodLevelResources": None,
            }
        }
    }
    again = Allocations(path)
    again.load()
    assert "u1" in again
    assert again.uids() == {"u1"}


def test_a_pod_acts_with_what_it_was_given_not_with_what_it_asks_for_now(tmp_path: Path) -> None:
    store = Allocations(tmp_path / "state")
    store.put(make_pod("u1"))
    wanted = make_pod("u1", cpu="2")
    allocated = store.allocated(wanted)
    assert allocated.spec.containers[0].resources == make_pod("u1").spec.containers[0].resources
    assert allocated.spec.init_containers[0].resources == make_pod("u1").spec.init_containers[0].resources
    same = make_pod("u1")
    assert store.allocated(same) is same
    unknown = make_pod("u2")
    assert store.allocated(unknown) is unknown


def test_a_file_of_the_kubelet_is_understood(tmp_path: Path) -> None:
    data = '{"entries":{"u1":{"ContainerResources":{"c":{"requests":{"cpu":"100m"},"limits":{"memory":"64Mi"}}}}}}'
    path = tmp_path / "state"
    path.write_text(json.dumps({"data": data, "checksum": checksum(data)}))
    store = Allocations(path)
    store.load()
    assert store.allocated(make_pod("u1", cpu="2")).spec.containers[0].resources == ResourceRequirements(
        requests={"cpu": "100m"}, limits={"memory": "64Mi"}
    )


@pytest.mark.parametrize("content", [b"", b"{}", b'{"data":"{}","checksum":1}', b"\xff\xfe", b'{"data":3}'])
def test_a_damaged_file_is_set_aside_and_never_keeps_the_daemon_from_starting(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "state"
    path.write_bytes(content)
    store = Allocations(path)
    with capture_logs() as logs:
        store.load()
    assert [log["event"] for log in logs] == ["checkpoint.set_aside"]
    assert store.uids() == frozenset()
    assert not path.exists()
    assert (tmp_path / "state.corrupt").read_bytes() == content
    store.put(make_pod("u1"))
    store.save()
    assert path.exists()


def test_nothing_is_written_when_nothing_changed(tmp_path: Path) -> None:
    path = tmp_path / "state"
    store = Allocations(path)
    store.put(make_pod("u1"))
    store.save()
    path.unlink()
    store.save()
    assert not path.exists()
    store.delete("u1")
    store.save()
    assert path.exists()
