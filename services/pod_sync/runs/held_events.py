"""Events of one act that are told only once it is known whose fault they tell of."""

from services.pod_sync.runtime.model import EventSink


class HeldEvents:
    """An `EventSink` that keeps what it is given until `tell`."""

    def __init__(self, sink: EventSink) -> None:
        self._sink = sink
        self._held: list[tuple[str | None, str, str, str]] = []

    def __call__(self, container: str | None, type: str, reason: str, message: str) -> None:
        self._held.append((container, type, reason, message))

    def tell(self) -> None:
        """Pass on what was kept."""
        held, self._held = self._held, []
        for entry in held:
            self._sink(*entry)
