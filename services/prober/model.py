"""The probe worker's types: one worker per pod, container and kind of probe. Everything here is frozen."""

from dataclasses import dataclass
from enum import StrEnum

from shared.messages.prober import ProbeOutcome


class Kind(StrEnum):
    STARTUP = "startup"
    LIVENESS = "liveness"
    READINESS = "readiness"

    @property
    def words(self) -> str:
        """As Events and metrics spell it."""
        return self.value.capitalize()


@dataclass(frozen=True, order=True)
class WorkerKey:
    pod_uid: str
    container: str
    kind: Kind


@dataclass(frozen=True)
class Timing:
    """When to probe and how many equal results in a row count. Seconds; defaults are the API's (`v1.Probe`)."""

    initial_delay_s: float = 0.0
    period_s: float = 10.0
    timeout_s: float = 1.0
    success_threshold: int = 1
    failure_threshold: int = 3


class Verdict(StrEnum):
    """What one probe said. A warning counts as success; an error counts for nothing."""

    SUCCESS = "success"
    WARNING = "warning"
    FAILURE = "failure"
    UNKNOWN = "unknown"


@dataclass(frozen=True)
class Tally:
    """How often the same verdict came in a row."""

    ok: bool | None = None
    count: int = 0


# --- states ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class NoContainer:
    """There is no running container of that name."""


@dataclass(frozen=True)
class Gated:
    """The container runs, but its startup probe has not succeeded; this is another kind of probe."""

    container_id: str
    not_before_mono: float


@dataclass(frozen=True)
class Scheduled:
    """The next probe is due at `at_mono`, and cannot be earlier than `not_before_mono` (the initial delay)."""

    container_id: str
    at_mono: float
    not_before_mono: float = 0.0
    tally: Tally = Tally()


@dataclass(frozen=True)
class Probing:
    """A probe began at `began_mono` and has not ended."""

    container_id: str
    began_mono: float
    tally: Tally = Tally()


@dataclass(frozen=True)
class OnHold:
    """This container got its final verdict: nothing more is asked of it."""

    container_id: str


@dataclass(frozen=True)
class Ended:
    """The worker is done for good."""


State = NoContainer | Gated | Scheduled | Probing | OnHold | Ended


@dataclass(frozen=True)
class Worker:
    """A worker's whole state. `outcome` is what is published for `outcome_of`, the newest container it saw."""

    kind: Kind
    timing: Timing
    state: State = NoContainer()
    outcome: ProbeOutcome | None = None
    outcome_of: str = ""


# --- events ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Running:
    """The current container runs since `started_mono`, from which the initial delay counts.

    `gated`: it has a startup probe that has not succeeded, and this is another kind. `old`: it had started before this
    daemon did; `known` is its outcome from then, None when nobody knows. `jitter_s` is added before the first probe.
    """

    container_id: str
    started_mono: float
    gated: bool = False
    old: bool = False
    known: ProbeOutcome | None = None
    jitter_s: float = 0.0


@dataclass(frozen=True)
class NotRunning:
    """The current container (empty: there is none) does not run."""

    container_id: str = ""


@dataclass(frozen=True)
class GateOpened:
    """The container's startup probe succeeded."""

    container_id: str


@dataclass(frozen=True)
class Tick:
    """Time has passed."""


@dataclass(frozen=True)
class Ran:
    """The probe that was asked for has ended."""

    container_id: str
    verdict: Verdict


@dataclass(frozen=True)
class Poke:
    """Somebody would like to know now."""


@dataclass(frozen=True)
class Stop:
    """The worker is not needed any more."""


Event = Running | NotRunning | GateOpened | Tick | Ran | Poke | Stop


# --- actions --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class RunProbe:
    container_id: str


@dataclass(frozen=True)
class Publish:
    """The outcome of this container's probe is this now."""

    container_id: str
    outcome: ProbeOutcome


Action = RunProbe | Publish
