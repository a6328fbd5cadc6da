"""Logs: one line per event in two places, none of which can stop the process."""

import contextlib
import json
import logging
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
import structlog

from shared.telemetry import log
from shared.telemetry.log import LogFile, Stderr, configure, event_counts, get_logger


@pytest.fixture(autouse=True)
def _restore(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    handlers, level = logging.getLogger().handlers[:], logging.getLogger().level
    opened: list[LogFile] = []

    class Remembered(LogFile):
        def __init__(self, path: Path) -> None:
            super().__init__(path)
            opened.append(self)

    monkeypatch.setattr(log, "LogFile", Remembered)
    yield
    for file in opened:
        with contextlib.suppress(OSError):  # what a full disk did not take
            file.close()
    structlog.reset_defaults()
    logging.getLogger().handlers[:] = handlers
    logging.getLogger().setLevel(level)
    event_counts.clear()


def lines(path: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_an_event_is_written_counted_and_keeps_its_fields(tmp_path: Path) -> None:
    configure(log_format="json", level="info", file=tmp_path / "x.log", stderr=Stderr(os.open(os.devnull, os.O_WRONLY)))
    logger = get_logger(service="pleg")
    logger.info("container.died", pod_uid="u1", exit_code=137, path=Path("/a"))
    logger.debug("relist.finished")
    line, *rest = lines(tmp_path / "x.log")
    assert rest == []
    assert {key: line[key] for key in line if key != "timestamp"} == {
        "level": "info",
        "event": "container.died",
        "service": "pleg",
        "pod_uid": "u1",
        "exit_code": 137,
        "path": "/a",
    }
    assert event_counts == {("container.died", "info"): 1}


def test_an_exception_is_one_line(tmp_path: Path) -> None:
    configure(log_format="json", level="info", file=tmp_path / "x.log", stderr=Stderr(os.open(os.devnull, os.O_WRONLY)))
    try:
        raise ZeroDivisionError("bug")
    except ZeroDivisionError as error:
        get_logger().error("service.crashed", exc_info=error)
    (line,) = lines(tmp_path / "x.log")
    assert "ZeroDivisionError: bug" in str(line["exception"])


def test_libraries_that_use_stdlib_logging_come_out_alike(tmp_path: Path) -> None:
    configure(
        log_format="json", level="debug", file=tmp_path / "x.log", stderr=Stderr(os.open(os.devnull, os.O_WRONLY))
    )
    logging.getLogger("grpc").warning("channel %s is gone", "c1")
    logging.getLogger("grpc").info("chatter")
    (line,) = lines(tmp_path / "x.log")
    assert (line["event"], line["logger"], line["text"]) == ("library.reported", "grpc", "channel c1 is gone")


def test_people_get_a_console_line_and_the_file_still_gets_json(tmp_path: Path) -> None:
    read, write = os.pipe()
    configure(log_format="console", level="info", file=tmp_path / "x.log", stderr=Stderr(write))
    get_logger().info("container.died", exit_code=137)
    shown = os.read(read, 10_000).decode()
    assert "container.died" in shown and "exit_code=" in shown and not shown.startswith("{")
    assert lines(tmp_path / "x.log")[0]["exit_code"] == 137
    os.close(read)
    os.close(write)


def test_the_file_is_rotated_by_size_and_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log, "LOG_FILE_BYTES", 1000)
    file = LogFile(tmp_path / "log" / "x.log")
    for n in range(100):
        file.write(f"{n:03d}" + "x" * 90)
    file.close()
    names = sorted(path.name for path in (tmp_path / "log").iterdir())
    assert names == ["x.log", "x.log.1", "x.log.2"]
    assert all(path.stat().st_size <= 1000 for path in (tmp_path / "log").iterdir())
    assert (tmp_path / "log" / "x.log").read_text().splitlines()[-1].startswith("099")


def test_a_line_that_the_last_life_did_not_end_spoils_no_other(tmp_path: Path) -> None:
    path = tmp_path / "log" / "x.log"
    for before in ("", '{"event":"whole"}\n', '{"event":"to'):
        path.parent.mkdir(exist_ok=True)
        path.write_text(before)
        file = LogFile(path)
        file.write('{"event":"next"}')
        file.close()
        assert path.read_text().splitlines()[-1] == '{"event":"next"}'
        assert path.read_text().count("\n") == 1 + before.count("\n") + (bool(before) and not before.endswith("\n"))


def test_a_file_that_cannot_be_written_loses_lines_only(tmp_path: Path) -> None:
    (tmp_path / "x.log").symlink_to("/dev/full")
    configure(log_format="json", level="info", file=tmp_path / "x.log", stderr=Stderr(os.open(os.devnull, os.O_WRONLY)))
    get_logger().info("line.lost")
    get_logger().info("line.lost")
    assert event_counts == {("line.lost", "info"): 2}


def test_a_full_pipe_drops_lines_and_the_next_whole_line_starts_anew() -> None:
    read, write = os.pipe()
    stderr = Stderr(write)
    for n in range(100):
        stderr.write(f"{n}:" + "x" * 5000)
    received = os.read(read, 1 << 20)
    stderr.write("after")
    tail = os.read(read, 1 << 20)
    assert len(received) >= 50_000
    assert (received + tail).endswith(b"\nafter\n")
    os.close(read)
    stderr.write("nobody reads")
    stderr.write("nobody reads, still")
    os.close(write)


def test_blocking_is_switched_off_for_this_process_only() -> None:
    read, write = os.pipe()
    Stderr(write).write("x")
    assert os.get_blocking(write)
    os.close(read)
    os.close(write)
