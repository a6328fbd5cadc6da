"""One probe worker as a machine, without I/O (upstream `prober/worker`).

                        Running (gated)            GateOpened
    NoContainer ───────────────────────────> Gated ──────────┐
        │  ^                                                 v
        │  │              Running                        Scheduled <─────────── Ran: below the threshold,
        └──┼─────────────────────────────────────────────>   │                  or readiness, or liveness success
           │                                                 v Tick at its time
           │  NotRunning, from anywhere                   Probing
           └──────────────────                               │ Ran: liveness failure, or any startup verdict
                                                             v
    Running with another id: as from NoContainer           OnHold (until another container id)
    Stop, from anywhere: Ended

Initial outcomes: startup unknown, liveness success, readiness failure. A container that had started before this daemon did
gets none of these: it keeps what was known of it, or unknown, so that a restart here makes nobody unready. Events about a
container that is not the current one, and repeated ones, change nothing.
"""

from dataclasses import replace
from typing import Final

from services.prober.model import (
    Action,
    Ended,
    Event,
    Gated,
    GateOpened,
    Kind,
    NoContainer,
    NotRunning,
    OnHold,
    Poke,
    Probing,
    Publish,
    Ran,
    Running,
    RunProbe,
    Scheduled,
    Stop,
    Tally,
    Tick,
    Verdict,
    Worker,
)
from shared.messages.prober import ProbeOutcome

INITIAL: Final = {
    Kind.STARTUP: ProbeOutcome.UNKNOWN,
    Kind.LIVENESS: ProbeOutcome.SUCCESS,
    Kind.READINESS: ProbeOutcome.FAILURE,
}
"""upstream `prober.newWorker`"""

Step = tuple[Worker, list[Action]]


def step(worker: Worker, event: Event, now: float) -> Step:
    """Apply one event. `now` is monotonic seconds. Every event is legal in every state; one that is late changes nothing."""
    match worker.state, event:
        case Ended(), _:
            return worker, []
        case _, Stop():
            return replace(worker, state=Ended()), []
        case state, Running() as running if getattr(state, "container_id", "") != running.container_id:
            return _meet(worker, running, now)
        case _, NotRunning(container_id=container_id):
            return _lose(worker, container_id)
        case Gated(container_id, at), GateOpened(opened) if opened == container_id:
            return replace(worker, state=Scheduled(container_id, max(now, at), at)), []
        case Scheduled(container_id, at, _, tally), Tick() if at <= now:
            return replace(worker, state=Probing(container_id, now, tally)), [RunProbe(container_id)]
        case Scheduled(at_mono=at, not_before_mono=earliest) as scheduled, Poke() if (
            worker.outcome is not ProbeOutcome.SUCCESS
        ):
            return replace(worker, state=replace(scheduled, at_mono=min(at, max(now, earliest)))), []
        case Probing(container_id), Ran(ran_on, verdict) if ran_on == container_id:
            return _count(worker, worker.state, verdict, now)
        case _:
            return worker, []


def due_at(worker: Worker) -> float | None:
    """When to send a Tick, monotonic seconds; None: not before something else happens."""
    return worker.state.at_mono if isinstance(worker.state, Scheduled) else None


def _meet(worker: Worker, running: Running, now: float) -> Step:
    """A container that this worker has not seen running."""
    container_id = running.container_id
    earliest = running.started_mono + worker.timing.initial_delay_s
    at = max(now, earliest) + running.jitter_s
    outcome = (running.known or ProbeOutcome.UNKNOWN) if running.old else INITIAL[worker.kind]
    state: Gated | Scheduled | OnHold
    if _is_final(worker.kind, outcome):
        state = OnHold(container_id)
    elif running.gated:
        state = Gated(container_id, earliest)
    else:
        state = Scheduled(container_id, at, earliest)
    return _publish(replace(worker, state=state), container_id, outcome)


def _is_final(kind: Kind, outcome: ProbeOutcome) -> bool:
    """Whether nothing more is asked of a container with this outcome."""
    if kind is Kind.STARTUP:
        return outcome is not ProbeOutcome.UNKNOWN
    return kind is Kind.LIVENESS and outcome is ProbeOutcome.FAILURE


def _lose(worker: Worker, container_id: str) -> Step:
    """Only readiness of a dead container means something: that it is over."""
    lost = replace(worker, state=NoContainer())
    if worker.kind is Kind.READINESS and container_id and container_id == worker.outcome_of:
        return _publish(lost, container_id, ProbeOutcome.FAILURE)
    return lost, []


def _count(worker: Worker, probing: Probing, verdict: Verdict, now: float) -> Step:
    timing, container_id = worker.timing, probing.container_id
    next_at = max(now, probing.began_mono + timing.period_s)
    if verdict is Verdict.UNKNOWN:
        return replace(worker, state=Scheduled(container_id, next_at, tally=probing.tally)), []
    ok = verdict is not Verdict.FAILURE
    tally = Tally(ok, probing.tally.count + 1 if probing.tally.ok is ok else 1)
    if tally.count < (timing.success_threshold if ok else timing.failure_threshold):
        return replace(worker, state=Scheduled(container_id, next_at, tally=tally)), []
    outcome = ProbeOutcome.SUCCESS if ok else ProbeOutcome.FAILURE
    final = _is_final(worker.kind, outcome)
    state = OnHold(container_id) if final else Scheduled(container_id, next_at, tally=tally)
    return _publish(replace(worker, state=state), container_id, outcome)


def _publish(worker: Worker, container_id: str, outcome: ProbeOutcome) -> Step:
    """Set the outcome; say so only when it differs from what was said of this container."""
    if worker.outcome is outcome and worker.outcome_of == container_id:
        return worker, []
    return replace(worker, outcome=outcome, outcome_of=container_id), [Publish(container_id, outcome)]
