"""Rotates logs of running containers. Source: upstream `logs` (containerLogManager.rotateLog)."""

import asyncio
import contextlib
import gzip
import shutil
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

from structlog.typing import FilteringBoundLogger

from services.eviction.logs.core import COMPRESSED, TEMPORARY, TIME_FORMAT, plan_rotation
from services.eviction.metrics import EvictionMetrics
from shared.bus import TableView
from shared.errors import OctoletError
from shared.messages.pleg import RuntimePod

Reopen = Callable[[str], Awaitable[None]]
"""tells the runtime to write that container's log to a new file"""


class LogRotator:
    """`max_size_bytes` below 0 switches it off."""

    def __init__(
        self,
        runtime: TableView[RuntimePod],
        reopen: Reopen,
        *,
        max_size_bytes: int,
        max_files: int,
        observers: tuple[EvictionMetrics, FilteringBoundLogger],
    ) -> None:
        self._runtime = runtime
        self._reopen = reopen
        self._max_size = max_size_bytes
        self._max_files = max_files
        self._metrics, self._log = observers

    async def rotate_all(self, workers: int) -> None:
        """One look at the log of every running container. One log that cannot be rotated is told and passed over."""
        if self._max_size < 0:
            return
        queue = [
            (c.id, Path(c.log_path))
            for p in self._runtime.values()
            for c in p.containers
            if c.state == "running" and c.log_path
        ]
        grown = await asyncio.to_thread(self._find_due, queue)
        gate = asyncio.Semaphore(max(1, workers))

        async def one(container_id: str, log: Path) -> None:
            async with gate:
                try:
                    await self._rotate(container_id, log)
                except (OctoletError, OSError) as error:
                    self._log.warning("log.rotation_failed", container_id=container_id, path=str(log), error=str(error))

        async with asyncio.TaskGroup() as tasks:
            for container_id, log in grown:
                tasks.create_task(one(container_id, log))

    def _find_due(self, queue: list[tuple[str, Path]]) -> list[tuple[str, Path]]:
        """Those that are too long, or not there: the runtime is then asked to make them."""
        due = []
        for container_id, log in queue:
            try:
                size = log.stat().st_size
            except FileNotFoundError:
                due.append((container_id, log))
            except OSError:
                continue
            else:
                if size >= self._max_size:
                    due.append((container_id, log))
        return due

    async def _rotate(self, container_id: str, log: Path) -> None:
        if not log.exists():
            if log.parent.is_dir():
                await self._reopen(container_id)
            return
        await asyncio.to_thread(prepare, log, self._max_files)
        rotated = await asyncio.to_thread(rename, log, time.localtime())
        try:
            await self._reopen(container_id)
        except OctoletError:
            # The runtime still writes to the renamed file: give it its name back, unless there is a new one already.
            with contextlib.suppress(OSError):
                if not log.exists():
                    await asyncio.to_thread(rotated.rename, log)
            raise
        self._metrics.rotations.inc()
        self._log.info("log.rotated", container_id=container_id, path=str(log))


def prepare(log: Path, max_files: int) -> None:
    """Make room for one more rotated log, and compress the last. Blocks. May be cut off anywhere: a repeat goes on."""
    plan = plan_rotation(log.name, [p.name for p in log.parent.iterdir()], max_files)
    for name in plan.remove:
        (log.parent / name).unlink(missing_ok=True)
    for name in plan.compress:
        compress(log.parent / name)


def compress(path: Path) -> None:
    """Replace a file by its compressed form with the same mode."""
    temporary = path.with_name(path.name + TEMPORARY)
    with path.open("rb") as source, gzip.open(temporary, "wb", compresslevel=6) as target:
        shutil.copyfileobj(source, target, 1 << 20)
    temporary.chmod(path.stat().st_mode & 0o7777)
    temporary.rename(path.with_name(path.name + COMPRESSED))
    path.unlink()


def rename(log: Path, now: time.struct_time) -> Path:
    """Move the log aside under a name with the time. Never over another log."""
    target = log.with_name(f"{log.name}.{time.strftime(TIME_FORMAT, now)}")
    if target.exists() or target.with_name(target.name + COMPRESSED).exists():
        raise FileExistsError(f"rotate log {log}: {target.name} is there already")
    log.rename(target)
    return target
