"""emptyDir on disk, in memory and in huge pages, over a fake machine."""

import asyncio
from collections.abc import Mapping

import pytest

from services.volume_manager.model import VolumeKey
from services.volume_manager.ports import FileKind
from services.volume_manager.volumes.base import VolumeRequest
from services.volume_manager.volumes.empty_dir import PLUGIN, EmptyDir, huge_page_size, tmpfs_size_bytes
from shared.errors import Invalid
from shared.kube.types import Pod
from tests.volume_manager.fake_machine import FakeFilesystem, FakeMachine, Node, World
from tests.volume_manager.pods import pod

GI = 1 << 30
MI = 1 << 20
PATH = "/root/pods/u/volumes/kubernetes.io~empty-dir/v"
READY = "/root/pods/u/plugins/kubernetes.io~empty-dir/v/ready"


def limited(*limits: str | None, **spec: object) -> Pod:
    """A pod with a container for each memory limit."""
    containers = [
        {"name": f"c{i}", "image": "i", "resources": {"limits": {"memory": m} if m else {}}}
        for i, m in enumerate(limits)
    ]
    return pod("p", [], containers=containers, **spec)


@pytest.mark.parametrize(
    ("of", "size_limit", "expected"),
    [
        (limited(None), None, 4 * GI),
        (limited(None), "0", 4 * GI),
        (limited(None), "1Gi", GI),
        (limited(None), "8Gi", 4 * GI),
        (limited("1Gi", "1Gi"), None, 2 * GI),
        (limited("1Gi", None), None, 4 * GI),
        (limited("1Gi"), "64Mi", 64 * MI),
        (limited("1Gi"), "2Gi", GI),
        (limited("8Gi"), "2Gi", 2 * GI),
        (limited(None, resources={"limits": {"memory": "512Mi"}}), None, 512 * MI),
        (limited("1Gi", initContainers=[{"name": "i", "image": "i"}]), None, 4 * GI),
        (
            limited("1Gi", initContainers=[{"name": "i", "image": "i", "resources": {"limits": {"memory": "3Gi"}}}]),
            None,
            3 * GI,
        ),
    ],
)
def test_a_memory_volume_is_bounded_by_node_then_pod_then_its_own_limit(
    of: Pod, size_limit: str | None, expected: int
) -> None:
    assert tmpfs_size_bytes(of, size_limit, 4 * GI) == expected


def huge(*sizes: str) -> Pod:
    containers = [
        {"name": f"c{i}", "image": "i", "resources": {"requests": {f"hugepages-{s}": "4Mi"}}}
        for i, s in enumerate(sizes)
    ]
    return pod("p", [], containers=containers)


def test_the_page_size_follows_from_the_containers_requests() -> None:
    assert huge_page_size(huge("2Mi", "2Mi"), "HugePages") == "2Mi"
    assert huge_page_size(huge("2Mi", "1Gi"), "HugePages-1Gi") == "1Gi"


@pytest.mark.parametrize(
    ("of", "medium", "text"),
    [
        (
            huge("2Mi", "1Gi"),
            "HugePages",
            "medium: HugePages can't be used if container requests multiple huge page sizes",
        ),
        (
            huge(),
            "HugePages",
            "medium HugePages: hugePages storage requested, but there is no resource request for huge pages",
        ),
        (
            huge("2Mi"),
            "HugePages-1Gi",
            "medium HugePages-1Gi: hugePages storage requested, but there is no resource request for huge pages",
        ),
    ],
)
def test_huge_pages_that_nobody_asked_for_are_refused(of: Pod, medium: str, text: str) -> None:
    with pytest.raises(Invalid) as caught:
        huge_page_size(of, medium)
    assert str(caught.value) == text


class Place:
    """A fake machine and one volume of a pod on it."""

    def __init__(self, source: Mapping[str, object], of: Pod | None = None) -> None:
        self.machine = FakeMachine(FakeFilesystem(World()))
        self.files = self.machine.files
        whole = of or pod("p", [])
        volume = pod("x", [{"name": "v", "emptyDir": dict(source)}]).spec.volumes[0]
        group = whole.spec.security_context.fs_group if whole.spec.security_context else None
        self.request = VolumeRequest(whole, volume, VolumeKey(PLUGIN, "v"), "/root/pods/u", fs_group=group)

    def set_up(self) -> str:
        return asyncio.run(EmptyDir().set_up(self.request, self.machine)).host_path

    def tear_down(self) -> None:
        asyncio.run(EmptyDir().tear_down("/root/pods/u", VolumeKey(PLUGIN, "v"), self.machine))


def test_the_directory_is_open_to_everybody_whatever_the_umask() -> None:
    place = Place({})
    assert place.set_up() == PATH
    seen = place.files.stat(PATH)
    assert seen is not None and (seen.kind, seen.mode) == (FileKind.DIRECTORY, 0o777)
    parent = place.files.stat(PATH.rpartition("/")[0])
    assert parent is not None and parent.mode == 0o750
    assert place.files.stat(READY) is not None


def test_a_second_set_up_touches_nothing() -> None:
    for source in (dict[str, object](), {"medium": "Memory"}):
        place = Place(source, pod("p", [], securityContext={"fsGroup": 7}))
        place.set_up()
        place.files.calls_left = 0
        place.set_up()


def test_a_memory_volume_is_a_tmpfs_of_that_size() -> None:
    place = Place({"medium": "Memory", "sizeLimit": "10Mi"})
    place.set_up()
    assert [(m.target, m.fstype, m.options) for m in place.files.mounts_below("/root")] == [
        (PATH, "tmpfs", (f"size={10 * MI}", "noswap"))
    ]


def test_after_a_reboot_a_memory_volume_is_mounted_anew() -> None:
    place = Place({"medium": "Memory"})
    place.set_up()
    del place.files.world.layers[1:]
    place.set_up()
    assert len(place.files.mounts_below("/root")) == 1


def test_a_volume_whose_directory_vanished_is_made_again() -> None:
    place = Place({})
    place.set_up()
    place.files.remove_tree(PATH)
    place.set_up()
    assert place.files.stat(PATH) is not None and place.files.stat(READY) is not None


def test_the_group_is_given_the_volume() -> None:
    place = Place({}, pod("p", [], securityContext={"fsGroup": 7}))
    place.set_up()
    seen = place.files.stat(PATH)
    assert seen is not None and seen.gid == 7


def test_an_existing_huge_page_mount_must_have_the_wanted_page_size() -> None:
    of = huge("2Mi")
    place = Place({"medium": "HugePages"}, of)
    place.set_up()
    mount = place.files.world.layers[1]
    assert (mount.mount.fstype, mount.mount.source, mount.mount.options) == ("hugetlbfs", "nodev", ("pagesize=2Mi",))
    object.__setattr__(mount.mount, "options", ("rw", "pagesize=2M"))
    place.set_up()
    object.__setattr__(mount.mount, "options", ("rw", "pagesize=1024M"))
    with pytest.raises(Invalid, match="pagesize '1024M' and requested medium size '2Mi' differ"):
        place.set_up()


def test_an_unknown_medium_is_refused() -> None:
    with pytest.raises(Invalid, match=r'^unknown storage medium "Tape"$'):
        Place({"medium": "Tape"}).set_up()


def test_a_size_limit_that_is_no_quantity_is_the_pods_fault() -> None:
    with pytest.raises(Invalid, match="sizeLimit"):
        Place({"medium": "Memory", "sizeLimit": "lots"}).set_up()


def test_tear_down_deletes_the_data_and_bears_repetition() -> None:
    for source in (dict[str, object](), {"medium": "Memory"}):
        place = Place(source)
        place.set_up()
        place.files._layer(f"{PATH}/x").nodes[f"{PATH}/x"] = Node(FileKind.FILE, 0o644)
        place.tear_down()
        place.tear_down()
        assert (
            place.files.stat(PATH) is None
            and place.files.stat(READY) is None
            and place.files.mounts_below("/root") == []
        )
