"""Requests over a network that loses, delays and repeats, while the answerer is killed at any moment."""

from dataclasses import dataclass

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from shared.bus.core_calls import RESEND_MAX_S, Answerer, Incoming, PendingCalls, Verdict, judge
from tests.shared.bus.rows import ADD_ONE

places = st.integers(min_value=0, max_value=1_000_000)
MAX_RUNNING = 3


@dataclass(frozen=True)
class Reply:
    call_id: str
    generation: str


class Requests(RuleBasedStateMachine):
    """One caller, one answerer that is restarted, and messages in between that come in any order, or never, or twice."""

    def __init__(self) -> None:
        super().__init__()
        self.now = 100.0
        self.life = 1
        self.calls = PendingCalls()
        self.waiting: dict[str, float] = {}
        self.answered: set[str] = set()
        self.requests: list[Incoming] = []
        self.replies: list[Reply] = []
        self.running: dict[str, Incoming] = {}
        self.number = 0
        self.reached = ""

    @property
    def generation(self) -> str:
        return f"{self.life:06d}"

    @rule(timeout_s=st.sampled_from([0.1, 3.0, 60.0]))
    def ask(self, timeout_s: float) -> None:
        self.number += 1
        call_id = f"c{self.number}"
        self.waiting[call_id] = self.now + timeout_s
        self.calls.ask(call_id, self.now + timeout_s)

    @rule(connected=st.booleans())
    def send_what_is_due(self, connected: bool) -> None:
        for call_id in self.calls.due(self.now):
            assert self.now < self.waiting[call_id], "sent after its deadline"
            assert self.calls.generation is not None
            if connected:
                self.requests.append(
                    Incoming(ADD_ONE.name, call_id, "pod_sync", self.calls.generation, self.waiting[call_id])
                )
                self.calls.sent(call_id, self.now)
        if connected:
            assert self.calls.due(self.now) == []

    @rule()
    def hear_beat(self) -> None:
        self.calls.hear(self.generation)

    @rule()
    def hear_late_beat(self) -> None:
        self.calls.hear(f"{self.life - 1:06d}")

    @rule(where=places, again=st.booleans())
    def deliver_request(self, where: int, again: bool) -> None:
        if not self.requests:
            return
        place = where % len(self.requests)
        call = self.requests[place] if again else self.requests.pop(place)
        verdict = judge(call, self.answerer(), self.now)
        if verdict is Verdict.CARRY_OUT:
            assert (call.generation, call.deadline_mono > self.now) == (self.generation, True)
            assert call.call_id not in self.running
            self.running[call.call_id] = call
        elif verdict is Verdict.REFUSE_BUSY:
            assert len(self.running) == MAX_RUNNING
        else:
            assert verdict in (Verdict.DROP_STALE, Verdict.DROP_LATE, Verdict.DROP_REPEAT)

    @rule(which=places)
    def finish(self, which: int) -> None:
        if self.running:
            call_id = sorted(self.running)[which % len(self.running)]
            del self.running[call_id]
            self.replies.append(Reply(call_id, self.generation))

    @rule(where=places, again=st.booleans())
    def deliver_reply(self, where: int, again: bool) -> None:
        if self.replies:
            place = where % len(self.replies)
            self.take(self.replies[place] if again else self.replies.pop(place))

    @rule(where=places)
    def lose_request(self, where: int) -> None:
        if self.requests:
            self.requests.pop(where % len(self.requests))

    @rule(where=places)
    def lose_reply(self, where: int) -> None:
        if self.replies:
            self.replies.pop(where % len(self.replies))

    @rule()
    def restart_answerer(self) -> None:
        self.life += 1
        self.running.clear()

    @rule(seconds=st.sampled_from([0.05, 1.0, 30.0]))
    def let_time_pass(self, seconds: float) -> None:
        self.now += seconds

    @rule()
    def give_up_what_is_over(self) -> None:
        for call_id in [call_id for call_id, deadline in self.waiting.items() if deadline <= self.now]:
            self.calls.give_up(call_id)
            del self.waiting[call_id]

    @rule()
    def settle(self) -> None:
        """Once the network is kind, every call whose time is not over gets its answer from the living answerer."""
        self.requests.clear()
        self.replies.clear()
        self.running.clear()
        self.calls.hear(self.generation)
        self.now += RESEND_MAX_S
        self.give_up_what_is_over()
        for call_id in self.calls.due(self.now):
            self.calls.sent(call_id, self.now)
            call = Incoming(ADD_ONE.name, call_id, "pod_sync", self.generation, self.waiting[call_id])
            assert judge(call, self.answerer(), self.now) is Verdict.CARRY_OUT
            self.take(Reply(call_id, self.generation))
        assert not self.waiting
        assert len(self.calls) == 0
        assert self.calls.next_mono() is None

    @invariant()
    def the_caller_never_turns_back_to_a_dead_generation(self) -> None:
        assert (self.calls.generation or "") >= self.reached
        self.reached = self.calls.generation or ""

    @invariant()
    def nothing_is_forgotten(self) -> None:
        assert len(self.calls) == len(self.waiting)

    def take(self, reply: Reply) -> None:
        if self.calls.replied(reply.call_id, reply.generation):
            assert reply.generation == self.calls.generation, "took a reply of a dead generation"
            assert reply.call_id not in self.answered, "answered twice"
            self.answered.add(reply.call_id)
            del self.waiting[reply.call_id]

    def answerer(self) -> Answerer:
        return Answerer(self.generation, {ADD_ONE.name: ADD_ONE}, self.running.keys(), MAX_RUNNING)


Requests.TestCase.settings = settings(max_examples=100, stateful_step_count=40, deadline=None)
TestRequestsAcrossRestarts = Requests.TestCase


GOOD = Incoming(ADD_ONE.name, "c1", "pod_sync", "g1", 10.0)


@pytest.mark.parametrize(
    ("call", "running", "now", "verdict"),
    [
        (GOOD, set(), 9.9, Verdict.CARRY_OUT),
        (GOOD, set(), 10.0, Verdict.DROP_LATE),
        (Incoming(ADD_ONE.name, "c1", "pod_sync", "g1", float("nan")), set(), 0.0, Verdict.DROP_LATE),
        (GOOD, {"c1"}, 9.9, Verdict.DROP_REPEAT),
        (GOOD, {"c2", "c3", "c4"}, 9.9, Verdict.REFUSE_BUSY),
        (Incoming(ADD_ONE.name, "c1", "pod_sync", "g0", 10.0), set(), 9.9, Verdict.DROP_STALE),
        (Incoming("no_such", "c1", "pod_sync", "g1", 10.0), set(), 9.9, Verdict.REFUSE_UNKNOWN),
        (Incoming(ADD_ONE.name, "c1", "prober", "g1", 10.0), set(), 9.9, Verdict.REFUSE_CALLER),
    ],
)
def test_each_request_is_judged_by_generation_deadline_repeat_name_caller_and_load(
    call: Incoming, running: set[str], now: float, verdict: Verdict
) -> None:
    assert judge(call, Answerer("g1", {ADD_ONE.name: ADD_ONE}, running, MAX_RUNNING), now) is verdict


def test_a_new_generation_is_asked_at_once_and_the_restart_is_remembered() -> None:
    calls = PendingCalls()
    calls.ask("c1", 50.0)
    assert calls.due(0.0) == [] and calls.next_mono() is None
    calls.hear("g1")
    assert calls.due(0.0) == ["c1"]
    calls.sent("c1", 0.0)
    assert calls.due(0.2) == []
    assert calls.due(0.25) == ["c1"]
    calls.hear("g2")
    assert calls.due(0.0) == ["c1"]
    assert not calls.replied("c1", "g1")
    assert calls.give_up("c1") is True


def test_giving_up_a_call_whose_owner_was_never_replaced_is_no_restart() -> None:
    calls = PendingCalls()
    calls.ask("c1", 50.0)
    calls.hear("g1")
    assert calls.give_up("c1") is False
