"""Walks of trees that containers wrote: any depth, any names, links that lead out."""

import os
import stat
from pathlib import Path

import pytest

from services.volume_manager import tree


def make_deep(root: Path, levels: int) -> None:
    """A chain of directories far deeper than any path the system takes."""
    fd = os.open(root, os.O_RDONLY)
    for _ in range(levels):
        os.mkdir("d" * 20, dir_fd=fd)
        below = os.open("d" * 20, os.O_RDONLY, dir_fd=fd)
        os.close(fd)
        fd = below
    os.close(os.open("leaf", os.O_CREAT | os.O_WRONLY, dir_fd=fd))
    os.close(fd)


def test_a_tree_deeper_than_any_path_is_removed(tmp_path: Path) -> None:
    root = tmp_path / "v"
    root.mkdir()
    make_deep(root, 1500)
    assert tree.disk_usage(str(root)).inodes == 1502
    tree.remove_tree(str(root))
    assert not root.exists()


def test_removal_deletes_links_and_never_what_they_lead_to(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "precious").write_text("x")
    root = tmp_path / "v"
    (root / "sub").mkdir(parents=True)
    (root / "sub" / "dir_link").symlink_to(outside)
    (root / "file_link").symlink_to(outside / "precious")
    tree.remove_tree(str(root))
    assert not root.exists() and (outside / "precious").read_text() == "x"


def test_removal_of_what_is_not_there_is_success(tmp_path: Path) -> None:
    tree.remove_tree(str(tmp_path / "nothing"))


def test_usage_counts_blocks_and_inodes_and_hard_links_once(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"x" * 100_000)
    os.link(tmp_path / "a", tmp_path / "b")
    (tmp_path / "d").mkdir()
    used = tree.disk_usage(str(tmp_path))
    blocks = sum(os.lstat(p).st_blocks for p in (tmp_path, tmp_path / "a", tmp_path / "d"))
    assert used == tree.DiskUsage(blocks * 512, 3)


def test_usage_of_a_missing_tree_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        tree.disk_usage(str(tmp_path / "nothing"))


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root to give files away")
@pytest.mark.parametrize(("read_only", "file_mode", "dir_mode"), [(False, 0o660, 0o2770), (True, 0o640, 0o2750)])
def test_the_group_gets_bits_added_but_never_taken_away(
    tmp_path: Path, read_only: bool, file_mode: int, dir_mode: int
) -> None:
    outside = tmp_path / "outside"
    outside.write_text("x")
    outside.chmod(0o600)
    root = tmp_path / "v"
    (root / "sub").mkdir(parents=True)
    (root / "sub" / "f").write_text("x")
    (root / "sub" / "link").symlink_to(outside)
    for path, mode in ((root, 0o700), (root / "sub", 0o700), (root / "sub" / "f", 0o600)):
        path.chmod(mode)
    tree.give_to_group(str(root), 4321, read_only=read_only)
    for path, mode in ((root, dir_mode), (root / "sub", dir_mode), (root / "sub" / "f", file_mode)):
        assert (path.stat().st_gid, stat.S_IMODE(path.stat().st_mode)) == (4321, mode), path
    assert os.lstat(root / "sub" / "link").st_gid == 4321
    assert stat.S_IMODE(outside.stat().st_mode) == 0o600 and outside.stat().st_gid != 4321
