"""What must be so on this machine before anything is started: one clear sentence for each thing that is not.

A container runtime that is not there is not among them: the daemons wait for it.
"""

import ipaddress
import os
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from shared.bus.endpoints import Socket, endpoint
from shared.cgroups.mounts import Hierarchies, parse_mountinfo
from shared.cgroups.names import KUBEPODS, CgroupName, Driver
from shared.config import Config
from shared.errors import Fatal, OctoletError
from shared.messages.base import Service
from shared.supervision.layout import lock_path, supervisor_lock
from shared.supervision.locks import holder, is_held
from shared.supervision.notify import WatchdogTooShort, notifier_from_environment

_ROOT_UID: Final = 0


def problems(config: Config, run_dir: Path) -> list[str]:
    """Everything that forbids a start. Looks only, changes nothing."""
    found = [*_check_user(), *_check_watchdog(), *_check_run_dir(run_dir)]
    if not found:
        found = [*_check_supervisor(run_dir), *_check_ports(config, run_dir)]
    return [*found, *_check_host(config, run_dir)]


def _check_user() -> Iterator[str]:
    if os.geteuid() != _ROOT_UID:
        yield f"octolet needs to run as uid 0 (root). It is being run as {os.geteuid()}"


def _check_watchdog() -> Iterator[str]:
    try:
        notifier_from_environment()
    except WatchdogTooShort as error:
        yield str(error)


def _check_run_dir(run_dir: Path) -> Iterator[str]:
    for daemon in Service:
        try:
            endpoint(run_dir, daemon, Socket.PUBLISH)
        except OctoletError as error:
            yield str(error)
            return
    if run_dir.exists() and not run_dir.is_dir():
        yield f"run directory {run_dir} is not a directory"
    elif run_dir.is_dir() and run_dir.stat().st_uid != os.geteuid():
        yield f"run directory {run_dir} belongs to uid {run_dir.stat().st_uid}, it must be ours alone"


def _check_supervisor(run_dir: Path) -> Iterator[str]:
    lock = supervisor_lock(run_dir)
    if is_held(lock):
        pid = holder(lock)
        who = f"pid {pid}" if pid else "another process"
        yield f"octolet runs already in {run_dir} ({who}); `octolet stop` ends it, or choose another --run-dir"


def _check_ports(config: Config, run_dir: Path) -> Iterator[str]:
    if is_held(lock_path(run_dir, Service.SERVER)):
        return  # our own server, left by a supervisor that was killed: it is replaced, port and all
    values = config.values
    wanted = [("healthzPort", values["healthzBindAddress"], values["healthzPort"])]
    if values["enableServer"]:
        wanted.append(("port", values["address"], values["port"]))
    wanted.append(("readOnlyPort", values["address"], values.get("readOnlyPort", 0)))
    for name, address, port in wanted:
        reason = _cannot_listen(address, port) if port else ""
        if reason:
            yield f"cannot listen on {address}:{port} ({name}): {reason}; is another node agent running?"


def _cannot_listen(address: str, port: int) -> str:
    family = socket.AF_INET6 if ipaddress.ip_address(address).version == 6 else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((address, port))
            probe.listen(1)
        except OSError as error:
            return (error.strerror or str(error)).lower()
    return ""


def _check_host(config: Config, run_dir: Path) -> Iterator[str]:
    values = config.values
    if values["failSwapOn"] and _swap_is_on():
        yield "running with swap on is not supported, please disable swap or set --fail-swap-on flag to false"
    driver = Driver.SYSTEMD if values["cgroupDriver"] == "systemd" else Driver.CGROUPFS
    try:
        hierarchies = parse_mountinfo(Path("/proc/self/mountinfo").read_text(), driver=driver)
    except Fatal as error:
        yield str(error)
        return
    if hierarchies.version == 1 and values["failCgroupV1"]:
        yield (
            "octolet is configured to not run on a host using cgroup v1. cgroup v1 support is unsupported and will be "
            "removed in a future release (failCgroupV1: false allows it)"
        )
    yield from _check_pods_group(config, hierarchies, run_dir)


def _swap_is_on() -> bool:
    try:
        return len(Path("/proc/swaps").read_text().splitlines()) > 1
    except OSError:
        return False


def _check_pods_group(config: Config, hierarchies: Hierarchies, run_dir: Path) -> Iterator[str]:
    """Two agents on one `kubepods` group would remove each other's pods; container_manager holds a lock on it."""
    if is_held(lock_path(run_dir, Service.CONTAINER_MANAGER)):
        return  # our own, about to be replaced
    parts = [part for part in config.values["cgroupRoot"].split("/") if part]
    if hierarchies.driver is Driver.SYSTEMD:
        parts = [part.removesuffix(".slice") for part in parts]
    try:
        group = hierarchies.directory(CgroupName((*parts, KUBEPODS)), "memory")
    except OctoletError:
        return
    if is_held(group):
        pid = holder(group)
        who = f"pid {pid}" if pid else "another octolet"
        yield f"cgroup {group} is managed by {who}; choose another --cgroup-root or stop that one"
