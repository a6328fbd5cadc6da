"""Owner and replicas over a network that loses, delays, repeats and reorders, while anybody is killed at any moment."""

from dataclasses import dataclass, field
from typing import Any

import msgspec
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from shared.bus.core_owner import OwnerTable, Written
from shared.bus.core_replica import FETCH_RETRY_MAX_S, MAX_EARLY, Replica
from shared.bus.model import Change, Delete, Delta, Mark, Operation, Outcome, Put, Snapshot, Unreadable
from shared.bus.tables import TableView
from tests.shared.bus.rows import THINGS, Row

POISON = 13
"""rows with this number cannot be decoded by subscribers"""
HIGH_WATER_MARK = 6
"""what a slow subscriber's queue holds before the newest is dropped"""

keys = st.sampled_from("abcd")
numbers = st.sampled_from([1, 2, 3, POISON])
places = st.integers(min_value=0, max_value=1_000_000)


@dataclass
class Beat:
    generation: str
    seq: int | None


@dataclass
class Subscriber:
    """A replica with its queue, and a shadow built from the changes it reported."""

    replica: Replica[Row] = field(default_factory=Replica)
    queue: list[Any] = field(default_factory=list)
    fetches: int = 0
    shadow: dict[str, Row] = field(default_factory=dict)
    marked: tuple[str | None, bool, float] = (None, False, 0.0)
    at_entry: set[str] = field(default_factory=set)
    generation: str | None = None
    reached: tuple[str, int] = ("", 0)

    def offer(self, message: Any) -> None:
        if len(self.queue) < HIGH_WATER_MARK:
            self.queue.append(message)

    def take(self, message: Any, now: float) -> None:
        before = set(self.replica.rows)
        match message:
            case Beat(generation=generation, seq=seq):
                outcome = self.replica.hear(generation, seq)
            case Delta():
                outcome = self.replica.receive(message)
            case Snapshot():
                outcome = self.replica.restore(message, now)
            case _:
                raise AssertionError(message)
        if self.replica.generation != self.generation:
            self.generation = self.replica.generation
            self.at_entry = before
        self._follow(outcome)

    def _follow(self, outcome: Outcome[Row]) -> None:
        for change in outcome.changes:
            assert change.old != change.new, "a change that changes nothing"
            assert self.shadow.get(change.key) == change.old
            if change.new is None:
                del self.shadow[change.key]
            else:
                self.shadow[change.key] = change.new
        said = (self.replica.generation, self.replica.complete, self.replica.as_of_mono)
        assert outcome.marked == (said != self.marked)
        self.marked = said


class Network(RuleBasedStateMachine):
    """One owner with a table, three subscribers. `history` is what the owner's table was at each number."""

    def __init__(self) -> None:
        super().__init__()
        self.now = 0.0
        self.life = 0
        self.subscribers = [Subscriber() for _ in range(3)]
        self.history: dict[tuple[str, int], tuple[dict[str, Row], Mark]] = {}

    @initialize()
    def start(self) -> None:
        self.restart_owner()

    # what the owner does

    @rule()
    def restart_owner(self) -> None:
        self.life += 1
        self.generation = f"{self.life:06d}"
        self.owned = True
        self.owner = OwnerTable(THINGS)
        self.remember()

    @rule(key=keys, number=numbers)
    def put(self, key: str, number: int) -> None:
        self.publish(self.owner.put(key, Row(n=number)))

    @rule(key=keys)
    def delete(self, key: str) -> None:
        self.publish(self.owner.delete(key))

    @rule(complete=st.booleans())
    def mark(self, complete: bool) -> None:
        self.now += 0.001
        self.publish(self.owner.mark(Mark(complete, as_of_mono=self.now)))

    @rule(owned=st.booleans())
    def beat(self, owned: bool) -> None:
        for subscriber in self.subscribers:
            subscriber.offer(Beat(self.generation, self.owner.seq if owned or self.owner.seq else None))

    def publish(self, written: Written | None) -> None:
        if written is None:
            return
        self.remember()
        for subscriber in self.subscribers:
            subscriber.offer(Delta(self.generation, written.seq, operation_of(written)))

    def remember(self) -> None:
        self.history[self.generation, self.owner.seq] = (dict(self.owner.rows), self.owner.said)

    # what subscribers and the network do

    @rule(who=places, seconds=st.sampled_from([0.0, 0.2, 5.0]))
    def ask_for_snapshot(self, who: int, seconds: float) -> None:
        self.now += seconds
        subscriber = self.pick(who)
        at = subscriber.replica.fetch_at_mono()
        if at is not None and at <= self.now:
            subscriber.replica.asked(self.now)
            subscriber.fetches += 1

    @rule(who=places)
    def answer_snapshot(self, who: int) -> None:
        subscriber = self.pick(who)
        if subscriber.fetches:
            subscriber.fetches -= 1
            subscriber.offer(self.snapshot())

    @rule(who=places)
    def lose_snapshot_request(self, who: int) -> None:
        self.pick(who).fetches = 0

    @rule(who=places, where=places, again=st.booleans())
    def deliver(self, who: int, where: int, again: bool) -> None:
        """Any queued message in any order; `again`: it stays, and will come once more."""
        subscriber = self.pick(who)
        if subscriber.queue:
            place = where % len(subscriber.queue)
            subscriber.take(subscriber.queue[place] if again else subscriber.queue.pop(place), self.now)

    @rule(who=places)
    def deliver_all_in_order(self, who: int) -> None:
        subscriber = self.pick(who)
        queue, subscriber.queue = subscriber.queue, []
        for message in queue:
            subscriber.take(message, self.now)

    @rule(who=places, where=places)
    def lose(self, who: int, where: int) -> None:
        subscriber = self.pick(who)
        if subscriber.queue:
            subscriber.queue.pop(where % len(subscriber.queue))

    @rule(who=places)
    def restart_subscriber(self, who: int) -> None:
        self.subscribers[who % len(self.subscribers)] = Subscriber()

    @rule()
    def settle(self) -> None:
        """Once the network is quiet and kind, a beat and the replica's own timers are enough for everybody."""
        for subscriber in self.subscribers:
            for message in subscriber.queue:
                subscriber.take(message, self.now)
            subscriber.queue.clear()
            for _ in range(4):
                subscriber.take(Beat(self.generation, self.owner.seq), self.now)
                self.now += FETCH_RETRY_MAX_S
                if (at := subscriber.replica.fetch_at_mono()) is not None:
                    assert at <= self.now, "a replica that is behind waits longer than it may"
                    subscriber.replica.asked(self.now)
                    subscriber.take(self.snapshot(), self.now)
            replica = subscriber.replica
            assert (replica.generation, replica.seq) == (self.generation, self.owner.seq)
            assert not replica.behind
            readable = {key: row for key, row in self.owner.rows.items() if row.n != POISON}
            assert {key: row for key, row in replica.rows.items() if key in readable} == readable
            if self.owner.said.complete:
                assert set(replica.rows) <= set(self.owner.rows)
            poisoned = len(readable) < len(self.owner.rows)
            assert replica.complete == (self.owner.said.complete and not poisoned)
            assert replica.as_of_mono == (self.owner.said.as_of_mono if replica.complete else 0.0)

    # what must hold at every moment

    @invariant()
    def what_is_vouched_for_is_the_owners_table_at_that_number(self) -> None:
        for subscriber in self.subscribers:
            replica = subscriber.replica
            if replica.complete:
                assert replica.generation is not None
                rows, said = self.history[replica.generation, replica.seq]
                assert (replica.rows, replica.complete, replica.as_of_mono) == (rows, said.complete, said.as_of_mono)

    @invariant()
    def rows_beyond_the_owners_are_those_of_an_earlier_life(self) -> None:
        for subscriber in self.subscribers:
            replica = subscriber.replica
            if replica.generation is None:
                assert not replica.rows
                continue
            rows, said = self.history[replica.generation, replica.seq]
            for key, row in rows.items():
                assert row.n == POISON or replica.rows[key] == row
            beyond = set(replica.rows) - set(rows)
            assert not (beyond and said.complete)
            assert beyond <= subscriber.at_entry

    @invariant()
    def no_reader_goes_back_in_time(self) -> None:
        for subscriber in self.subscribers:
            reached = (subscriber.replica.generation or "", subscriber.replica.seq)
            assert reached >= subscriber.reached
            subscriber.reached = reached

    @invariant()
    def changes_add_up_to_the_rows(self) -> None:
        for subscriber in self.subscribers:
            assert subscriber.shadow == subscriber.replica.rows

    def pick(self, who: int) -> Subscriber:
        return self.subscribers[who % len(self.subscribers)]

    def snapshot(self) -> Snapshot[Row]:
        """Through the bytes that are sent, as on the wire."""
        rows = [
            pair for chunk in self.owner.chunks() for pair in msgspec.msgpack.decode(chunk, type=list[tuple[str, Row]])
        ]
        return Snapshot(
            generation=self.generation,
            seq=self.owner.seq,
            complete=self.owner.said.complete,
            as_of_mono=self.owner.said.as_of_mono,
            rows={key: row for key, row in rows if row.n != POISON},
            unreadable=frozenset(key for key, row in rows if row.n == POISON),
        )


def operation_of(written: Written) -> Operation[Row]:
    if written.mark is not None:
        return written.mark
    if written.row is None:
        return Delete(written.key)
    row = msgspec.msgpack.decode(written.row, type=Row)
    return Unreadable(written.key) if row.n == POISON else Put(written.key, row)


Network.TestCase.settings = settings(max_examples=100, stateful_step_count=40, deadline=None)
TestEverySubscriberEndsWithTheOwnersTable = Network.TestCase


def test_a_gap_makes_a_replica_ask_and_a_snapshot_closes_it() -> None:
    replica: Replica[Row] = Replica()
    replica.receive(Delta("g1", 1, Put("a", Row(n=1))))
    assert replica.fetch_at_mono() is None
    replica.receive(Delta("g1", 3, Put("c", Row(n=3))))
    assert replica.fetch_at_mono() == 0.0
    assert set(replica.rows) == {"a"}
    replica.asked(10.0)
    assert replica.fetch_at_mono() == 10.5
    outcome = replica.restore(Snapshot("g1", 2, False, 0.0, {"a": Row(n=1), "b": Row(n=2)}), 10.1)
    assert [change.key for change in outcome.changes] == ["b", "c"]
    assert replica.fetch_at_mono() is None


def test_a_view_is_in_step_when_the_rows_that_were_heard_of_are_there() -> None:
    view = TableView(THINGS, "prober", lambda: True)
    assert not view.in_step
    view.replica.hear("g1", 2)
    assert (view.generation, view.in_step) == ("g1", False)
    view.replica.restore(Snapshot("g1", 2, complete=False, as_of_mono=0.0, rows={"a": Row(1)}), now_mono=0.0)
    assert view.in_step


def test_rows_of_a_dead_owner_stay_until_the_next_one_has_said_complete_without_them() -> None:
    replica: Replica[Row] = Replica()
    replica.restore(Snapshot("g1", 3, True, 5.0, {"a": Row(n=1), "b": Row(n=2)}), 0.0)
    assert replica.complete
    outcome = replica.hear("g2", 0)
    assert outcome.marked and not outcome.changes
    assert (replica.complete, replica.as_of_mono, set(replica.rows)) == (False, 0.0, {"a", "b"})
    assert replica.receive(Delta("g2", 1, Put("a", Row(n=1)))).changes == ()
    outcome = replica.receive(Delta("g2", 2, Mark(True, 9.0), cause="m"))
    assert outcome.changes == (Change("b", Row(n=2), None, "m"),)
    assert (replica.complete, replica.as_of_mono) == (True, 9.0)


def test_a_snapshot_that_was_overtaken_by_deltas_does_nothing() -> None:
    replica: Replica[Row] = Replica()
    for seq in (1, 2, 3):
        replica.receive(Delta("g1", seq, Put("a", Row(n=seq))))
    assert replica.restore(Snapshot("g1", 2, True, 9.0, {"a": Row(n=2)}), 0.0) == Outcome()
    assert (replica.seq, replica.rows, replica.complete) == (3, {"a": Row(n=3)}, False)


def test_a_new_generation_is_fetched_at_once_however_long_the_old_one_kept_silent() -> None:
    replica: Replica[Row] = Replica()
    replica.hear("g1", 5)
    for now in (0.0, 10.0, 20.0):
        replica.asked(now)
    assert replica.fetch_at_mono() == 22.0
    replica.hear("g2", 1)
    assert replica.fetch_at_mono() == 0.0


def test_deltas_that_wait_for_a_snapshot_are_bounded() -> None:
    replica: Replica[Row] = Replica()
    for seq in range(2, 3 * MAX_EARLY):
        replica.receive(Delta("g1", seq, Put("a", Row(n=seq))))
    assert replica.held <= MAX_EARLY
    replica.restore(Snapshot("g1", 3 * MAX_EARLY - 1, True, 0.0, {"a": Row(n=0)}), 0.0)
    assert (replica.held, replica.behind) == (0, False)


def test_a_repeated_delta_is_not_held() -> None:
    replica: Replica[Row] = Replica()
    for _ in range(3):
        replica.receive(Delta("g1", 1, Put("a", Row(n=1))))
    assert replica.held == 0


def test_a_message_of_a_dead_generation_does_nothing() -> None:
    replica: Replica[Row] = Replica()
    replica.hear("g2", 0)
    for outcome in (
        replica.receive(Delta("g1", 1, Put("a", Row(n=1)))),
        replica.restore(Snapshot("g1", 9, True, 5.0, {"a": Row(n=1)}), 0.0),
        replica.hear("g1", 7),
    ):
        assert outcome == Outcome()
    assert (replica.generation, replica.rows, replica.behind) == ("g2", {}, False)


def test_an_unreadable_row_keeps_the_old_one_and_withdraws_complete() -> None:
    replica: Replica[Row] = Replica()
    replica.restore(Snapshot("g1", 2, True, 5.0, {"a": Row(n=1)}), 0.0)
    outcome = replica.receive(Delta("g1", 3, Unreadable("a")))
    assert outcome == Outcome((), marked=True)
    assert (replica.rows, replica.complete, replica.as_of_mono) == ({"a": Row(n=1)}, False, 0.0)
    replica.receive(Delta("g1", 4, Put("a", Row(n=2))))
    assert (replica.rows, replica.complete, replica.as_of_mono) == ({"a": Row(n=2)}, True, 5.0)


def test_an_operation_that_changes_nothing_takes_no_number() -> None:
    owner = OwnerTable(THINGS)
    assert owner.put("a", Row(n=1)) == Written(1, key="a", row=msgspec.msgpack.encode(Row(n=1)))
    assert owner.put("a", Row(n=1)) is None
    assert owner.delete("b") is None
    assert owner.mark(Mark(False, 0.0)) is None
    assert owner.mark(Mark(True, 1.0)) == Written(2, mark=Mark(True, 1.0))
    assert owner.delete("a") == Written(3, key="a")


def test_a_large_table_is_sent_in_frames_of_about_a_mebibyte() -> None:
    owner = OwnerTable(THINGS)
    for number in range(1000):
        owner.put(f"row-{number}", Row(n=number, text="x" * 4000))
    chunks = owner.chunks()
    assert len(chunks) == 4
    assert max(map(len, chunks)) < 1.1 * 1024 * 1024
    rows = dict(pair for chunk in chunks for pair in msgspec.msgpack.decode(chunk, type=list[tuple[str, Row]]))
    assert rows == owner.rows
    assert owner.chunks() is chunks
    owner.put("row-0", Row(n=-1))
    assert owner.chunks() is not chunks
