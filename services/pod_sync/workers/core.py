"""The pod worker's decisions: `first_sight` makes a worker, `step` moves it. See `model` for the picture.

Sources: upstream `pod_workers.UpdatePod`, `startPodSync`, `completeTerminating`, `completeTerminated`, `completeWork`.
Late and repeated events are legal and change nothing.
"""

import math
from dataclasses import replace
from typing import Final

from services.pod_sync.workers.model import (
    Action,
    Asked,
    BackingOff,
    Cancelled,
    CancelRun,
    Decision,
    Done,
    Ending,
    Event,
    Finished,
    FoundInRuntime,
    Idle,
    IllegalEvent,
    KillAsked,
    Life,
    NetworkNotReady,
    Observe,
    Observed,
    Observing,
    Orphaned,
    Outcome,
    PodSeen,
    Reached,
    Recalled,
    Record,
    RunEnded,
    Running,
    SeenAs,
    StartRun,
    SyncAsked,
    Syncing,
    Terminated,
    Terminating,
    TimerFired,
    TurnGiven,
    Unsettled,
    Waiting,
    Wake,
    Work,
    Worker,
)
from shared.kube.pods import is_static, pod_full_name
from shared.kube.types import Pod

RESYNC_S: Final = 60.0
"""default of `syncFrequency`: a pod is synced again after this long even if nothing happened"""
NETWORK_RETRY_S: Final = 1.0
ERROR_RETRY_S: Final = 10.0
UNSETTLED_RETRY_S: Final = 0.3
"""the first two: upstream `pod_workers`, backOffOnTransientErrorPeriod and backOffPeriod"""
JITTER: Final = 0.5
"""each delay is lengthened by up to this share of itself (upstream workerResyncIntervalJitterFactor)"""
ORPHAN_GRACE_S: Final = 1
"""grace of a pod that only the runtime knows: its own was never seen"""

_TERMINAL_PHASES: Final = frozenset({"Failed", "Succeeded"})

Step = tuple[Worker | None, list[Action]]


def effective_grace(current_s: int | None, pod: Pod | None, asked_s: int | None = None) -> tuple[int, bool]:
    """The grace period that now holds, and whether it became shorter than `current_s` (None: there was none yet).

    The least of what was stated: so far, by the API (deletionGracePeriodSeconds), by the caller; if nothing was, what
    the spec says. At least 1. Source: upstream `calculateEffectiveGracePeriod`.
    """
    deletion = pod.metadata.deletion_grace_period_seconds if pod is not None else None
    stated = [grace for grace in (current_s, deletion, asked_s) if grace is not None]
    own = (pod.spec.termination_grace_period_seconds if pod is not None else None) or 0
    grace = max(min(stated) if stated else own, 1)
    return grace, current_s is not None and grace < current_s


def first_sight(uid: str, event: Event, now: float, since_mono: float = 0.0) -> tuple[Worker, list[Action]]:
    """The worker of a UID that had none. Raises IllegalEvent for an event that cannot be the first.

    `since_mono` is when this process began: a listing from before may lack what its former life did last.
    """
    match event:
        case PodSeen(pod=pod):
            static = is_static(pod)
            worker = Worker(uid, pod_full_name(pod), static, pod, life=Syncing(), acted_mono=since_mono)
            if event.at_rest:
                grace, _ = effective_grace(None, pod)
                worker = replace(worker, life=Terminated(Ending(since_mono=now, grace_s=grace, passed=False)))
                return _want_run(worker)
            if static:
                return replace(worker, life=Waiting()), []
            return _take_pod(worker, pod, now)
        case FoundInRuntime(full_name=full_name, static=static):
            ending = Ending(since_mono=now, grace_s=ORPHAN_GRACE_S, passed=True, deleted=True)
            worker = Worker(uid, full_name, static, pod=None, life=Asked(ending), acted_mono=since_mono)
            return _want_run(worker)
        case Recalled(decision=decision):
            return _want_run(replace(_recalled(decision), acted_mono=since_mono))
        case _:
            raise IllegalEvent(f"first event of {uid}: {event}")


def step(worker: Worker, event: Event, now: float, resync_s: float = RESYNC_S) -> Step:
    """The worker after `event`; None when its record is dropped (a runtime-only pod that is gone)."""
    match event:
        case PodSeen():
            return _on_pod(worker, event, now)
        case SyncAsked():
            return _want_run(worker)
        case KillAsked():
            return _on_kill(worker, event, now)
        case Orphaned():
            return _on_orphaned(worker, now)
        case TurnGiven():
            return _on_turn(worker, now)
        case Observed(as_of_mono=as_of):
            if isinstance(worker.run, Observing) and as_of > worker.run.after_mono:
                return _begin_run(worker, now)
            return worker, []
        case TimerFired():
            due = isinstance(worker.run, Idle) and worker.run.wake_mono is not None and worker.run.wake_mono <= now
            return _want_run(worker) if due else (worker, [])
        case RunEnded():
            return _on_run_ended(worker, event, now, resync_s)
        case FoundInRuntime() | Recalled():
            return worker, []


def _on_pod(worker: Worker, event: PodSeen, now: float) -> Step:
    if not isinstance(worker.life, Waiting | Syncing) and event.kind is SeenAs.CREATE:
        still_there = event.first_list and worker.recalled and not worker.life.ending.dropped
        if not still_there:
            return replace(worker, restart_requested=True), []
        # After a start every pod comes as new; its source still having it is no wish to start it again.
        worker = replace(worker, recalled=False)
    if isinstance(worker.life, Finished) or worker.pod is None:
        return worker, []
    return _take_pod(replace(worker, pod=event.pod), event.pod, now)


def _take_pod(worker: Worker, pod: Pod, now: float) -> tuple[Worker, list[Action]]:
    """The newest configuration was stored; see whether it ends the pod or shortens its end."""
    deleted = pod.metadata.deletion_timestamp is not None
    terminal = pod.status.phase in _TERMINAL_PHASES
    if isinstance(worker.life, Waiting | Syncing):
        if deleted or terminal:
            grace, _ = effective_grace(None, pod)
            return _end(worker, Ending(since_mono=now, grace_s=grace, passed=True, deleted=deleted))
        return _want_run(worker)
    return _shorten(worker, asked_s=None, event=None, now=now)


def _on_kill(worker: Worker, event: KillAsked, now: float) -> Step:
    match worker.life:
        case Terminated() | Finished():
            return worker, []
        case Asked() | Terminating():
            return _shorten(worker, asked_s=event.grace_s, event=event, now=now)
        case Waiting() | Syncing():
            grace, _ = effective_grace(None, worker.pod, event.grace_s)
            ending = Ending(
                since_mono=now,
                grace_s=grace,
                passed=True,
                evicted=event.evict,
                dropped=event.dropped,
                override=event.override,
            )
            return _end(worker, ending)


def _on_orphaned(worker: Worker, now: float) -> Step:
    match worker.life:
        case Waiting() | Syncing():
            grace, _ = effective_grace(None, worker.pod)
            return _end(worker, Ending(since_mono=now, grace_s=grace, passed=False, deleted=True, dropped=True))
        case Asked(ending) | Terminating(ending) | Terminated(ending) if not ending.deleted:
            worker = replace(worker, life=type(worker.life)(replace(ending, deleted=True, dropped=True)))
            return _recorded(*_want_run(worker))
        case _:
            return worker, []


def _on_turn(worker: Worker, now: float) -> Step:
    if not isinstance(worker.life, Waiting):
        return worker, []
    assert worker.pod is not None  # only pods of a source wait for their turn
    return _take_pod(replace(worker, life=Syncing()), worker.pod, now)


def _end(worker: Worker, ending: Ending) -> tuple[Worker, list[Action]]:
    """Begin the end. A pod that never had its turn has nothing to stop (upstream `allowPodStart`)."""
    if isinstance(worker.life, Waiting):
        return replace(worker, life=Finished(ending), run=Idle()), []
    worker = replace(worker, life=Asked(ending))
    return _recorded(*_cancel_run(worker))


def _shorten(
    worker: Worker, *, asked_s: int | None, event: KillAsked | None, now: float
) -> tuple[Worker, list[Action]]:
    """A later word on an end that goes on: grace may shrink, the last status override wins, nothing else changes."""
    if not isinstance(worker.life, Asked | Terminating):
        return _want_run(worker)
    ending = worker.life.ending
    grace, shortened = effective_grace(ending.grace_s, worker.pod, asked_s)
    changed = ending
    if shortened:
        end = ending.grace_end_mono
        changed = replace(changed, grace_s=grace, passed=True, grace_end_mono=end and min(end, now + grace))
    if event is not None and event.override is not None:
        changed = replace(changed, override=event.override)
    if changed == ending:
        return _want_run(worker) if event is None else (worker, [])
    worker = replace(worker, life=type(worker.life)(changed))
    return _recorded(*_cancel_run(worker) if shortened else _want_run(worker))


def _cancel_run(worker: Worker) -> tuple[Worker, list[Action]]:
    match worker.run:
        case Running(cancelled=False, number=number):
            return replace(worker, run=replace(worker.run, again=True, cancelled=True)), [CancelRun(number)]
        case _:
            return _want_run(worker)


def _want_run(worker: Worker) -> tuple[Worker, list[Action]]:
    """Run as soon as the runtime was seen after the previous run; one run at a time, updates coalesce."""
    if isinstance(worker.life, Waiting | Finished):
        return worker, []
    match worker.run:
        case Running():
            return replace(worker, run=replace(worker.run, again=True)), []
        case Observing():
            return worker, []
        case Idle():
            return replace(worker, run=Observing(worker.acted_mono)), [Observe(worker.acted_mono)]


def _begin_run(worker: Worker, now: float) -> tuple[Worker, list[Action]]:
    number = worker.runs + 1
    actions: list[Action] = []
    life: Life = worker.life
    match life:
        case Asked(ending) | Terminating(ending):
            work = Work.TERMINATING
            end = ending.grace_end_mono if ending.grace_end_mono is not None else now + ending.grace_s
            ending = replace(ending, grace_end_mono=end)
            worker = replace(worker, life=Terminating(ending))
            left = max(1, min(ending.grace_s, math.floor(end - now)))
            grace = left if ending.passed else None
            start = StartRun(number, work, worker.pod, grace_s=grace, override=ending.override)
            worker, actions = _recorded(worker, [start])
        case Terminated(ending):
            work = Work.TERMINATED
            actions.append(StartRun(number, work, worker.pod, override=ending.override))
        case _:
            work = Work.SYNC
            actions.append(StartRun(number, work, worker.pod))
    return replace(worker, runs=number, run=Running(number, work)), actions


def _on_run_ended(worker: Worker, event: RunEnded, now: float, resync_s: float) -> Step:
    run = worker.run
    if not isinstance(run, Running) or run.number != event.number:
        return worker, []
    worker = replace(worker, run=Idle())
    if event.acted_mono is not None:
        worker = replace(worker, acted_mono=event.acted_mono)
    match run.work, event.outcome, worker.life:
        case Work.SYNC, Done(terminal=True), Syncing():
            grace, _ = effective_grace(None, worker.pod)
            ending = Ending(since_mono=now, grace_s=grace, passed=False)
            return _recorded(*_want_run(replace(worker, life=Terminating(ending))))
        case Work.TERMINATING, Done(), Terminating(ending):
            if worker.pod is None:
                return None, []
            return _recorded(*_want_run(replace(worker, life=Terminated(ending))))
        case Work.TERMINATED, Done(), Terminated(ending):
            return _recorded(replace(worker, life=Finished(ending)), [])
        case _:
            showing = isinstance(event.outcome, Done) and event.acted_mono is not None  # what was done is not seen yet
            if run.again or showing:
                return _want_run(worker)
            wake = now + requeue_delay(event.outcome, now, event.chance, resync_s)
            return replace(worker, run=Idle(wake)), [Wake(wake)]


def requeue_delay(outcome: Outcome, now: float, chance: float, resync_s: float = RESYNC_S) -> float:
    """Seconds until the next run when nothing else asks for one (upstream `completeWork`)."""
    match outcome:
        case Done():
            delay = resync_s
        case NetworkNotReady():
            delay = NETWORK_RETRY_S
        case BackingOff(until_mono=until):
            delay = min(max(until - now, 0.0), resync_s)
        case Unsettled():
            delay = UNSETTLED_RETRY_S
        case Cancelled():
            delay = 0.0
        case _:
            delay = ERROR_RETRY_S
    return delay * (1.0 + JITTER * chance)


def _recalled(decision: Decision) -> Worker:
    match decision.reached:
        case Reached.ASKED:
            life: Life = Asked(decision.ending)
        case Reached.STOPPED:
            life = Terminated(decision.ending)
        case Reached.FINISHED:
            life = Finished(decision.ending)
    return Worker(
        uid=decision.uid,
        full_name=decision.full_name,
        static=decision.static,
        pod=decision.pod,
        life=life,
        recalled=True,
    )


def _recorded(worker: Worker, actions: list[Action]) -> tuple[Worker, list[Action]]:
    """With the worker's end stored before anything else is done.

    An end that only the runtime knows of is not: after a crash it would be found there again.
    """
    if worker.pod is None:
        return worker, actions
    match worker.life:
        case Asked(ending) | Terminating(ending):
            reached = Reached.ASKED
        case Terminated(ending):
            reached = Reached.STOPPED
        case Finished(ending):
            reached = Reached.FINISHED
        case _:
            raise IllegalEvent(f"{worker.uid} has no end to record: {worker.life}")
    decision = Decision(worker.uid, worker.full_name, worker.static, worker.pod, ending, reached)
    return worker, [Record(decision), *actions]
