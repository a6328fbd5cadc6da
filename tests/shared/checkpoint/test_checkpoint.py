"""Files that are whole or old, never torn, and never a reason to refuse to start."""

import os
import stat
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from shared.checkpoint import Checkpoint, write_atomic
from shared.checkpoint.checkpoint import MAX_SET_ASIDE

REPOSITORY = Path(__file__).parents[3]


class Kept(msgspec.Struct, frozen=True):
    names: dict[str, int]
    text: str = ""


class Foreign(msgspec.Struct, frozen=True):
    names: dict[str, int]


def set_aside(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir() if ".corrupt-" in path.name)


@given(value=st.builds(Kept, st.dictionaries(st.text(), st.integers(-(2**63), 2**63 - 1)), st.text()))
@settings(max_examples=50, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_what_was_saved_is_loaded(tmp_path: Path, value: Kept) -> None:
    checkpoint = Checkpoint(tmp_path / "new" / "state", kind=Kept)
    checkpoint.save(value)
    assert checkpoint.load() == value
    assert [path.name for path in (tmp_path / "new").iterdir()] == ["state"]


def test_no_file_is_no_value(tmp_path: Path) -> None:
    checkpoint = Checkpoint(tmp_path / "state", kind=Kept)
    assert checkpoint.load() is None
    checkpoint.remove()
    checkpoint.save(Kept({}))
    checkpoint.remove()
    assert (checkpoint.load(), list(tmp_path.iterdir())) == (None, [])


@given(data=st.data())
@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_file_cut_anywhere_or_with_any_byte_changed_is_never_believed(tmp_path: Path, data: st.DataObject) -> None:
    path = tmp_path / "state"
    checkpoint = Checkpoint(path, kind=Kept)
    value = Kept({"a": 1, "b": 22}, "text")
    checkpoint.save(value)
    whole = path.read_bytes()
    place = data.draw(st.integers(0, len(whole) - 2))
    if data.draw(st.booleans()):
        path.write_bytes(whole[:place])
    else:
        path.write_bytes(whole[:place] + bytes([whole[place] ^ data.draw(st.integers(1, 255))]) + whole[place + 1 :])
    assert checkpoint.load() in (None, value)
    for name in set_aside(tmp_path):
        (tmp_path / name).unlink()


@pytest.mark.parametrize("content", [b"", b"\n", b"\0" * 4096, b"{}\n{}\n", b'{"data":"{}","checksum":1}', b"\xff\xfe"])
def test_a_torn_or_foreign_file_is_set_aside(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "state"
    path.write_bytes(content)
    checkpoint = Checkpoint(path, kind=Kept)
    assert checkpoint.load() is None
    assert (tmp_path / "state.corrupt-1").read_bytes() == content
    assert not path.exists()
    checkpoint.save(Kept({"a": 1}))
    assert checkpoint.load() == Kept({"a": 1})


def test_a_file_of_another_kind_or_version_is_foreign(tmp_path: Path) -> None:
    path = tmp_path / "state"
    Checkpoint(path, kind=Foreign).save(Foreign({"a": 1}))
    assert Checkpoint(path, kind=Kept).load() is None
    Checkpoint(path, version=2, kind=Kept).save(Kept({"a": 1}))
    assert Checkpoint(path, version=1, kind=Kept).load() is None
    assert set_aside(tmp_path) == ["state.corrupt-1", "state.corrupt-2"]


def test_the_number_of_files_set_aside_is_bounded(tmp_path: Path) -> None:
    path = tmp_path / "state"
    for n in range(MAX_SET_ASIDE + 5):
        path.write_bytes(b"%d" % n)
        assert Checkpoint(path, kind=Kept).load() is None
    assert len(set_aside(tmp_path)) == MAX_SET_ASIDE
    assert (tmp_path / f"state.corrupt-{MAX_SET_ASIDE}").read_bytes() == b"%d" % (MAX_SET_ASIDE + 4)


def test_a_failed_write_keeps_the_old_value(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    checkpoint = Checkpoint(tmp_path / "state", kind=Kept)
    checkpoint.save(Kept({"a": 1}))

    def no_space(descriptor: int, data: object) -> int:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "write", no_space)
        with pytest.raises(OSError, match="No space left"):
            checkpoint.save(Kept({"a": 2}))
    assert checkpoint.load() == Kept({"a": 1})
    checkpoint.save(Kept({"a": 3}))
    assert (checkpoint.load(), sorted(path.name for path in tmp_path.iterdir())) == (Kept({"a": 3}), ["state"])


def test_files_and_folders_are_for_their_owner_only(tmp_path: Path) -> None:
    checkpoint = Checkpoint(tmp_path / "folder" / "state", kind=Kept)
    checkpoint.save(Kept({}))
    assert stat.S_IMODE(checkpoint.path.stat().st_mode) == 0o600
    assert stat.S_IMODE(checkpoint.path.parent.stat().st_mode) == 0o700
    write_atomic(tmp_path / "open", b"x", mode=0o644)
    assert stat.S_IMODE((tmp_path / "open").stat().st_mode) == 0o644


def test_a_link_in_the_place_of_the_temporary_file_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "victim").write_text("old")
    (tmp_path / ".state.tmp").symlink_to(tmp_path / "victim")
    with pytest.raises(OSError, match="symbolic links"):
        write_atomic(tmp_path / "state", b"new")
    assert (tmp_path / "victim").read_text() == "old"


@pytest.mark.slow
def test_a_writer_killed_at_any_moment_leaves_a_whole_value(tmp_path: Path) -> None:
    code = """
import sys
from pathlib import Path
from shared.checkpoint import Checkpoint
from tests.shared.checkpoint.test_checkpoint import Kept
checkpoint = Checkpoint(Path(sys.argv[1]), kind=Kept)
print("writing", flush=True)
for n in range(10**9):
    checkpoint.save(Kept({f"key-{i}": n for i in range(200)}, "x" * (n % 5000)))
"""
    path, latest = tmp_path / "state", -1
    for _ in range(4):
        command = [sys.executable, "-c", code, str(path)]
        with subprocess.Popen(command, cwd=REPOSITORY, stdout=subprocess.PIPE) as process:
            assert process.stdout is not None
            process.stdout.readline()
            while not path.exists():
                pass
            process.kill()
        value = Checkpoint(path, kind=Kept).load()
        assert value is not None
        assert len(set(value.names.values())) == 1
        latest = max(latest, *value.names.values())
    assert set_aside(tmp_path) == []
    assert latest >= 0
