"""Volumes on this machine's own kernel. Needs root; everything lies below tmp_path and is unmounted at the end."""

import asyncio
import os
import stat
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from services.volume_manager import pod_dir
from services.volume_manager.filesystem import HostFilesystem
from services.volume_manager.machine import HostMachine, share_root
from services.volume_manager.model import VolumeKey, VolumeState
from services.volume_manager.mounts import MountCalls, is_shared, mounts_below
from services.volume_manager.volumes.base import VolumeRequest
from services.volume_manager.volumes.empty_dir import PLUGIN, EmptyDir
from shared.errors import Transient
from shared.messages.container_manager import NodeResources
from tests.volume_manager.daemon import Rows
from tests.volume_manager.pods import pod

pytestmark = pytest.mark.skipif(os.geteuid() != 0 or sys.platform != "linux", reason="mounting needs root")


@pytest.fixture
def root(tmp_path: Path) -> Iterator[Path]:
    yield tmp_path
    calls = MountCalls()
    for mount in HostFilesystem().mounts_below(str(tmp_path)):
        calls.unmount(mount.target)


def node() -> Rows[NodeResources]:
    resources = NodeResources(capacity={}, allocatable={"memory": "1Gi"}, cpus=1, memory_bytes=1 << 30)
    return Rows({"node": resources})


def test_a_memory_volume_lives_and_dies_on_a_real_kernel(root: Path) -> None:
    of = pod("p", [{"name": "v", "emptyDir": {"medium": "Memory", "sizeLimit": "1Mi"}}])
    directory = str(root / "pods" / "u")
    key = VolumeKey(PLUGIN, "v")
    files = HostFilesystem()

    async def scenario() -> None:
        machine = HostMachine(str(root), node(), max_blocked_operations=2)
        request = VolumeRequest(of, of.spec.volumes[0], key, directory, fs_group=4321)
        try:
            await machine.run(lambda: pod_dir.make(files, directory))
            for _ in range(2):
                path = Path((await EmptyDir().set_up(request, machine)).host_path)
            assert os.statvfs(path).f_blocks * os.statvfs(path).f_frsize == 1 << 20
            assert path.stat().st_gid == 4321
            assert stat.S_IMODE(path.stat().st_mode) == 0o3777, "tmpfs is sticky, the group adds setgid"
            (path / "data").write_bytes(b"x" * 1000)
            assert pod_dir.look(files, directory).volumes[key].state is VolumeState.UNCERTAIN
            with pytest.raises(Transient, match="it is a mount point"):
                pod_dir.remove(files, directory, "u")
            assert (path / "data").exists()
            for _ in range(2):
                await EmptyDir().tear_down(directory, key, machine)
            assert not path.exists() and files.mounts_below(directory) == []
            pod_dir.remove(files, directory, "u")
            assert list((root / "pods").iterdir()) == []
        finally:
            machine.close()

    asyncio.run(scenario())


def test_removal_refuses_a_bind_mount_of_the_same_device(root: Path) -> None:
    precious, tree = root / "precious", root / "tree"
    precious.mkdir()
    (precious / "data").write_text("x")
    (tree / "below").mkdir(parents=True)
    MountCalls().bind(str(precious), str(tree / "below"))
    with pytest.raises(Transient) as caught:
        HostFilesystem().remove_tree(str(tree))
    assert str(caught.value) == f"cannot delete directory {tree / 'below'}: it is a mount point"
    assert (precious / "data").exists()


def test_subpath_mounts_are_taken_off_and_deleted(root: Path) -> None:
    directory = root / "pods" / "u"
    source = root / "source"
    source.mkdir()
    (source / "file").write_text("x")
    top = directory / "volume-subpaths" / "v" / "c"
    (top / "0").mkdir(parents=True)
    (top / "1").touch()
    MountCalls().bind(str(source), str(top / "0"))
    MountCalls().bind(str(source / "file"), str(top / "1"))
    for _ in range(2):
        pod_dir.clean_subpaths(HostFilesystem(), str(directory), "v")
    assert list(directory.iterdir()) == [] and (source / "file").read_text() == "x"


def test_names_with_blanks_are_found_in_the_mount_table(root: Path) -> None:
    target = root / "a b\tc"
    target.mkdir()
    HostFilesystem().mount("tmpfs", str(target), "tmpfs", ("size=4096",))
    assert [m.target for m in HostFilesystem().mounts_below(str(root))] == [str(target)]


def test_a_refused_mount_tells_the_arguments(root: Path) -> None:
    with pytest.raises(Transient) as caught:
        HostFilesystem().mount("tmpfs", str(root / "nothing"), "tmpfs", ("size=1",))
    assert str(caught.value) == (
        "mount failed: no such file or directory\nMounting command: mount\n"
        f"Mounting arguments: -t tmpfs -o size=1 tmpfs {root / 'nothing'}\nOutput: "
    )


def test_a_directory_is_made_shared_once(root: Path) -> None:
    for _ in range(2):
        share_root(str(root))
    assert is_shared(Path("/proc/self/mountinfo").read_text(), str(root))
    assert len(HostFilesystem().mounts_below(str(root))) == 1


def test_a_filesystem_of_its_own_is_made_shared_as_it_is(root: Path) -> None:
    (root / "own").mkdir()
    HostFilesystem().mount("tmpfs", str(root / "own"), "tmpfs", ("size=4096",))
    share_root(str(root / "own"))
    assert is_shared(Path("/proc/self/mountinfo").read_text(), str(root / "own"))
    assert len(HostFilesystem().mounts_below(str(root))) == 1


def test_a_directory_with_mounts_below_is_not_hidden_by_a_mount_of_its_own(root: Path) -> None:
    (root / "v").mkdir()
    HostFilesystem().mount("tmpfs", str(root / "v"), "tmpfs", ("size=4096",))
    (root / "v" / "data").write_text("x")
    with pytest.raises(Transient, match="something is mounted below it already"):
        share_root(str(root))
    assert (root / "v" / "data").exists()


def test_data_of_a_volume_is_never_deleted_with_the_pods_directory(tmp_path: Path) -> None:
    directory = tmp_path / "pods" / "u"
    volume = directory / "volumes" / "kubernetes.io~empty-dir" / "v"
    volume.mkdir(parents=True)
    (volume / "data").write_text("x")
    (directory / "etc-hosts").write_text("x")
    with pytest.raises(Transient) as caught:
        pod_dir.remove(HostFilesystem(), str(directory), "u")
    assert str(caught.value) == (
        f'orphaned pod "u" found, but failed to rmdir() volume at path {volume}: remove {volume}: directory not empty'
    )
    assert (volume / "data").exists()
    (volume / "data").unlink()
    (directory / "containers" / "c").mkdir(parents=True)
    (directory / "containers" / "c" / "abcd0123").write_text("log")
    pod_dir.remove(HostFilesystem(), str(directory), "u")
    assert not directory.exists()


def test_the_mount_table_is_read_line_by_line() -> None:
    text = (
        "36 35 98:0 /mnt1 /mnt\\0402 rw,noatime shared:1 - ext3 /dev/root rw,errors=continue\n"
        "broken line\n"
        "37 36 0:5 / /mnt\\0402/x rw - tmpfs tmpfs rw,size=4k\n"
    )
    assert [(m.target, m.fstype, m.options) for m in mounts_below(text, "/mnt 2")] == [
        ("/mnt 2/x", "tmpfs", ("rw", "size=4k")),
        ("/mnt 2", "ext3", ("rw", "errors=continue")),
    ]
    assert mounts_below(text, "/mn") == [] and len(mounts_below(text, "/")) == 2
    assert is_shared(text, "/mnt 2/y") and not is_shared(text, "/mnt 2/x/z")
