"""States, events and actions of a pod worker.

A worker is the product of two machines: its *life*, which only moves forward, and its *run*, which cycles::

    life   Waiting ─► Syncing ─► Asked ─► Terminating ─► Terminated ─► Finished ─► (forgotten)
              │                                                           ▲
              └────────────── ended before it ever started ──────────────┘
    run    Idle ─► Observing ─► Running ─► Idle | Observing

Source: upstream `pod_workers` (`podSyncStatus` and `UpdatePod`), whose timestamps and booleans these classes replace.
All times are CLOCK_MONOTONIC seconds.
"""

from dataclasses import dataclass
from enum import StrEnum

from shared.kube.types import Pod


class Work(StrEnum):
    """What one run does; the life decides which."""

    SYNC = "sync"
    TERMINATING = "terminating"
    TERMINATED = "terminated"


class SeenAs(StrEnum):
    """How a source's pod came: new, changed, or as it was (something else about it changed)."""

    CREATE = "create"
    UPDATE = "update"
    SYNC = "sync"


@dataclass(frozen=True)
class StatusOverride:
    """What the pod's status says of an end for the node's sake (upstream's status callback).

    `disruption_message`, if set, adds condition DisruptionTarget with reason TerminationByKubelet.
    """

    phase: str
    reason: str
    message: str
    disruption_message: str = ""


@dataclass(frozen=True)
class Ending:
    """Everything that is known of a pod's end. Grace periods are whole seconds and only shrink.

    `grace_s` is the effective grace period; `passed` says whether the kill gets it as an override of what each
    container's own rules say (not when the sync itself returned terminal, nor when a started worker was orphaned).
    `grace_end_mono` is set when the first terminating run begins.
    """

    since_mono: float
    grace_s: int
    passed: bool
    evicted: bool = False
    deleted: bool = False
    dropped: bool = False
    """no source had it any more when or after its end began; a source that has it again wants it started anew"""
    override: StatusOverride | None = None
    grace_end_mono: float | None = None


@dataclass(frozen=True)
class Waiting:
    """A static pod whose full name another worker holds; nothing was done for it yet."""


@dataclass(frozen=True)
class Syncing:
    """It belongs here and may run."""


@dataclass(frozen=True)
class Asked:
    """Its end was asked for; a sync may still be on its way, no new one begins."""

    ending: Ending


@dataclass(frozen=True)
class Terminating:
    """No container of it will be started any more."""

    ending: Ending


@dataclass(frozen=True)
class Terminated:
    """No container of it runs. Volumes, cgroup and records are still there."""

    ending: Ending


@dataclass(frozen=True)
class Finished:
    """Cleaned up. Stays until no source has it, or until it is wanted again (then it is forgotten and made anew)."""

    ending: Ending


Life = Waiting | Syncing | Asked | Terminating | Terminated | Finished


@dataclass(frozen=True)
class Idle:
    """Nothing is due before `wake_mono` (None: nothing at all) unless an event comes."""

    wake_mono: float | None = None


@dataclass(frozen=True)
class Observing:
    """A run is due as soon as the runtime was listed after `after_mono`, the end of the last act of a run."""

    after_mono: float


@dataclass(frozen=True)
class Running:
    """Run number `number` is under way. `again`: something changed meanwhile; `cancelled`: it was told to stop."""

    number: int
    work: Work
    again: bool = False
    cancelled: bool = False


Run = Idle | Observing | Running


@dataclass(frozen=True)
class Worker:
    """One pod UID. `pod` is the newest configuration; None for a pod that only the runtime knows."""

    uid: str
    full_name: str
    static: bool
    pod: Pod | None
    life: Life
    run: Run = Idle()
    runs: int = 0
    acted_mono: float = 0.0
    """when a run last changed something in the runtime: what was listed before says nothing about now"""
    restart_requested: bool = False
    recalled: bool = False
    """made from a recorded decision, and no source has been heard about it yet"""


# Events


@dataclass(frozen=True)
class PodSeen:
    """A source has the pod. `at_rest`: its phase is terminal and the runtime shows nothing of it running.

    `first_list`: it was in the first list that its source delivered to this process, so it may have been there before.
    """

    kind: SeenAs
    pod: Pod
    at_rest: bool = False
    first_list: bool = False


@dataclass(frozen=True)
class SyncAsked:
    """Something that its run depends on changed: the runtime, a probe, a volume."""


@dataclass(frozen=True)
class KillAsked:
    """End it: its source dropped it, or the node needs it gone (`evict` or not). `grace_s` None: the pod's own."""

    grace_s: int | None = None
    evict: bool = False
    dropped: bool = False
    override: StatusOverride | None = None


@dataclass(frozen=True)
class FoundInRuntime:
    """The runtime has containers of a pod that no source knows; a static one holds its full name until it is gone."""

    full_name: str
    static: bool = False


@dataclass(frozen=True)
class Orphaned:
    """All sources were read and none has the pod of this worker."""


@dataclass(frozen=True)
class Recalled:
    """A recorded decision, read back at start."""

    decision: "Decision"


@dataclass(frozen=True)
class TurnGiven:
    """The static full name is free for this worker."""


@dataclass(frozen=True)
class Observed:
    """The runtime was listed, beginning at `as_of_mono`."""

    as_of_mono: float


@dataclass(frozen=True)
class TimerFired:
    """The time that `Wake` named has come."""


@dataclass(frozen=True)
class RunEnded:
    """Run `number` is over. `chance` in [0, 1) spreads the next wake-up.

    `acted_mono` is when the last of its acts on the runtime ended; None: it did nothing there.
    """

    number: int
    outcome: "Outcome"
    chance: float = 0.0
    acted_mono: float | None = None


@dataclass(frozen=True)
class Done:
    """Without error. `terminal`: the sync computed a terminal phase."""

    terminal: bool = False


@dataclass(frozen=True)
class NetworkNotReady:
    """The runtime's network is not ready and the pod needs it."""


@dataclass(frozen=True)
class BackingOff:
    """Some container waits for its crash-loop back-off, the earliest until `until_mono`."""

    until_mono: float


@dataclass(frozen=True)
class Failed:
    """Any other error; it was reported where it arose."""


@dataclass(frozen=True)
class Unsettled:
    """An act failed shortly after this process began: the runtime may still be at what its former life asked."""


@dataclass(frozen=True)
class Cancelled:
    """It stopped because it was told to."""


Outcome = Done | NetworkNotReady | BackingOff | Failed | Unsettled | Cancelled
Event = (
    PodSeen
    | SyncAsked
    | KillAsked
    | FoundInRuntime
    | Orphaned
    | Recalled
    | TurnGiven
    | Observed
    | TimerFired
    | RunEnded
)


class Reached(StrEnum):
    """How far an end had come when it was recorded."""

    ASKED = "asked"
    STOPPED = "stopped"
    """none of its containers ran any more"""
    FINISHED = "finished"


@dataclass(frozen=True)
class Decision:
    """An end that was decided and that the world does not show: stored before the first act, read back at start."""

    uid: str
    full_name: str
    static: bool
    pod: Pod
    ending: Ending
    reached: Reached = Reached.ASKED


# Actions


@dataclass(frozen=True)
class StartRun:
    """Begin run `number` on `pod`. `grace_s` is an override for the kill; None: each container's own rules."""

    number: int
    work: Work
    pod: Pod | None
    grace_s: int | None = None
    override: StatusOverride | None = None


@dataclass(frozen=True)
class CancelRun:
    """Tell that run to stop as soon as it may."""

    number: int


@dataclass(frozen=True)
class Observe:
    """A listing that began after `after_mono` is needed; answer with `Observed`."""

    after_mono: float


@dataclass(frozen=True)
class Wake:
    """Send `TimerFired` at `at_mono`; replaces an earlier one."""

    at_mono: float


@dataclass(frozen=True)
class Record:
    """Store the decision before any later action of the same step is carried out."""

    decision: Decision


Action = StartRun | CancelRun | Observe | Wake | Record


class IllegalEvent(Exception):
    """An event that our own code must never send in that state; the state is unchanged."""
