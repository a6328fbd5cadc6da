"""Kernel settings, in a folder that plays /proc/sys."""

from pathlib import Path

import pytest

from services.container_manager.kernel import WANTED, protect, tune
from shared.errors import Fatal, Transient


@pytest.fixture
def proc(tmp_path: Path) -> Path:
    for name, value in WANTED.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(f"{value}\n")
    return tmp_path


def test_only_what_differs_is_written(proc: Path) -> None:
    (proc / "vm/overcommit_memory").write_text("0\n")
    before = (proc / "kernel/panic").stat().st_mtime_ns
    tune(proc)
    assert (proc / "vm/overcommit_memory").read_text() == "1"
    assert (proc / "kernel/panic").stat().st_mtime_ns == before


def test_what_cannot_be_written_is_named_and_the_rest_is_set(proc: Path) -> None:
    (proc / "vm/panic_on_oom").unlink()
    (proc / "kernel/panic").write_text("1\n")
    with pytest.raises(Transient, match="set kernel flags: vm/panic_on_oom: No such file"):
        tune(proc)
    assert (proc / "kernel/panic").read_text() == "10"


def test_protected_kernel_defaults_are_compared_and_never_written(proc: Path) -> None:
    protect(proc)
    (proc / "kernel/panic").write_text("1\n")
    with pytest.raises(Fatal, match="invalid kernel flag: kernel/panic, expected value: 10, actual value: 1"):
        protect(proc)
    assert (proc / "kernel/panic").read_text() == "1\n"
