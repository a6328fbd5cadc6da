"""systemd's notification protocol (sd_notify(3)): ready, stopping, and the watchdog's heartbeat.

The supervisor is the unit's main process, so it alone may speak, and it speaks for all: a supervisor whose loop stands
is restarted by systemd, a daemon whose loop stands by the supervisor.
"""

import contextlib
import os
import socket
from collections.abc import Mapping
from typing import Final

VARIABLES: Final = ("NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID")
SHORTEST_WATCHDOG_S: Final = 1.0
"""a watchdog of this time or less is refused (upstream `kubelet/watchdog`)"""


class WatchdogTooShort(ValueError):
    """The unit asks for heartbeats faster than can be promised."""


class Notifier:
    """Speaks to the service manager, if there is one; otherwise does nothing."""

    def __init__(self, environment: Mapping[str, str], pid: int) -> None:
        """Reads the variables that systemd sets. Raises WatchdogTooShort."""
        self._address = environment.get("NOTIFY_SOCKET", "")
        self._period_s = _watchdog_s(environment, pid) / 2
        self._next_mono = 0.0
        self._said: set[str] = set()

    def ready(self) -> None:
        """Say once that the daemons were started."""
        self._say_once("READY=1")

    def stopping(self) -> None:
        """Say once that a stop was asked for."""
        self._say_once("STOPPING=1")

    def beat(self, now: float) -> None:
        """The loop turned; tells the watchdog when that is due. `now` is monotonic."""
        if self._period_s and now >= self._next_mono:
            self._next_mono = now + self._period_s
            self._send("WATCHDOG=1")

    @property
    def next_mono(self) -> float | None:
        """When the next heartbeat is due."""
        return self._next_mono if self._period_s else None

    def _say_once(self, text: str) -> None:
        if text not in self._said:
            self._said.add(text)
            self._send(text)

    def _send(self, text: str) -> None:
        if not self._address:
            return
        address = "\0" + self._address[1:] if self._address.startswith("@") else self._address
        with (
            contextlib.suppress(OSError),
            socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as sender,
        ):
            sender.sendto(text.encode(), address)


def _watchdog_s(environment: Mapping[str, str], pid: int) -> float:
    text = environment.get("WATCHDOG_USEC", "")
    if not text.isdigit() or environment.get("WATCHDOG_PID", str(pid)) != str(pid):
        return 0.0
    seconds = int(text) / 1_000_000
    if 0 < seconds <= SHORTEST_WATCHDOG_S:
        raise WatchdogTooShort(f"configure watchdog timeout too small: {seconds:g} s")
    return seconds


def without_notification(environment: Mapping[str, str]) -> dict[str, str]:
    """The environment for a child: what is said to systemd is not a daemon's affair."""
    return {name: value for name, value in environment.items() if name not in VARIABLES}


def notifier_from_environment() -> Notifier:
    """For this process."""
    return Notifier(os.environ, os.getpid())
