"""downwardAPI: what each item holds."""

import asyncio

import msgspec
import pytest

from services.volume_manager.model import VolumeKey
from services.volume_manager.projections.downward import collect, go_quote
from services.volume_manager.projections.nested import nested_mount_points
from services.volume_manager.projections.payload import ProjectedFile
from services.volume_manager.volumes.base import NotKnownYet, VolumeRequest
from services.volume_manager.volumes.projected import Projected
from shared.errors import Invalid
from shared.kube.types import DownwardAPIVolumeFile, Pod
from tests.volume_manager.fake_machine import FakeFilesystem, FakeMachine, World
from tests.volume_manager.pods import pod

NODE = {"cpu": "3500m", "memory": "1Gi", "ephemeral-storage": "10Gi"}


def example() -> Pod:
    resources = {"limits": {"cpu": "1250m", "memory": "64Mi", "hugepages-2Mi": "4Mi"}, "requests": {"cpu": "100m"}}
    whole = pod(
        "p",
        [],
        containers=[{"name": "c", "image": "i", "resources": resources}],
        initContainers=[{"name": "init", "image": "i"}],
    )
    meta = msgspec.structs.replace(
        whole.metadata, labels={"b": "2", "a": 'x"y\n'}, annotations={"example.com/k": "täxt\x00"}
    )
    return msgspec.structs.replace(whole, metadata=meta)


def item(path: str, ref: dict[str, object], mode: int | None = None) -> DownwardAPIVolumeFile:
    key = "fieldRef" if "fieldPath" in ref else "resourceFieldRef"
    return msgspec.convert({"path": path, key: ref, "mode": mode}, DownwardAPIVolumeFile)


def text_of(ref: dict[str, object]) -> str:
    return collect([item("f", ref)], None, example(), NODE.__getitem__)["f"].data.decode()


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("metadata.name", "p"),
        ("metadata.namespace", "default"),
        ("metadata.uid", "uid-p"),
        ("metadata.labels", 'a="x\\"y\\n"\nb="2"'),
        ("metadata.annotations", 'example.com/k="täxt\\x00"'),
        ("metadata.labels['b']", "2"),
        ("metadata.labels['none']", ""),
        ("metadata.annotations['example.com/k']", "täxt\x00"),
    ],
)
def test_fields_of_the_metadata(path: str, text: str) -> None:
    assert text_of({"fieldPath": path}) == text


@pytest.mark.parametrize(
    ("container", "resource", "divisor", "text"),
    [
        ("c", "limits.cpu", None, "2"),
        ("c", "limits.cpu", "1m", "1250"),
        ("c", "limits.cpu", "0", "2"),
        ("c", "limits.memory", None, "67108864"),
        ("c", "limits.memory", "1Mi", "64"),
        ("c", "limits.memory", "60Mi", "2"),
        ("c", "requests.cpu", "1m", "100"),
        ("c", "requests.memory", None, "0"),
        ("c", "limits.ephemeral-storage", "1Gi", "10"),
        ("c", "limits.hugepages-2Mi", "1Mi", "4"),
        ("init", "limits.cpu", None, "4"),
        ("init", "limits.memory", None, str(1 << 30)),
        ("init", "limits.hugepages-2Mi", None, "0"),
    ],
)
def test_resources_are_rounded_up_and_a_missing_limit_is_the_nodes(
    container: str, resource: str, divisor: str | None, text: str
) -> None:
    assert text_of({"containerName": container, "resource": resource, "divisor": divisor}) == text


def test_all_that_is_wrong_is_told_at_once() -> None:
    wrong = [
        item("a", {"fieldPath": "spec.nodeName"}),
        item("b", {"containerName": "nobody", "resource": "limits.cpu"}),
        item("c", {"containerName": "c", "resource": "limits.gpu"}),
    ]
    with pytest.raises(Invalid) as caught:
        collect(wrong, None, example(), NODE.__getitem__)
    assert str(caught.value) == (
        "[unsupported fieldPath: spec.nodeName, container nobody not found, unsupported container resource : limits.gpu]"
    )


def test_an_items_mode_goes_before_the_default() -> None:
    files = collect(
        [item("a", {"fieldPath": "metadata.name"}), item("b", {"fieldPath": "metadata.name"}, 0o400)],
        0o600,
        example(),
        NODE.__getitem__,
    )
    assert files == {"a": ProjectedFile(b"p", 0o600), "b": ProjectedFile(b"p", 0o400)}


@pytest.mark.parametrize(
    ("text", "quoted"),
    [("a\tb\\", '"a\\tb\\\\"'), ("\x7f\x01", '"\\x7f\\x01"'), ("\u200b", '"\\u200b"'), ("\U000e0001", '"\\U000e0001"')],
)
def test_values_are_quoted_as_go_quotes_them(text: str, quoted: str) -> None:
    assert go_quote(text) == quoted


def projected(sources: list[object], machine: FakeMachine) -> str:
    of = pod("p", [{"name": "v", "projected": {"sources": sources}}])
    request = VolumeRequest(of, of.spec.volumes[0], VolumeKey("kubernetes.io/projected", "v"), "/root/pods/u")
    return asyncio.run(Projected().set_up(request, machine)).host_path


def facts(path: str, field: str) -> object:
    return {"downwardAPI": {"items": [{"path": path, "fieldRef": {"fieldPath": field}}]}}


def test_a_later_source_overwrites_an_earlier_one() -> None:
    machine = FakeMachine(FakeFilesystem(World()))
    path = projected([facts("f", "metadata.name"), facts("f", "metadata.namespace")], machine)
    version = machine.files.read_link(f"{path}/..data")
    assert machine.files.read_file(f"{path}/{version}/f") == b"default"


def test_one_source_that_cannot_be_read_keeps_all_from_being_written() -> None:
    machine = FakeMachine(FakeFilesystem(World()))
    with pytest.raises(
        Invalid, match="projected source serviceAccountToken of volume v, pod default/p, is not supported"
    ):
        projected([facts("f", "metadata.name"), {"serviceAccountToken": {"path": "token"}}], machine)
    assert machine.files.list_dir("/root") == []


def test_a_limit_that_needs_the_nodes_waits_for_it() -> None:
    machine = FakeMachine(FakeFilesystem(World()), allocatable={})
    with pytest.raises(NotKnownYet):
        projected([facts("f", "metadata.name")], machine)


def test_places_for_mounts_within_the_volume() -> None:
    mounts = [
        {"name": "v", "mountPath": "/v"},
        {"name": "w", "mountPath": "/v/a/b"},
        {"name": "x", "mountPath": "/v/a/b/c"},
        {"name": "y", "mountPath": "/v/a/bb"},
        {"name": "z", "mountPath": "/vv"},
    ]
    of = pod("p", [], containers=[{"name": "c", "image": "i", "volumeMounts": mounts}])
    assert nested_mount_points(of, "v") == {"a/b", "a/bb"}
    assert nested_mount_points(of, "w") == {"c"}
