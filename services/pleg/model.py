"""Types of the core: what a listing shows, what is remembered of it, what happens and what is to be done."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from shared.messages.pleg import ContainerState, RuntimePod, SandboxState

EVERYTHING = ""
"""In place of a pod's UID: all pods."""


@dataclass(frozen=True)
class ListedPod:
    """One pod in a listing: the state of each sandbox and container by id, and no more than a listing tells."""

    name: str
    namespace: str
    sandboxes: Mapping[str, str] = field(default_factory=dict)
    containers: Mapping[str, str] = field(default_factory=dict)
    sandbox_of: Mapping[str, str] = field(default_factory=dict)
    """Container id to sandbox id, which a container's status does not tell."""


@dataclass(frozen=True)
class InspectedPod:
    """The statuses of what was listed of a pod. What had gone by then is left out."""

    sandboxes: tuple[SandboxState, ...] = ()
    containers: tuple[ContainerState, ...] = ()


@dataclass(frozen=True)
class Record:
    """What is known of one pod.

    `as_of_mono` is the start of the newest listing that it agrees with. `listed` and `row` are None when that listing
    lacked the pod: it is being inspected for the first time, or a listing of it alone found nothing, and the record
    keeps older results from bringing it back until the next full listing. `row` is what was published. `failed`: the
    last inspection failed, the next listing repeats it.
    """

    as_of_mono: float
    listed: ListedPod | None
    row: RuntimePod | None
    failed: bool = False


@dataclass(frozen=True)
class View:
    """All that is known. A pod without a record was absent in the full listing that began at `listed_mono`."""

    records: Mapping[str, Record] = field(default_factory=dict)
    open: Mapping[float, frozenset[str]] = field(default_factory=dict)
    """Full listings (start to UIDs) with inspections that are not back yet."""
    listed_mono: float = 0.0
    """Start of the newest full listing taken in; 0.0 before the first."""
    as_of_mono: float = 0.0
    """Start of the newest full listing that all rows agree with; 0.0 before the first."""


@dataclass(frozen=True)
class Listed:
    """A listing came back: of everything, or only of the pod `only`."""

    as_of_mono: float
    pods: Mapping[str, ListedPod]
    only: str = EVERYTHING


@dataclass(frozen=True)
class Inspected:
    """The inspection of a pod came back. `pod` is None when it failed, and `error` then says why."""

    uid: str
    as_of_mono: float
    listed: ListedPod
    pod: InspectedPod | None
    error: str = ""


Event = Listed | Inspected


@dataclass(frozen=True)
class Inspect:
    """Read the status of everything that was listed of this pod, and report it as `Inspected`."""

    uid: str
    as_of_mono: float
    listed: ListedPod


@dataclass(frozen=True)
class PutRow:
    """Publish this row."""

    uid: str
    row: RuntimePod


@dataclass(frozen=True)
class DeleteRow:
    """The runtime has nothing of this pod any more."""

    uid: str


@dataclass(frozen=True)
class Mark:
    """Say that all rows are at least as new as that time."""

    as_of_mono: float


Action = Inspect | PutRow | DeleteRow | Mark
