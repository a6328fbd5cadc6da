"""Paths below volumes, with real folders, links and (as root) real mounts."""

import asyncio
import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from services.pod_sync.environment.model import ConfigError
from services.pod_sync.runtime.bind_mount import bind, detach
from services.pod_sync.runtime.subpaths import SubpathRequest, Subpaths, bind_subpath, ensure_directory, spec_name
from shared.messages.volume_manager import MountedVolume
from tests.pod_sync.environment.manifests import context, make_container, make_pod


def can_mount(folder: Path) -> bool:
    """Whether this process may mount: root with the capability, which not every container has."""
    if os.geteuid() != 0:
        return False
    probe = folder / "probe"
    probe.mkdir()
    try:
        bind(str(folder), str(probe))
    except PermissionError:
        return False
    detach(str(probe))
    return True


@pytest.fixture
def volume(tmp_path: Path) -> Path:
    made = tmp_path / "volumes" / "kubernetes.io~empty-dir" / "data"
    made.mkdir(parents=True)
    made.chmod(0o2777)
    return made


@pytest.fixture
def pod_dir(tmp_path: Path) -> Iterator[Path]:
    if not can_mount(tmp_path):
        pytest.skip("needs root and CAP_SYS_ADMIN")
    folder = tmp_path / "pod"
    folder.mkdir(mode=0o750)
    yield folder
    for target in folder.glob("volume-subpaths/*/*/*"):
        detach(str(target))


def prepare(volume: Path, pod_dir: Path, below: str) -> Path:
    pod = make_pod({"containers": [make_container(volumeMounts=[{"name": "v", "mountPath": "/v", "subPath": below}])]})
    made = context(pod, pod_dir=str(pod_dir), volumes={"v": MountedVolume(host_path=str(volume))})
    return Path(asyncio.run(Subpaths().prepare(made, "app", index=0, below=below)))


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("/var/lib/kubelet/pods/u/volumes/kubernetes.io~empty-dir/data", "data"),
        ("/var/lib/kubelet/pods/u/volumes/kubernetes.io~csi/pvc-1/mount", "pvc-1"),
        ("/srv/shared", "v"),
        ("/srv/volumes/x", "v"),
    ],
)
def test_a_bind_is_filed_under_the_volumes_own_name(path: str, name: str) -> None:
    assert spec_name(path, "v") == name


def test_a_missing_path_is_made_with_the_volumes_mode(volume: Path) -> None:
    old = os.umask(0o077)
    try:
        ensure_directory(SubpathRequest(str(volume), "a/b", "unused"))
    finally:
        os.umask(old)
    assert stat.S_IMODE((volume / "a").stat().st_mode) == 0o2777
    assert stat.S_IMODE((volume / "a/b").stat().st_mode) == 0o2777


def test_a_path_that_is_there_is_left_as_it_is(volume: Path) -> None:
    (volume / "file").write_text("x")
    (volume / "file").chmod(0o600)
    ensure_directory(SubpathRequest(str(volume), "file", "unused"))
    assert stat.S_IMODE((volume / "file").stat().st_mode) == 0o600


@pytest.mark.parametrize("link", ["/", "../../..", "/etc"])
def test_nothing_is_made_through_a_link_that_leads_out(volume: Path, tmp_path: Path, link: str) -> None:
    (volume / "out").symlink_to(link)
    with pytest.raises(OSError, match="outside of allowed base"):
        ensure_directory(SubpathRequest(str(volume), "out/made-by-test", "unused"))
    assert not (tmp_path / "made-by-test").exists()


@pytest.mark.parametrize("link", ["/", "../../..", "/etc/passwd"])
def test_nothing_is_bound_through_a_link_that_leads_out(volume: Path, tmp_path: Path, link: str) -> None:
    (volume / "out").symlink_to(link)
    with pytest.raises(OSError, match="outside of allowed base"):
        bind_subpath(SubpathRequest(str(volume), "out", str(tmp_path / "target")))
    assert not (tmp_path / "target").exists()


def test_a_link_put_there_after_the_check_is_not_followed(volume: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (volume / "dir").mkdir()
    (volume / "evil").symlink_to("/etc")
    real = os.path.realpath

    def swapped(path: str) -> str:
        """What the check saw: a folder. What is opened: the link that took its place."""
        return real(path) if path == str(volume) else f"{real(str(volume))}/evil"

    monkeypatch.setattr(os.path, "realpath", swapped)
    with pytest.raises(OSError, match="unexpected symlink found evil"):
        bind_subpath(SubpathRequest(str(volume), "dir", str(volume.parent / "target")))


def test_a_folder_and_a_file_are_shown_at_a_path_of_the_nodes_own(volume: Path, pod_dir: Path) -> None:
    (volume / "a/b").mkdir(parents=True)
    (volume / "a/b/x").write_text("in")
    target = prepare(volume, pod_dir, "a/b")
    assert target == pod_dir / "volume-subpaths" / "data" / "app" / "0"
    assert (target / "x").read_text() == "in"
    assert prepare(volume, pod_dir, "a/b/x").read_text() == "in"


def test_a_bind_that_is_right_is_kept_and_a_stale_one_replaced(volume: Path, pod_dir: Path) -> None:
    (volume / "d").mkdir()
    target = prepare(volume, pod_dir, "d")
    before = target.stat().st_ino
    assert prepare(volume, pod_dir, "d").stat().st_ino == before
    (volume / "d").rename(volume / "old")
    (volume / "d").mkdir()
    assert prepare(volume, pod_dir, "d").stat().st_ino == (volume / "d").stat().st_ino != before
    mounts = Path("/proc/self/mountinfo").read_text()
    assert mounts.count(f" {target} ") == 1


def test_a_swap_after_the_bind_changes_nothing(volume: Path, pod_dir: Path) -> None:
    (volume / "d").mkdir()
    target = prepare(volume, pod_dir, "d")
    (volume / "d").rmdir()
    (volume / "d").symlink_to("/etc")
    assert list(target.iterdir()) == []


def test_a_link_within_the_volume_is_followed(volume: Path, pod_dir: Path) -> None:
    (volume / "real").mkdir()
    (volume / "real/x").write_text("in")
    (volume / "link").symlink_to("real")
    assert (prepare(volume, pod_dir, "link") / "x").read_text() == "in"


def test_failures_are_told_without_the_hosts_paths(volume: Path, tmp_path: Path) -> None:
    (volume / "out").symlink_to("/etc")
    for below, text in (
        ("out", 'failed to prepare subPath for volumeMount "v" of container "app"'),
        ("out/new", 'failed to create subPath directory for volumeMount "v" of container "app"'),
    ):
        with pytest.raises(ConfigError) as caught:
            prepare(volume, tmp_path / "pod", below)
        assert str(caught.value) == text
