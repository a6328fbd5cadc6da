"""Keeps one worker per pod, container and kind of probe, feeds its machine and carries out what it asks for."""

import asyncio
from collections.abc import Callable, Coroutine, Iterable
from dataclasses import dataclass
from typing import Any, Final, Protocol

from services.prober.core import due_at, step
from services.prober.model import (
    Event,
    GateOpened,
    Kind,
    NotRunning,
    Poke,
    Publish,
    Ran,
    Running,
    RunProbe,
    Stop,
    Tick,
    Verdict,
    Worker,
    WorkerKey,
)
from services.prober.pods import Wanted, timing_of
from services.prober.ports import Asker, Finding
from services.prober.results import Results
from services.prober.targets import target_of
from shared.errors import Invalid, Transient
from shared.messages.pleg import ContainerState
from shared.messages.prober import ProbeOutcome

ATTEMPTS: Final = 3
"""how often a probe that ends in an error is run at once (upstream `prober`: maxProbeRetries)"""
YOUNG_S: Final = 10.0
"""a container that started no longer than this before the daemon, and of which nothing is known, counts as new
(upstream `prober.worker`: the kubelet restart grace)"""


class Pods(Protocol):
    """What is known of pods besides their spec."""

    def container(self, uid: str, name: str) -> ContainerState | None:
        """The newest container of that name."""
        ...

    def had_started(self, uid: str, name: str, container_id: str) -> bool: ...

    def address(self, uid: str) -> str: ...


class Report(Protocol):
    """Who is told of every single probe."""

    def probed(self, worker: Wanted, finding: Finding, duration_s: float) -> None: ...

    def ended(self, worker: Wanted) -> None:
        """This worker's figures are not wanted any more."""
        ...


@dataclass(frozen=True)
class Clocks:
    """`mono` and `wall` seconds, `chance` in [0, 1), and when this daemon started by the wall clock."""

    mono: Callable[[], float]
    wall: Callable[[], float]
    chance: Callable[[], float]
    started_at: float


@dataclass
class _Slot:
    wanted: Wanted
    worker: Worker
    timer: asyncio.TimerHandle | None = None


class Workers:
    """All workers. Methods run in the event loop; each probe is a task, so that a slow one delays nobody else."""

    def __init__(
        self,
        asker: Asker,
        pods: Pods,
        *,
        results: Results,
        report: Report,
        start: Callable[[Coroutine[Any, Any, None]], object],
        clocks: Clocks,
    ) -> None:
        self._asker = asker
        self._pods = pods
        self._results = results
        self._report = report
        self._start = start
        self._clocks = clocks
        self._slots: dict[WorkerKey, _Slot] = {}
        self._by_pod: dict[str, set[WorkerKey]] = {}

    def __len__(self) -> int:
        return len(self._slots)

    def worker(self, key: WorkerKey) -> Worker | None:
        slot = self._slots.get(key)
        return None if slot is None else slot.worker

    def pod_changed(self, uid: str, wanted: dict[WorkerKey, Wanted]) -> None:
        """These are the pod's workers now, or its containers are others. Startup probes come first: they open the gates."""
        for key in sorted(self._by_pod.get(uid, set()) - wanted.keys()):
            self._end(key)
        for key, one in wanted.items():
            if key not in self._slots:
                self._slots[key] = _Slot(one, Worker(key.kind, timing_of(one.probe)))
                self._by_pod.setdefault(uid, set()).add(key)
        for key in sorted(wanted, key=lambda k: (k.container, k.kind is not Kind.STARTUP)):
            self._feed(key, self._sight(self._slots[key].wanted))

    def poke(self, uid: str) -> None:
        """The pod's status was made anew: ask at once whoever is not ready (upstream `prober_manager.UpdatePodStatus`)."""
        for key in list(self._by_pod.get(uid, ())):
            if key.kind is Kind.READINESS:
                self._feed(key, Poke())

    def close(self) -> None:
        """Ask nothing more. Outcomes stay as they are."""
        for slot in self._slots.values():
            if slot.timer is not None:
                slot.timer.cancel()

    def _end(self, key: WorkerKey) -> None:
        self._feed(key, Stop())
        slot = self._slots.pop(key)
        self._by_pod[key.pod_uid].discard(key)
        if not self._by_pod[key.pod_uid]:
            del self._by_pod[key.pod_uid]
        self._report.ended(slot.wanted)

    def _sight(self, wanted: Wanted) -> Event:
        """What the worker sees of its container now."""
        uid, name, kind = wanted.key.pod_uid, wanted.key.container, wanted.key.kind
        container = self._pods.container(uid, name)
        if container is None or container.state != "running":
            return NotRunning(container.id if container is not None else "")
        started_at = container.started_at_ns / 1e9
        known = self._results.get(container.id, kind)
        old = known is not None or started_at < self._clocks.started_at - YOUNG_S
        if old and kind is Kind.STARTUP and known in (None, ProbeOutcome.UNKNOWN):
            known = ProbeOutcome.SUCCESS if self._pods.had_started(uid, name, container.id) else known
        # Many are spread after a start of the daemon, but nobody waits who is waited for: what has not started, is not ready.
        settled = kind is Kind.LIVENESS or (kind is Kind.READINESS and known in (None, ProbeOutcome.SUCCESS))
        spread = settled and started_at < self._clocks.started_at
        return Running(
            container.id,
            self._clocks.mono() - (self._clocks.wall() - started_at),
            gated=kind is not Kind.STARTUP and wanted.has_startup_probe and not self._is_open(wanted, container.id),
            old=old,
            known=known,
            jitter_s=self._clocks.chance() * timing_of(wanted.probe).period_s if spread else 0.0,
        )

    def _is_open(self, wanted: Wanted, container_id: str) -> bool:
        if self._results.get(container_id, Kind.STARTUP) is ProbeOutcome.SUCCESS:
            return True
        # While a pod stops there is no startup worker that could say so.
        uid, name = wanted.key.pod_uid, wanted.key.container
        asked = WorkerKey(uid, name, Kind.STARTUP) in self._slots
        return not asked and self._pods.had_started(uid, name, container_id)

    def _feed(self, key: WorkerKey, event: Event) -> None:
        slot = self._slots[key]
        slot.worker, actions = step(slot.worker, event, self._clocks.mono())
        self._set_timer(key, slot)
        for action in actions:
            match action:
                case RunProbe(container_id):
                    self._start(self._probe(key, slot, container_id))
                case Publish(container_id, outcome):
                    self._publish(key, container_id, outcome)

    def _publish(self, key: WorkerKey, container_id: str, outcome: ProbeOutcome) -> None:
        self._results.set(key.pod_uid, key.container, container_id, {key.kind: outcome})
        if key.kind is Kind.STARTUP and outcome is ProbeOutcome.SUCCESS:
            for kind in (Kind.LIVENESS, Kind.READINESS):
                gated = WorkerKey(key.pod_uid, key.container, kind)
                if gated in self._slots:
                    self._feed(gated, GateOpened(container_id))

    def _set_timer(self, key: WorkerKey, slot: _Slot) -> None:
        if slot.timer is not None:
            slot.timer.cancel()
            slot.timer = None
        at = due_at(slot.worker)
        if at is not None:
            delay = max(0.0, at - self._clocks.mono())
            slot.timer = asyncio.get_running_loop().call_later(delay, self._feed, key, Tick())

    async def _probe(self, key: WorkerKey, slot: _Slot, container_id: str) -> None:
        wanted = slot.wanted
        began = self._clocks.mono()
        finding = Finding(Verdict.UNKNOWN)
        for _ in range(ATTEMPTS):
            finding = await self._ask(wanted, container_id)
            if not finding.error:
                break
        if self._slots.get(key) is not slot:
            return
        self._report.probed(wanted, finding, self._clocks.mono() - began)
        self._feed(key, Ran(container_id, Verdict.UNKNOWN if finding.error else finding.verdict))

    async def _ask(self, wanted: Wanted, container_id: str) -> Finding:
        try:
            target = target_of(wanted.probe, wanted.container, self._pods.address(wanted.key.pod_uid))
        except (Invalid, Transient) as e:
            return Finding(Verdict.UNKNOWN, str(e), error=True)
        return await self._asker.ask(target, container_id, timing_of(wanted.probe).timeout_s)


def gone(current: Iterable[str]) -> Callable[[str, object], bool]:
    """For `Results.drop`: whatever is not among these container ids."""
    kept = frozenset(current)
    return lambda container_id, _: container_id not in kept
