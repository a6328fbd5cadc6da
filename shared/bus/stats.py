"""What one process counts about its bus; `shared.telemetry.metrics` turns it into metrics."""

import time
from collections import Counter
from typing import Final

import structlog

from shared.messages.base import Service

KNOWN_PEERS: Final = frozenset({*map(str, Service), "subscriber", "unknown"})
"""names counted as they are; any other sender is counted as `other`, for a name in a bad message may be anything"""
LOG_EVERY_S: Final = 60.0
"""a kind of bad message from one sender is logged at most this often; all are counted"""


class BusStats:
    """Counters by (what, label)."""

    def __init__(self) -> None:
        self.sent: Counter[str] = Counter()
        """messages by kind"""
        self.received: Counter[str] = Counter()
        """messages by kind"""
        self.dropped: Counter[tuple[str, str]] = Counter()
        """messages not used, by reason and the peer's name"""
        self.fetched: Counter[tuple[str, str]] = Counter()
        """snapshots asked for, by owner and table"""
        self._logged_mono: dict[tuple[str, str], float] = {}

    def drop(self, reason: str, peer: str, *, detail: str = "", log: bool = True) -> None:
        """Count a message that is not used; the reasons that point to a fault are logged, seldom."""
        peer = peer if peer in KNOWN_PEERS else "other"
        self.dropped[reason, peer] += 1
        now = time.monotonic()
        if log and now - self._logged_mono.get((reason, peer), -LOG_EVERY_S) >= LOG_EVERY_S:
            self._logged_mono[reason, peer] = now
            structlog.get_logger().warning(
                "message.dropped", reason=reason, peer=peer, detail=detail, dropped=self.dropped[reason, peer]
            )
