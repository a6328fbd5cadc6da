"""Which thresholds are met, which conditions follow, and what is to be reclaimed. Pure.

    signal below its threshold ──► condition at once ──► grace over, sample new ──► reclaim
    signal above it again ──► condition stays for the transition period
                          ──► reclaim goes on until the minimum reclaim is free too

Source: upstream `eviction` (managerImpl.synchronize and its helpers).
"""

from collections.abc import Iterable, Mapping
from typing import Final

from services.eviction.pressure.model import SIGNALS, Decision, Observation, State, key_of
from shared.kube.eviction_thresholds import (
    ALLOCATABLE_MEMORY_AVAILABLE,
    MEMORY_AVAILABLE,
    Threshold,
)

HARD_GRACE_S: Final = 1
"""grace of pods that go at once (upstream `eviction`: immediateEvictionGracePeriodSeconds)"""


def with_allocatable(thresholds: Iterable[Threshold], *, pods_enforced: bool) -> list[Threshold]:
    """The thresholds that are watched: hard memory ones count for the pods' group too when that is limited."""
    watched = [t for t in thresholds if t.signal in SIGNALS]
    if pods_enforced:
        watched += [
            Threshold(ALLOCATABLE_MEMORY_AVAILABLE, t.value, t.grace_s, t.min_reclaim)
            for t in watched
            if t.is_hard and t.signal == MEMORY_AVAILABLE
        ]
    return watched


def is_met(threshold: Threshold, seen: Observation, *, with_min_reclaim: bool = False) -> bool:
    """Whether less is available than the threshold, or than the threshold and what must be free beyond it."""
    quantity = threshold.value.of(seen.capacity)
    if with_min_reclaim and threshold.min_reclaim is not None:
        quantity += threshold.min_reclaim.of(seen.capacity)
    return quantity > seen.available


def is_any_met(thresholds: Iterable[Threshold], observations: Mapping[str, Observation]) -> bool:
    """Whether something is still to be reclaimed, minimum reclaim included (upstream, after node-level reclaim)."""
    return any(is_met(t, observations[t.signal], with_min_reclaim=True) for t in thresholds if t.signal in observations)


def step(
    state: State,
    thresholds: Iterable[Threshold],
    observations: Mapping[str, Observation],
    now_mono: float,
    *,
    transition_s: float,
) -> tuple[State, Decision]:
    """One pass. A signal that was not observed leaves what is known of its thresholds as it was."""
    known = {key_of(t): t for t in thresholds}
    met = {
        key: t
        for key, t in known.items()
        if (seen := observations.get(t.signal)) is not None
        and (is_met(t, seen) or (key in state.unresolved and is_met(t, seen, with_min_reclaim=True)))
    }
    blind = {key for key, t in known.items() if t.signal not in observations}
    first_met = {key: state.first_met.get(key, now_mono) for key in met}
    first_met |= {key: since for key, since in state.first_met.items() if key in blind}
    seen_now = {SIGNALS[t.signal].condition for t in met.values()}
    condition_seen = {
        name: at for name, at in state.condition_seen.items() if now_mono - at < transition_s
    } | dict.fromkeys(seen_now, now_mono)
    due = {key: t for key, t in met.items() if now_mono - first_met[key] >= t.grace_s}
    fresh = [t for t in due.values() if _is_new(observations[t.signal], state.sampled.get(t.signal))]
    unresolved = sorted({*due, *(key for key in state.unresolved if key in blind)})
    sampled = state.sampled | {signal: seen.sampled_mono for signal, seen in observations.items()}
    return (
        State(first_met=first_met, condition_seen=condition_seen, unresolved=unresolved, sampled=sampled),
        Decision(conditions=tuple(sorted(condition_seen)), reclaim=tuple(sorted(fresh, key=_urgency))),
    )


def _is_new(seen: Observation, acted_on: float | None) -> bool:
    return acted_on is None or seen.sampled_mono > acted_on


def _urgency(threshold: Threshold) -> tuple[bool, bool]:
    """Memory before all else, since it is what cannot be waited for; then hard ones before soft ones."""
    return (not SIGNALS[threshold.signal].is_memory, not threshold.is_hard)


def grace_of(threshold: Threshold, pod_grace_s: int | None, max_pod_grace_s: int) -> int:
    """Seconds that an evicted pod gets: hardly any past a hard threshold, its own up to a maximum past a soft one."""
    if threshold.is_hard:
        return HARD_GRACE_S
    return max_pod_grace_s if pod_grace_s is None else min(max_pod_grace_s, pod_grace_s)
