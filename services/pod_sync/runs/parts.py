"""What every run shares."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from structlog.typing import FilteringBoundLogger

from services.pod_sync.containers.backoff import Limits
from services.pod_sync.observations import Observations
from services.pod_sync.ports import Acts, Peers, Statuses
from services.pod_sync.records.backoff import BackoffFile
from services.pod_sync.records.progress import Progress
from services.pod_sync.runtime.model import EventSink
from services.pod_sync.watch import Watch
from shared.kube.types import Pod

YOUNG_S: Final = 5.0
"""the runtime notices within this time that a caller died, and undoes what it was asked (containerd: about a second)"""


@dataclass(frozen=True, kw_only=True)
class Parts:
    """Everything a run may use. `events_of(pod)` is where its Kubernetes Events go."""

    observations: Observations
    runtime: Acts
    peers: Peers
    statuses: Statuses
    backoff: BackoffFile
    progress: Progress
    events_of: Callable[[Pod], EventSink]
    log: FilteringBoundLogger
    watch: Watch = field(default_factory=Watch)
    limits: Limits = field(default_factory=Limits)
    volumes_timeout_s: float = 123.0
    now: Callable[[], float] = time.monotonic
    wall: Callable[[], float] = time.time
    born_mono: float = field(default_factory=time.monotonic)

    @property
    def is_young(self) -> bool:
        """The runtime may still be at what a former life of this process asked of it."""
        return self.now() - self.born_mono < YOUNG_S


@dataclass
class ActClock:
    """Remembers when the last act on the runtime ended: only what is listed later shows it."""

    now: Callable[[], float]
    acted_mono: float | None = None

    def acted(self) -> None:
        self.acted_mono = self.now()
