"""`octolet status [-o json]`: daemons and pods at a glance, read from the bus."""

import argparse
import asyncio
import json
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from shared.bus import Bus, TableView
from shared.cli.options import RUN_DIR_HELP, default_run_dir
from shared.cli.readiness import is_running
from shared.cli.supervisor_client import supervised_daemons
from shared.kube.types import PodStatus
from shared.messages.base import Service
from shared.messages.daemon import DAEMON, DaemonState
from shared.messages.pod_sync import POD_STATUS, PODS, PodEntry, PodStatusEntry

_PATIENCE_S: Final = 2.0
"""how long a daemon that runs may take to send its tables"""
_LONGEST_REASON: Final = 240
"""characters of a reason in the table; `-o json` has all"""


def main(argv: Sequence[str]) -> int:
    """Print the state of the node. Exit code 1 when a daemon is not ready."""
    parser = argparse.ArgumentParser(prog="octolet status", description=__doc__)
    parser.add_argument("-o", "--output", choices=["table", "json"], default="table")
    parser.add_argument("--run-dir", type=Path, default=default_run_dir(), help=RUN_DIR_HELP)
    given = parser.parse_args(argv)
    state = asyncio.run(gather(given.run_dir))
    if given.output == "json":
        print(json.dumps(state, indent=1))
    else:
        _print_tables(state)
    return 0 if all(daemon["ready"] for daemon in state["daemons"]) else 1


async def gather(run_dir: Path) -> dict[str, Any]:
    """Everything that is shown, as plain JSON."""
    running = {service: is_running(run_dir, service) for service in Service}
    if not any(running.values()) and not (run_dir / "bus").is_dir():
        return {"daemons": [_daemon_row(service, False, None, {}) for service in Service], "pods": []}
    async with Bus("cli", run_dir, bind=False) as bus:
        views = {service: bus.follow(DAEMON, owner=service) for service in Service if running[service]}
        entries, statuses = bus.follow(PODS), bus.follow(POD_STATUS)
        waits = [view.wait(lambda view: view.complete, timeout_s=_PATIENCE_S) for view in views.values()]
        if running[Service.POD_SYNC]:
            waits += [_arrived(entries), _arrived(statuses)]
        await asyncio.gather(*waits)
        supervised = supervised_daemons(run_dir)
        rows = {service: view.get(service) for service, view in views.items()}
        return {
            "daemons": [
                _daemon_row(service, running[service], rows.get(service), supervised.get(service, {}))
                for service in Service
            ],
            "pods": sorted(
                (_pod_row(uid, entry, statuses.get(uid)) for uid, entry in entries.items()),
                key=lambda row: (row["namespace"], row["name"]),
            ),
        }


async def _arrived(view: TableView[Any]) -> bool:
    return await view.wait(lambda view: view.in_step, timeout_s=_PATIENCE_S)


def _daemon_row(name: str, running: bool, state: DaemonState | None, supervised: dict[str, Any]) -> dict[str, Any]:
    return {
        "name": name,
        "ready": bool(running and state and state.ready),
        "running": running,
        "pid": state.pid if state else int(supervised.get("pid", 0)),
        "uptime_s": round(time.monotonic() - state.started_at_mono, 1) if state else 0.0,
        "restarts": max(0, int(supervised["starts"]) - 1) if supervised else None,
        "next_start_s": round(float(supervised.get("waiting_s", 0.0)), 1),
        "degraded": list(state.degraded) if state else [],
    }


def _pod_row(uid: str, entry: PodEntry, status: PodStatusEntry | None) -> dict[str, Any]:
    metadata, known = entry.pod.metadata, status.status if status else PodStatus()
    containers = known.container_statuses
    return {
        "namespace": metadata.namespace,
        "name": metadata.name,
        "uid": uid,
        "phase": known.phase or "Pending",
        "reason": known.reason or "",
        "ready": sum(container.ready for container in containers),
        "containers": len(entry.pod.spec.containers),
        "restarts": sum(container.restart_count for container in containers),
        "ip": known.pod_ip or "",
        "worker": str(entry.phase),
        "source": entry.source,
    }


def _print_tables(state: dict[str, Any]) -> None:
    from rich import box
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    console = Console()
    daemons = Table("DAEMON", "STATE", "PID", "UP", "RESTARTS", box=box.SIMPLE_HEAD)
    for row in state["daemons"]:
        daemons.add_row(
            row["name"],
            _daemon_text(row),
            str(row["pid"] or "-"),
            _span(row["uptime_s"]),
            "-" if row["restarts"] is None else str(row["restarts"]),
        )
    console.print(daemons)
    for row in state["daemons"]:
        for text in row["degraded"]:
            console.print(f"[yellow]{row['name']}[/]: {escape(_shortened(text))}", highlight=False, soft_wrap=True)
    pods = Table("NAMESPACE", "POD", "READY", "PHASE", "RESTARTS", "IP", box=box.SIMPLE_HEAD)
    for row in state["pods"]:
        ready = f"{row['ready']}/{row['containers']}"
        phase = row["reason"] or row["phase"]
        pods.add_row(row["namespace"], row["name"], ready, phase, str(row["restarts"]), row["ip"] or "-")
    console.print(pods if state["pods"] else "no pods")


def _daemon_text(row: dict[str, Any]) -> str:
    if not row["running"]:
        return f"[red]next start in {row['next_start_s']:g} s[/]" if row["next_start_s"] else "[red]not running[/]"
    if not row["ready"]:
        return "[yellow]not ready[/]"
    return "[yellow]degraded[/]" if row["degraded"] else "[green]ready[/]"


def _shortened(text: str) -> str:
    return text if len(text) <= _LONGEST_REASON else text[: _LONGEST_REASON - 3] + "..."


def _span(seconds: float) -> str:
    """Seconds in the form that `kubectl get` gives ages."""
    for unit, length in (("d", 86400), ("h", 3600), ("m", 60)):
        if seconds >= 2 * length:
            return f"{int(seconds // length)}{unit}"
    return f"{int(seconds)}s"
