"""Which pod goes first. Pure. Source: upstream `eviction` (rankMemoryPressure, rankDiskPressureFunc, rankPIDPressure)."""

from collections.abc import Iterable
from typing import Final

from services.eviction.pressure.disk import used_on
from services.eviction.pressure.model import SIGNALS, Candidate
from shared.kube.eviction_thresholds import PID_AVAILABLE
from shared.kube.pods import effective_requests, is_critical
from shared.kube.quantity import InvalidQuantity, value

_STORAGE: Final = "ephemeral-storage"


def rank(candidates: Iterable[Candidate], signal: str, *, dedicated_imagefs: bool) -> list[Candidate]:
    """The pods in the order in which they would be evicted for that signal. The order of equals is kept."""
    if signal == PID_AVAILABLE:
        return sorted(candidates, key=lambda c: (_priority(c), -c.use.processes if c.use is not None else 0))
    return sorted(candidates, key=lambda c: _order(c, signal, dedicated_imagefs))


def _order(candidate: Candidate, signal: str, dedicated_imagefs: bool) -> tuple[bool, bool, int, int]:
    """No figures first, then over its request, then low priority, then most beyond its request."""
    resource = SIGNALS[signal].resource
    used = _used(candidate, signal, dedicated_imagefs)
    if used is None:
        return (False, False, _priority(candidate), 0)
    # Upstream takes the storage request off the inode count as well; whether it exceeds is asked of a request of 0.
    requested = request_of(candidate, "memory" if resource == "memory" else _STORAGE)
    exceeds = used > (0 if resource == "inodes" else requested)
    return (True, not exceeds, _priority(candidate), -(used - requested))


def _used(candidate: Candidate, signal: str, dedicated_imagefs: bool) -> int | None:
    if SIGNALS[signal].is_memory:
        return candidate.use.memory_bytes if candidate.use is not None else None
    amounts = used_on(candidate, signal, dedicated_imagefs=dedicated_imagefs)
    if amounts is None:
        return None
    return amounts.inodes if SIGNALS[signal].resource == "inodes" else amounts.bytes


def request_of(candidate: Candidate, resource: str) -> int:
    """The whole pod's request; 0 where it has none, or none that can be read."""
    try:
        return value(effective_requests(candidate.pod).get(resource, "0"))
    except InvalidQuantity:
        return 0


def _priority(candidate: Candidate) -> int:
    return candidate.pod.spec.priority or 0


def may_be_evicted(candidate: Candidate) -> bool:
    """Static, mirror and system critical pods stay (upstream IsCriticalPod)."""
    return not is_critical(candidate.pod)
