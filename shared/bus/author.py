"""Who writes on the bus, and because of what."""

import itertools
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from shared.bus import wire
from shared.bus.endpoints import new_generation

CAUSE: ContextVar[str] = ContextVar("cause", default="")
"""id of the message that is being acted on; tasks inherit it from where they are created"""


@contextmanager
def caused_by(message_id: str) -> Iterator[None]:
    """What is written in this block was caused by that message (for `octolet tap`)."""
    token = CAUSE.set(message_id)
    try:
        yield
    finally:
        CAUSE.reset(token)


class Author:
    """Writes the envelopes of one life of one service."""

    def __init__(self, service: str) -> None:
        self.service = service
        self.generation = new_generation()
        self._numbers = itertools.count(1)

    def new_id(self) -> str:
        """A message id that is unique on this node."""
        return f"{self.generation}.{next(self._numbers)}"

    def envelope(
        self, kind: wire.Kind, name: str, *, seq: int = 0, cause: str | None = None, message_id: str | None = None
    ) -> bytes:
        """An encoded envelope; `cause` None: what this context acts on."""
        return wire.pack(
            wire.Envelope(
                version=wire.VERSION,
                kind=kind,
                name=name,
                id=self.new_id() if message_id is None else message_id,
                sender=self.service,
                generation=self.generation,
                seq=seq,
                cause=CAUSE.get() if cause is None else cause,
                sent_at_mono=time.monotonic(),
            )
        )
