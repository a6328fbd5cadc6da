"""One daemon's process from its command line to its exit code."""

import asyncio
import contextlib
import gc
import importlib
import os
import runpy
import signal
import sys
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any, Final, NoReturn, TypeVar

import msgspec
import setproctitle
from structlog.typing import FilteringBoundLogger

from shared.bus.bus import next_beat_mono
from shared.bus.endpoints import Socket, endpoint
from shared.errors import Fatal, Invalid
from shared.messages.base import Service
from shared.service.arguments import Arguments, parse_arguments
from shared.service.context import Context, TaskReturned, open_context
from shared.service.lock import LockHeld, ServiceLock
from shared.service.settings import read_settings, settings_path
from shared.telemetry.log import configure, get_logger

S = TypeVar("S", bound=msgspec.Struct)
Serve = Callable[[Context[S]], Awaitable[None]]

RUN_DIR_CHECK_S: Final = 5.0
EXIT_CRASHED: Final = 1
EXIT_USAGE: Final = 2
EXIT_LOCK_HELD: Final = 75
"""EX_TEMPFAIL of sysexits(3)"""


def main(name: str, settings_class: type[S], serve: Serve[S]) -> None:
    """Run one daemon; the last statement of each `services/<name>/__main__.py`. Ends the process.

    Reads arguments and settings, takes the lock RUN/NAME.lock, sets up logs, enters the bus and awaits
    `serve(context)`, which returns only when `context.stopping` is set (SIGTERM or SIGINT). Exit codes are in `--help`.
    """
    arguments = parse_arguments(name, _about(name))
    path = arguments.settings_file or settings_path(arguments.run_dir, name)
    try:
        settings = read_settings(path, settings_class, required=arguments.settings_file is not None)
        for service in Service:  # the peers' sockets are there, too
            endpoint(arguments.run_dir, service, Socket.PUBLISH)
    except Invalid as error:
        _leave(EXIT_USAGE, f"{name}: {error}")
    if arguments.check:
        _leave(0, f"{name}: the settings are right")
    setproctitle.setproctitle(f"python -m services.{name}")
    try:
        arguments.run_dir.mkdir(mode=0o755, parents=True, exist_ok=True)
        lock = ServiceLock(arguments.run_dir / f"{name}.lock")
        configure(
            log_format=arguments.log_format,
            level=arguments.log_level,
            file=arguments.run_dir / "log" / f"{name}.log",
        )
    except LockHeld as error:
        _leave(EXIT_LOCK_HELD, f"{name}: {error}")
    except OSError as error:
        _leave(EXIT_CRASHED, f"{name}: use run folder {arguments.run_dir}: {error}")
    with lock:
        code = _run(name, settings, serve, arguments)
        _leave(code)


def run_as_main(name: str, arguments: Sequence[str]) -> NoReturn:
    """Be `python -m services.NAME ARGUMENTS` in this process, a fresh fork that may have modules loaded already.

    The caller has restored signals and environment, and has no running event loop.
    """
    sys.argv[:] = [f"services/{name}/__main__.py", *arguments]
    runpy.run_module(f"services.{name}", run_name="__main__", alter_sys=True)
    os._exit(EXIT_CRASHED)  # `main` never returns


def _run(name: str, settings: S, serve: Serve[S], arguments: Arguments) -> int:
    """The event loop's life. Everything unexpected ends here, logged once."""
    log = get_logger(service=name)
    try:
        asyncio.Runner().run(_serve(name, settings, serve, arguments.run_dir))
    except Exception as error:  # the one boundary of the process
        leaves = list(_leaves(error))
        first = leaves[0]
        plain = all(isinstance(leaf, Fatal | Invalid) for leaf in leaves)
        log.error(
            "service.crashed",
            error=f"{type(first).__name__}: {first}",
            exc_info=None if plain else error,
            pid=os.getpid(),
        )
        return first.exit_code if isinstance(first, Fatal) else EXIT_CRASHED
    log.info("service.stopped", pid=os.getpid())
    return 0


async def _serve(name: str, settings: S, serve: Serve[S], run_dir: Path) -> None:
    loop = asyncio.get_running_loop()
    async with open_context(name, settings, run_dir) as context:
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, context.stopping.set)
        loop.set_exception_handler(lambda _, what: _report_callback(context.log, what))
        context.spawn("alive", _keep_alive(run_dir / f"{name}.alive"))
        context.spawn("run_dir", _watch_run_dir(run_dir / f"{name}.lock", context.log))
        context.log.info("service.started", pid=os.getpid(), run_dir=str(run_dir))
        gc.collect()
        gc.freeze()  # modules and start-up objects stay: no later collection looks at them
        await serve(context)
        if not context.stopping.is_set():
            raise TaskReturned(f"serve of {name} returned without being told to stop")


async def _keep_alive(path: Path) -> None:
    """Touch a file each second: its age says for how long this event loop has been stuck (the supervisor ends it at 30 s)."""
    while True:
        try:
            os.utime(path)
        except FileNotFoundError:
            path.touch(mode=0o600)
        now = asyncio.get_running_loop().time()
        await asyncio.sleep(next_beat_mono(now) - now)  # with the bus's heartbeat, so as to wake up once for both


async def _watch_run_dir(lock: Path, log: FilteringBoundLogger) -> None:
    """Say once that somebody removed the run folder. To end would be worse: what runs can still do its work."""
    while lock.exists():
        await asyncio.sleep(RUN_DIR_CHECK_S)
    text = "start octolet again: until then daemons that restart stay away, and no command finds this one"
    log.error("run_dir.removed", path=str(lock.parent), text=text)
    await asyncio.Event().wait()


def _report_callback(log: FilteringBoundLogger, what: dict[str, Any]) -> None:
    """asyncio's last resort for what nobody awaited: libraries end up here too, so it does not end the process."""
    log.error("callback.failed", text=str(what.get("message")), exc_info=what.get("exception"))


def _leaves(error: BaseException) -> list[BaseException]:
    if isinstance(error, BaseExceptionGroup):
        return [leaf for inner in error.exceptions for leaf in _leaves(inner)]
    return [error]


def _about(name: str) -> str:
    """What the service's package says of itself, for `--help`."""
    return (importlib.import_module(f"services.{name}").__doc__ or f"The {name} daemon.").strip()


def _leave(code: int, text: str = "") -> NoReturn:
    """End the process now: no exit handlers, no waiting for threads that hang in a system call."""
    if text:
        with contextlib.suppress(OSError):  # the reader of the pipe may be gone
            print(text, file=sys.stderr, flush=True)
    os._exit(code)
