"""Asks daemons whether they are ready: one snapshot of each one's `daemon` table, without an event loop.

This speaks the bus' frames itself (see `shared.bus.wire`): loading the whole bus would take longer than the question, and
`octolet ready` is run in loops. A test asks a real bus, so that the two cannot drift apart.
"""

import os
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import msgpack  # type: ignore[import-untyped]
import zmq

from shared.supervision.locks import is_held

SERVICES: Final = (
    "pod_sync",
    "pleg",
    "volume_manager",
    "container_manager",
    "eviction",
    "prober",
    "node_status",
    "server",
)
_FORMAT_VERSION: Final = 1
_FETCH: Final = 6
_SNAPSHOT: Final = 7
_LOOK_AGAIN_S: Final = 0.02


@dataclass(frozen=True)
class Answer:
    """What is known of one daemon. `state` is its own row of the `daemon` table, None when it did not answer."""

    service: str
    running: bool
    state: dict[str, Any] | None = None

    @property
    def ready(self) -> bool:
        return self.running and self.state is not None and bool(self.state.get("ready"))

    @property
    def text(self) -> str:
        """One word or two for people."""
        if self.ready:
            return "ready"
        if not self.running:
            return "not running"
        return "no answer" if self.state is None else "not ready"


def is_running(run_dir: Path, service: str) -> bool:
    """Whether a living process holds the service's lock."""
    return is_held(run_dir / f"{service}.lock")


def ask(run_dir: Path, services: tuple[str, ...], *, timeout_s: float) -> dict[str, Answer]:
    """Ask all at once and wait until all have answered or time is up. A daemon that is not running is not waited for."""
    answers = {service: Answer(service, is_running(run_dir, service)) for service in services}
    waiting = {service for service, answer in answers.items() if answer.running}
    context = zmq.Context()
    try:
        poller = zmq.Poller()
        sockets = {_connect(context, run_dir, service): service for service in waiting}
        for socket in sockets:
            poller.register(socket, zmq.POLLIN)
        end = time.monotonic() + timeout_s
        while waiting and (left := end - time.monotonic()) > 0:
            for socket, _ in poller.poll(int(left * 1000) + 1):
                service = sockets[socket]
                answers[service] = Answer(service, True, _state(socket.recv_multipart(), service))
                waiting.discard(service)
    finally:
        context.destroy(linger=0)
    return answers


def wait_ready(run_dir: Path, services: tuple[str, ...], *, wait_s: float) -> dict[str, Answer]:
    """Ask until all are ready or `wait_s` have passed; at least once."""
    end = time.monotonic() + wait_s
    answers: dict[str, Answer] = {}
    while True:
        asked = tuple(service for service in services if not (service in answers and answers[service].ready))
        answers |= ask(run_dir, asked, timeout_s=max(0.5, min(2.0, end - time.monotonic())))
        if all(answer.ready for answer in answers.values()) or time.monotonic() >= end:
            return answers
        time.sleep(_LOOK_AGAIN_S)


def _connect(context: zmq.Context[zmq.Socket[bytes]], run_dir: Path, service: str) -> zmq.Socket[bytes]:
    socket = context.socket(zmq.DEALER)
    socket.setsockopt(zmq.LINGER, 0)
    socket.setsockopt(zmq.RECONNECT_IVL, 10)
    socket.connect(f"ipc://{run_dir}/bus/{service}.req")
    now = time.monotonic()
    envelope = [_FORMAT_VERSION, _FETCH, "daemon", f"cli-{os.getpid()}-{now}", "cli", "", 0, "", now]
    socket.send_multipart([msgpack.packb(envelope)])
    return socket


def _state(frames: list[bytes], service: str) -> dict[str, Any] | None:
    """The service's own row in a snapshot; None for anything else."""
    try:
        if msgpack.unpackb(frames[0])[1] != _SNAPSHOT:
            return None
        rows = {key: row for chunk in frames[2:] for key, row in msgpack.unpackb(chunk)}
        row = rows.get(service)
        return dict(row) if row is not None else None
    except (ValueError, TypeError, IndexError, msgpack.UnpackException):
        return None
