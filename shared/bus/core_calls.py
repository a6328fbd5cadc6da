"""Requests: the caller's resending and the answerer's choice to carry out, refuse or drop. Pure.

    caller:    waiting ──send──▶ sent to generation G ──reply of G──▶ done
                  ▲                   │  │ no reply for a while: send again (the request or the reply may be lost)
                  └── newer generation┘  └ deadline: Transient, or StaleGeneration when G was replaced meanwhile

Every request is idempotent, so sending twice is right; the answerer drops a repeat only while the first is being
carried out. A request names the generation it is meant for and an absolute deadline on CLOCK_MONOTONIC, because the
transport may deliver it late to the answerer's next life.
"""

from collections.abc import Mapping, Set
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

from shared.messages.base import Request

RESEND_S: Final = 0.25
"""first wait for a reply before the request is sent again; doubles with each attempt"""
RESEND_MAX_S: Final = 2.0


@dataclass(slots=True)
class _Asked:
    deadline_mono: float
    sent_to: str | None = None
    replaced: bool = False
    attempts: int = 0
    send_at_mono: float = 0.0


class PendingCalls:
    """The unanswered requests of one process to one owner, by call id."""

    def __init__(self) -> None:
        self.generation: str | None = None
        self._asked: dict[str, _Asked] = {}

    def __len__(self) -> int:
        return len(self._asked)

    def ask(self, call_id: str, deadline_mono: float) -> None:
        """Start one request."""
        self._asked[call_id] = _Asked(deadline_mono)

    def hear(self, generation: str) -> None:
        """The owner was heard in that generation; what was sent to an older one is to be sent again, at once."""
        if self.generation is not None and generation <= self.generation:
            return
        self.generation = generation
        for asked in self._asked.values():
            asked.replaced = asked.sent_to is not None
            asked.attempts = 0
            asked.send_at_mono = 0.0

    def due(self, now_mono: float) -> list[str]:
        """Call ids to send now, to the current generation."""
        if self.generation is None:
            return []
        return [i for i, a in self._asked.items() if a.send_at_mono <= now_mono < a.deadline_mono]

    def sent(self, call_id: str, now_mono: float) -> None:
        """It was handed to the transport."""
        if (asked := self._asked.get(call_id)) is not None:
            asked.sent_to = self.generation
            asked.send_at_mono = now_mono + min(RESEND_S * 2.0**asked.attempts, RESEND_MAX_S)
            asked.attempts = min(asked.attempts + 1, 10)

    def next_mono(self) -> float | None:
        """When `due` may have something new; None: nothing is waiting."""
        if self.generation is None or not self._asked:
            return None
        return min(asked.send_at_mono for asked in self._asked.values())

    def replied(self, call_id: str, generation: str) -> bool:
        """Whether to take this reply. False: late, repeated, or from a generation it was not (last) sent to."""
        asked = self._asked.get(call_id)
        if asked is None or asked.sent_to != generation or generation != self.generation:
            return False
        del self._asked[call_id]
        return True

    def give_up(self, call_id: str) -> bool:
        """Forget a request. True: the generation it was sent to was replaced meanwhile."""
        asked = self._asked.pop(call_id, None)
        return asked is not None and asked.replaced


class Verdict(StrEnum):
    """What an answerer does with one request. The last three are answered with an error, the drops with silence."""

    CARRY_OUT = "carry_out"
    DROP_STALE = "drop_stale"
    """meant for another generation: its caller hears of this one by its beat, and sends again"""
    DROP_LATE = "drop_late"
    """its deadline has passed: its caller no longer waits"""
    DROP_REPEAT = "drop_repeat"
    """it is being carried out already"""
    REFUSE_UNKNOWN = "refuse_unknown"
    REFUSE_CALLER = "refuse_caller"
    REFUSE_BUSY = "refuse_busy"


@dataclass(frozen=True, slots=True)
class Incoming:
    """The part of a request that is judged before its content is decoded."""

    name: str
    call_id: str
    caller: str
    generation: str
    deadline_mono: float


@dataclass(frozen=True, slots=True)
class Answerer:
    """The answering process as it is now."""

    generation: str
    requests: Mapping[str, Request[Any, Any]]
    running: Set[str]
    max_running: int


def judge(call: Incoming, answerer: Answerer, now_mono: float) -> Verdict:
    """Decide about one incoming request."""
    if call.generation != answerer.generation:
        return Verdict.DROP_STALE
    if not call.deadline_mono > now_mono:  # written so that NaN is late, too
        return Verdict.DROP_LATE
    if call.call_id in answerer.running:
        return Verdict.DROP_REPEAT
    request = answerer.requests.get(call.name)
    if request is None:
        return Verdict.REFUSE_UNKNOWN
    if call.caller not in request.callers:
        return Verdict.REFUSE_CALLER
    if len(answerer.running) >= answerer.max_running:
        return Verdict.REFUSE_BUSY
    return Verdict.CARRY_OUT
