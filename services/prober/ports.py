"""What carrying out a probe comes to."""

from dataclasses import dataclass
from typing import Protocol

from services.prober.model import Verdict
from services.prober.targets import Target


@dataclass(frozen=True)
class Finding:
    """What one probe found. `output` is what people read in the event.

    `error`: the probe could not be carried out properly, so it counts for nothing, whatever the verdict; it is tried
    again at once, up to three times.
    """

    verdict: Verdict
    output: str = ""
    error: bool = False


class Asker(Protocol):
    """Carries out probes. Raises nothing that a probed container can cause."""

    async def ask(self, target: Target, container_id: str, timeout_s: float) -> Finding: ...
