"""The last words of containers, from real files."""

import os
from pathlib import Path

import pytest

from services.pod_sync.runtime.log_tail import log_tail
from services.pod_sync.runtime.termination import tail_bytes, termination_message
from shared.messages.pleg import ContainerMount, ContainerState

PATH = "/dev/termination-log"


def message(
    folder: Path, own: bytes | None = None, log: bytes | None = None, *, policy: str = "File", **fields: object
) -> str:
    file, log_file = folder / "words", folder / "0.log"
    if own is not None:
        file.write_bytes(own)
    if log is not None:
        log_file.write_bytes(log)
    made = {
        "id": "c1",
        "name": "app",
        "attempt": 0,
        "sandbox_id": "s1",
        "state": "exited",
        "exit_code": 1,
        "log_path": str(log_file),
        "annotations": {
            "io.kubernetes.container.terminationMessagePath": PATH,
            "io.kubernetes.container.terminationMessagePolicy": policy,
        },
        "mounts": [ContainerMount(container_path=PATH, host_path=str(file))],
    }
    return termination_message(ContainerState(**{**made, **fields}))  # type: ignore[arg-type]


LOG = b"2026-01-01T00:00:00Z stdout F one\n2026-01-01T00:00:00Z stderr F two\n"
FALLBACK = "FallbackToLogsOnError"


def test_the_containers_file_is_its_message(tmp_path: Path) -> None:
    assert message(tmp_path, b"bye\n") == "bye\n"
    assert message(tmp_path, b"bye\n", LOG, policy=FALLBACK) == "bye\n"


def test_the_runtimes_message_stands_before_it(tmp_path: Path) -> None:
    assert message(tmp_path, b"bye", message="oom") == "oom: bye"
    assert message(tmp_path, b"", message="oom") == "oom"


def test_only_the_end_of_a_long_file_is_told(tmp_path: Path) -> None:
    assert message(tmp_path, b"x" * 5000 + b"end") == "x" * 4093 + "end"


@pytest.mark.parametrize(
    ("own", "policy", "fields", "expected"),
    [
        (b"", FALLBACK, {}, "one\ntwo\n"),
        (None, FALLBACK, {}, "one\ntwo\n"),
        (b"", "File", {}, ""),
        (b"", FALLBACK, {"exit_code": 0}, ""),
        (b"", FALLBACK, {"reason": "ContainerCannotRun"}, ""),
        (None, "File", {"mounts": []}, ""),
        (b"x", "File", {"annotations": {}}, ""),
    ],
)
def test_the_log_stands_in_only_for_a_failure_without_words(
    tmp_path: Path, own: bytes | None, policy: str, fields: dict[str, object], expected: str
) -> None:
    assert message(tmp_path, own, LOG, policy=policy, **fields) == expected


def test_files_that_cannot_be_read_are_told(tmp_path: Path) -> None:
    (tmp_path / "words").mkdir()
    assert message(tmp_path).startswith(f"Error on reading termination log {tmp_path}/words: open ")
    missing = message(tmp_path, policy=FALLBACK, mounts=[])
    assert missing == (
        f"Error on reading termination message from logs: open {tmp_path}/0.log: no such file or directory"
    )


def test_a_pipe_in_the_files_place_holds_nobody_up(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "words")
    assert "not a regular file" in message(tmp_path)
    with pytest.raises(OSError, match="not a regular file"):
        tail_bytes(str(tmp_path / "words"), 10)


def test_words_that_are_no_text_are_told_all_the_same(tmp_path: Path) -> None:
    assert message(tmp_path, b"a\xffb") == "a\ufffdb"


def line(text: str, tag: str = "F") -> bytes:
    return f"2026-01-01T00:00:00Z stdout {tag} {text}\n".encode()


def test_the_last_lines_of_a_log_are_cut_to_bytes(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_bytes(b"".join(line(f"{n}") for n in range(200)))
    assert log_tail(str(log), lines=80, max_bytes=2048).splitlines() == [str(n) for n in range(120, 200)]
    log.write_bytes(line("y" * 5000))
    assert log_tail(str(log), lines=80, max_bytes=2048) == "y" * 2047 + "\n"


def test_fragments_count_as_lines_and_run_together(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_bytes(line("lost") + line("a", "P") + line("b", "P") + line("c"))
    assert log_tail(str(log), lines=3, max_bytes=100) == "abc\n"


def test_lines_in_another_form_are_left_out(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_bytes(b"garbage\n" + line("good") + b"2026-01-01T00:00:00Z stdout F half")
    assert log_tail(str(log), lines=10, max_bytes=100) == "good\n"
    log.write_bytes(b"")
    assert log_tail(str(log), lines=10, max_bytes=100) == ""


def test_a_log_larger_than_a_block_is_read_from_its_end(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_bytes(b"".join(line(f"{n:04}" + "z" * 500) for n in range(1000)))
    text = log_tail(str(log), lines=80, max_bytes=10**6)
    assert [part[:4] for part in text.splitlines()] == [f"{n:04}" for n in range(920, 1000)]
