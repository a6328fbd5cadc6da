"""hostPath's type checks, against real files, with upstream's texts."""

import os
import socket
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from services.volume_manager.filesystem import HostFilesystem
from services.volume_manager.volumes.host_path import check_type
from shared.errors import Invalid, Transient


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Path]:
    """One file of each kind, under the name of the kind."""
    (tmp_path / "Directory").mkdir()
    (tmp_path / "File").write_text("x")
    (tmp_path / "to_dir").symlink_to(tmp_path / "Directory")
    os.mkfifo(tmp_path / "fifo")
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(tmp_path / "Socket"))
    yield tmp_path
    listener.close()


def refusal(path: Path | str, wanted: str) -> str:
    with pytest.raises(Invalid) as caught:
        check_type(str(path), wanted, HostFilesystem())
    return str(caught.value)


@pytest.mark.parametrize("wanted", ["Directory", "File", "Socket"])
def test_a_path_of_the_wanted_kind_passes(place: Path, wanted: str) -> None:
    check_type(str(place / wanted), wanted, HostFilesystem())


def test_devices_pass_and_links_are_followed(place: Path) -> None:
    check_type("/dev/null", "CharDevice", HostFilesystem())
    check_type(str(place / "to_dir"), "Directory", HostFilesystem())


@pytest.mark.parametrize(
    ("name", "wanted", "words"),
    [
        ("File", "Directory", "is not a directory, it's a File"),
        ("File", "DirectoryOrCreate", "is not a directory, it's a File"),
        ("Directory", "File", "is not a file, it's a Directory"),
        ("Socket", "FileOrCreate", "is not a file, it's a Socket"),
        ("File", "Socket", "is not a socket file, it's a File"),
        ("Directory", "CharDevice", "is not a character device, it's a Directory"),
        ("File", "BlockDevice", "is not a block device, it's a File"),
    ],
)
def test_a_path_of_another_kind_is_named_after_a_colon(place: Path, name: str, wanted: str, words: str) -> None:
    assert refusal(place / name, wanted) == f"hostPath type check failed: {place / name} {words}"


@pytest.mark.parametrize(
    ("wanted", "what"),
    [
        ("Directory", "directory"),
        ("File", "file"),
        ("Socket", "socket file"),
        ("CharDevice", "character device"),
        ("BlockDevice", "block device"),
    ],
)
def test_a_missing_path_is_told_after_a_comma(place: Path, wanted: str, what: str) -> None:
    path = place / "nothing"
    assert refusal(path, wanted) == (
        f'hostPath type check failed, {path} is not a {what}, unable to determine its type: path "{path}" does not exist'
    )


def test_a_pipe_is_of_no_kind_that_can_be_named(place: Path) -> None:
    path = place / "fifo"
    assert refusal(path, "Directory") == (
        f"hostPath type check failed, {path} is not a directory, unable to determine its type: "
        "only recognise file, directory, socket, block device and character device"
    )


def test_a_missing_directory_is_made_with_its_parents(tmp_path: Path) -> None:
    check_type(str(tmp_path / "a/b/c"), "DirectoryOrCreate", HostFilesystem())
    assert stat.S_IMODE((tmp_path / "a/b/c").stat().st_mode) == 0o755
    check_type(str(tmp_path / "a/b/c"), "DirectoryOrCreate", HostFilesystem())


def test_a_missing_file_is_made_but_not_its_parents(tmp_path: Path) -> None:
    check_type(str(tmp_path / "f"), "FileOrCreate", HostFilesystem())
    assert stat.S_IMODE((tmp_path / "f").stat().st_mode) == 0o644
    with pytest.raises(Transient, match=r"^open .*/none/f: no such file or directory$"):
        check_type(str(tmp_path / "none/f"), "FileOrCreate", HostFilesystem())


def test_without_a_type_nothing_is_checked() -> None:
    check_type("/does/not/exist", "", HostFilesystem())


def test_a_path_that_steps_back_is_refused_whatever_its_type() -> None:
    assert refusal("/a/../etc", "") == "invalid HostPath `/a/../etc`: must not contain '..'"
    check_type("/a/..etc", "", HostFilesystem())


def test_an_unknown_type_is_refused() -> None:
    assert refusal("/", "Fifo") == "Fifo is an invalid volume type"
