"""Crash-loop back-off: how long a container that keeps exiting waits before it is started again. Pure.

The delay is measured from when the container finished; the first restart is immediate. An entry that was not used for
600 s counts as expired and begins anew. Wall-clock seconds, because the runtime's finish times are. Source: upstream
`kuberuntime.doBackOff` and client-go `flowcontrol.Backoff`.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import msgspec

from shared.kube.types import Container, Pod

INITIAL_S: Final = 10.0
MAX_S: Final = 300.0
EXPIRES_S: Final = 600.0
"""fixed: it does not follow a lowered maximum"""


@dataclass(frozen=True)
class Limits:
    """`crashLoopBackOff.maxContainerRestartPeriod` lowers the maximum, and the initial delay with it."""

    initial_s: float = INITIAL_S
    max_s: float = MAX_S

    @classmethod
    def of(cls, max_s: float) -> "Limits":
        return cls(min(INITIAL_S, max_s), max_s)


class Entry(msgspec.Struct, frozen=True):
    """The delay that holds for the next restart, and when it was set; `after` is the end after which it was. Wall seconds."""

    delay_s: float
    updated_at: float
    after: float = 0.0


@dataclass(frozen=True)
class CrashLoops:
    """All entries by `backoff_key`."""

    entries: Mapping[str, Entry]

    def wait_until(self, key: str, finished_at: float, now: float) -> float | None:
        """The wall time before which it must not be started; None: start it now."""
        entry = self.entries.get(key)
        if entry is None or _expired(entry, finished_at):
            return None
        until = finished_at + entry.delay_s
        return until if now < until else None

    def delay_of(self, key: str) -> float:
        """The delay that holds for `key`, 0.0 without an entry."""
        entry = self.entries.get(key)
        return entry.delay_s if entry is not None else 0.0

    def started(self, key: str, finished_at: float, now: float, limits: Limits) -> "CrashLoops":
        """It is started again after it finished at `finished_at`: the next wait is twice as long."""
        entry = self.entries.get(key)
        fresh = entry is None or _expired(entry, finished_at)
        delay = limits.initial_s if entry is None or fresh else min(entry.delay_s * 2, limits.max_s)
        return CrashLoops({**self.entries, key: Entry(delay, now, finished_at)})

    def without_expired(self, now: float) -> "CrashLoops":
        """Without entries that were not used for twice the time after which they expire."""
        kept = {key: entry for key, entry in self.entries.items() if now - entry.updated_at <= 2 * EXPIRES_S}
        return self if len(kept) == len(self.entries) else CrashLoops(kept)


def backoff_key(pod: Pod, container: Container) -> str:
    """Changes with the image and the resources, so that a container that was mended starts at once."""
    resources = msgspec.json.encode(container.resources, order="sorted").decode()
    parts = (pod.metadata.name, pod.metadata.namespace, pod.metadata.uid, container.name, container.image, resources)
    return hashlib.sha256("/".join(parts).encode()).hexdigest()[:16]


def _expired(entry: Entry, finished_at: float) -> bool:
    return finished_at - entry.updated_at > EXPIRES_S
