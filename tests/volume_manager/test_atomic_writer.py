"""Written volumes: what a reader sees, and when."""

import os
import stat
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from services.volume_manager.filesystem import HostFilesystem
from services.volume_manager.ports import FileKind
from services.volume_manager.projections import atomic_writer
from services.volume_manager.projections.payload import ProjectedFile, validated
from shared.errors import Invalid
from tests.volume_manager.fake_machine import FakeFilesystem, Killed, Node, World

NAMES = ("..2026_12_01_10_00_00.000000001", "..2026_12_01_10_00_00.000000002")


def write(root: Path, payload: dict[str, str], version: str = NAMES[0], mode: int = 0o640) -> bool:
    files = {path: ProjectedFile(text.encode(), mode) for path, text in payload.items()}
    return atomic_writer.write(HostFilesystem(), str(root), files, version=version, set_permissions=lambda: None)


def seen(root: Path) -> dict[str, str]:
    """All files that a reader finds through the names in the volume's root."""
    found = {}
    for name in os.listdir(root):
        if not name.startswith(".."):
            top = root / name
            for path in [top, *top.rglob("*")]:
                if path.is_file():
                    found[str(path.relative_to(root))] = path.read_text()
    return found


def test_the_layout_is_the_one_that_watchers_know(tmp_path: Path) -> None:
    assert write(tmp_path, {"a": "1", "d/b": "2"})
    assert sorted(os.listdir(tmp_path)) == sorted(["..data", NAMES[0], "a", "d"])
    assert os.readlink(tmp_path / "..data") == NAMES[0]
    assert os.readlink(tmp_path / "a") == "..data/a" and os.readlink(tmp_path / "d") == "..data/d"
    assert stat.S_IMODE((tmp_path / NAMES[0]).stat().st_mode) == 0o755
    assert stat.S_IMODE((tmp_path / "d/b").stat().st_mode) == 0o640
    assert seen(tmp_path) == {"a": "1", "d/b": "2"}


def test_equal_content_is_not_written_again_but_missing_names_are_restored(tmp_path: Path) -> None:
    write(tmp_path, {"a": "1", "b": "2"})
    (tmp_path / "b").unlink()
    assert not write(tmp_path, {"a": "1", "b": "2"}, NAMES[1], mode=0o600)
    assert os.readlink(tmp_path / "..data") == NAMES[0] and seen(tmp_path) == {"a": "1", "b": "2"}


def test_a_change_switches_all_files_at_once_and_leaves_no_old_version(tmp_path: Path) -> None:
    write(tmp_path, {"a": "1", "gone": "x"})
    with (tmp_path / "a").open() as still_open:
        assert write(tmp_path, {"a": "2", "new/x": "3"}, NAMES[1])
        assert still_open.read() == "1"
    assert seen(tmp_path) == {"a": "2", "new/x": "3"}
    assert sorted(os.listdir(tmp_path)) == sorted(["..data", NAMES[1], "a", "new"])


def test_places_for_other_mounts_are_left_alone(tmp_path: Path) -> None:
    (tmp_path / "mountpoint").mkdir()
    write(tmp_path, {"a": "1"})
    write(tmp_path, {"b": "1"}, NAMES[1])
    assert (tmp_path / "mountpoint").is_dir() and not (tmp_path / "a").is_symlink()


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("", 'invalid path: must not be empty: ""'),
        ("/a", "invalid path: must be relative path: /a"),
        ("a/../b", "invalid path: must not contain '..': a/../b"),
        ("..a", "invalid path: must not start with '..': ..a"),
        ("x" * 256, "invalid path: filenames must be less than or equal to 255 characters"),
        ("x/" * 2049, "invalid path: must be less than or equal to 4096 characters"),
    ],
)
def test_paths_that_would_lead_elsewhere_are_refused(path: str, text: str) -> None:
    with pytest.raises(Invalid) as caught:
        validated({path: ProjectedFile(b"")})
    assert str(caught.value) == text


def test_hidden_files_and_dots_within_are_allowed() -> None:
    assert set(validated({".a": ProjectedFile(b""), "b/..c": ProjectedFile(b""), "./d//e": ProjectedFile(b"")})) == {
        ".a",
        "b/..c",
        "d/e",
    }


contents = st.dictionaries(st.sampled_from(["a", "b", "d/x", "d/y", "e/f/g"]), st.binary(max_size=3), max_size=4)


@settings(max_examples=150, deadline=None)
@given(writes=st.lists(st.tuples(contents, st.none() | st.integers(0, 30)), min_size=1, max_size=5))
def test_a_reader_sees_whole_versions_only_wherever_writes_are_cut_off(
    writes: list[tuple[dict[str, bytes], int | None]],
) -> None:
    world = World()
    world.layers[0].nodes["/v"] = Node(FileKind.DIRECTORY, 0o777)
    shown: dict[str, bytes] | None = None
    for number, (content, calls) in enumerate([*writes, (writes[-1][0], None)]):
        files = FakeFilesystem(world, calls)
        payload = {path: ProjectedFile(data) for path, data in content.items()}
        done = False
        try:
            atomic_writer.write(files, "/v", payload, version=f"..{number}", set_permissions=lambda: None)
            done = True
        except Killed:
            pass
        version = files.read_link("/v/..data")
        now = (
            None
            if version is None
            else {p: files.read_file(f"/v/{version}/{p}") for p in files.list_files(f"/v/{version}")}
        )
        assert now in ((content,) if done else (content, shown))
        shown = now  # type: ignore[assignment]
    names = {path.partition("/")[0] for path in writes[-1][0]}
    assert set(files.list_dir("/v")) == {"..data", str(files.read_link("/v/..data")), *names}
