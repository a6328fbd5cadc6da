"""Structured logs: one event per line, to the process's stderr and to a rotating file of its own.

An event is a constant `noun.verb_in_past`; everything that varies is a field. Each line is counted in
`octolet_log_events_total{service,event,level}`. Writing never fails and never waits for a reader: the pipe of a dead or
stuck supervisor must not stop a daemon.
"""

import errno
import logging
import logging.handlers
import os
import stat
import sys
from collections import Counter
from collections.abc import MutableMapping
from pathlib import Path
from typing import Any, Final

import msgspec
import structlog
from structlog.typing import EventDict, FilteringBoundLogger, WrappedLogger

LOG_FILE_BYTES: Final = 10 * 1024 * 1024
"""size at which RUN/log/NAME.log is rotated"""
LOG_FILES_KEPT: Final = 2
"""rotated files beside the current one: 30 MiB per daemon at most, since the run folder is usually in memory"""
LEVELS: Final = {"debug": logging.DEBUG, "info": logging.INFO, "warning": logging.WARNING, "error": logging.ERROR}

event_counts: Counter[tuple[str, str]] = Counter()
"""lines written by this process, by (event, level)"""


class Stderr:
    """The process's stderr as a place that may go away or stop reading."""

    def __init__(self, descriptor: int = 2) -> None:
        self._descriptor: int | None = _unblocked(descriptor)
        self._torn = False

    def write(self, line: str) -> None:
        """Write one line, or drop it or its end: the log file has it."""
        if self._descriptor is None:
            return
        data = line.encode(errors="replace") + b"\n"
        if self._torn:
            data = b"\n" + data
        try:
            self._torn = os.write(self._descriptor, data) < len(data)
        except BlockingIOError:
            pass
        except OSError as error:
            if error.errno in (errno.EPIPE, errno.EBADF, errno.EIO):
                self._descriptor = None


def _unblocked(descriptor: int) -> int | None:
    """A descriptor for the same place that does not block, if it is a pipe.

    A pipe is opened anew through /proc, because O_NONBLOCK belongs to the open file, which others may share.
    """
    try:
        if stat.S_ISFIFO(os.fstat(descriptor).st_mode):
            return os.open(f"/proc/self/fd/{descriptor}", os.O_WRONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        return descriptor
    except OSError:
        return None
    return descriptor


class LogFile:
    """RUN/log/NAME.log, rotated by size; always JSON. A full disk loses lines, nothing else."""

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        is_torn = _ends_within_a_line(path)
        self._handler = logging.handlers.RotatingFileHandler(
            path, maxBytes=LOG_FILE_BYTES, backupCount=LOG_FILES_KEPT, encoding="utf-8", errors="replace"
        )
        self._handler.setFormatter(logging.Formatter("%(message)s"))
        self._handler.handleError = lambda record: None  # type: ignore[method-assign]
        if is_torn:
            self.write("")

    def write(self, line: str) -> None:
        """Append one line."""
        self._handler.handle(logging.LogRecord("octolet", logging.INFO, "", 0, line, None, None))

    def close(self) -> None:
        """Close the file."""
        self._handler.close()


def _ends_within_a_line(path: Path) -> bool:
    """Whether the last life was ended, or its disk was full, in the middle of one."""
    try:
        with path.open("rb") as file:
            file.seek(-1, os.SEEK_END)
            return file.read(1) != b"\n"
    except OSError:  # not there yet, or empty
        return False


class Output:
    """Where structlog hands each rendered line."""

    def __init__(self, stderr: Stderr, file: LogFile | None) -> None:
        self._stderr = stderr
        self._file = file

    def msg(self, shown: str, stored: str) -> None:
        """Write one event in both forms."""
        self._stderr.write(shown)
        if self._file is not None:
            self._file.write(stored)

    debug = info = warning = error = critical = msg


class _Rendered:
    """The last processor: the line for people and the line for the file."""

    def __init__(self, log_format: str) -> None:
        self._console = structlog.dev.ConsoleRenderer(colors=sys.stderr.isatty()) if log_format == "console" else None

    def __call__(self, logger: WrappedLogger, name: str, event: EventDict) -> tuple[tuple[str, str], dict[str, Any]]:
        stored = msgspec.json.encode(_plain(event), enc_hook=str).decode()
        shown = stored if self._console is None else str(self._console(logger, name, dict(event)))
        return (shown, stored), {}


def _plain(event: MutableMapping[str, Any]) -> dict[str, Any]:
    """Time, level and event first, for whoever reads the file with eyes."""
    first = {key: event[key] for key in ("timestamp", "level", "event") if key in event}
    return first | {key: value for key, value in event.items() if key not in first}


def _count(logger: WrappedLogger, name: str, event: EventDict) -> EventDict:
    event_counts[str(event.get("event")), str(event.get("level", name))] += 1
    return event


class _Library(logging.Handler):
    """Lines of libraries that use stdlib logging, as one event."""

    def emit(self, record: logging.LogRecord) -> None:
        level = {logging.DEBUG: "debug", logging.INFO: "info", logging.WARNING: "warning"}.get(record.levelno, "error")
        fields: dict[str, Any] = {"logger": record.name, "text": record.getMessage()}
        if record.exc_info:
            fields["exc_info"] = record.exc_info
        getattr(structlog.get_logger(), level)("library.reported", **fields)


def configure(*, log_format: str, level: str, file: Path | None, stderr: Stderr | None = None) -> None:
    """Set up structlog and stdlib logging for this process. Raises OSError when the log file cannot be opened."""
    output = Output(stderr or Stderr(), None if file is None else LogFile(file))
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            _count,
            structlog.processors.StackInfoRenderer(),
            structlog.processors.format_exc_info,
            _Rendered(log_format),
        ],
        wrapper_class=structlog.make_filtering_bound_logger(LEVELS[level]),
        logger_factory=lambda *_: output,
        cache_logger_on_first_use=False,
    )
    root = logging.getLogger()
    root.handlers[:] = [_Library()]
    root.setLevel(max(LEVELS[level], logging.WARNING))


def get_logger(**fields: object) -> FilteringBoundLogger:
    """A logger with those fields bound."""
    logger: FilteringBoundLogger = structlog.get_logger(**fields)
    return logger
