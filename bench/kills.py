"""How long after kill -9 each daemon is ready again, read off the bus by a subscriber of its own."""

import asyncio
import os
import signal
import time
from pathlib import Path

from shared.bus import Bus, TableView
from shared.messages.base import Service
from shared.messages.daemon import DAEMON, DaemonState

PAUSE_S = 1.0
"""between two kills, so that each finds a settled node; longer than the plugin's first three immediate restarts need"""
PATIENCE_S = 30.0


def measure_kills(run_dir: Path, *, rounds: int) -> dict[str, list[float]]:
    """Seconds by daemon, `rounds` of each, one after another."""
    return asyncio.run(_measure(run_dir, rounds))


async def _measure(run_dir: Path, rounds: int) -> dict[str, list[float]]:
    took: dict[str, list[float]] = {name: [] for name in Service}
    async with Bus(service="bench", run_dir=run_dir) as bus:
        views = {name: bus.follow(DAEMON, owner=name) for name in Service}
        for name, view in views.items():
            await _wait_ready(view, name, old_pid=0)
        for _ in range(rounds):
            for name, view in views.items():
                row = view.get(name)
                assert row is not None
                old = row.pid
                started = time.monotonic()
                os.kill(old, signal.SIGKILL)
                await _wait_ready(view, name, old_pid=old)
                took[name].append(time.monotonic() - started)
                await asyncio.sleep(PAUSE_S)
    return took


async def _wait_ready(view: TableView[DaemonState], name: str, *, old_pid: int) -> None:
    """Returns when the daemon says ready under another pid. Raises TimeoutError."""

    def is_back(rows: TableView[DaemonState]) -> bool:
        row = rows.get(name)
        return row is not None and row.ready and row.pid != old_pid

    if not await view.wait(is_back, timeout_s=PATIENCE_S):
        raise TimeoutError(f"{name} is not ready after {PATIENCE_S} s")
