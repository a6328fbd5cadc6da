"""Listings and inspections in any order against a world that moves on meanwhile."""

from dataclasses import dataclass, field

import hypothesis.strategies as st
import msgspec
from hypothesis import settings
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, initialize, invariant, multiple, rule

from services.pleg.core import build_row, step
from services.pleg.model import (
    EVERYTHING,
    Action,
    DeleteRow,
    Event,
    Inspect,
    Inspected,
    InspectedPod,
    Listed,
    ListedPod,
    Mark,
    PutRow,
    View,
)
from shared.messages.pleg import ContainerState, RuntimePod, SandboxState

UIDS = ("a", "b", "c")
uids = st.sampled_from(UIDS)


def sandbox(sandbox_id: str, ready: bool, **more: object) -> SandboxState:
    base = SandboxState(id=sandbox_id, name="web", namespace="default", attempt=0, ready=ready, created_at_ns=1)
    return msgspec.structs.replace(base, **more)


def container(container_id: str, state: str, created_at_ns: int = 1) -> ContainerState:
    return ContainerState(
        id=container_id, name="c", attempt=0, sandbox_id="s", state=state, created_at_ns=created_at_ns
    )


def listed(containers: dict[str, str], sandboxes: dict[str, str] | None = None) -> ListedPod:
    return ListedPod("web", "default", sandboxes or {}, containers)


def inspected(uid: str, start: float, what: ListedPod, error: str = "") -> Inspected:
    """What an inspection sees when nothing changed since the listing."""
    pod = InspectedPod(
        tuple(sandbox(s, state == "ready") for s, state in what.sandboxes.items()),
        tuple(container(c, state) for c, state in what.containers.items()),
    )
    return Inspected(uid, start, what, None if error else pod, error)


def feed(view: View, *events: Event) -> tuple[View, list[Action]]:
    """All events; the actions of the last one."""
    actions: list[Action] = []
    for event in events:
        view, actions = step(view, event)
    return view, actions


@dataclass
class World:
    """Pods whose containers are born, run and end: no state ever comes back."""

    now: float = 1.0
    pods: dict[str, dict[str, str]] = field(default_factory=dict)
    history: dict[str, list[tuple[float, dict[str, str]]]] = field(default_factory=dict)
    born: dict[str, float] = field(default_factory=dict)

    def tick(self) -> float:
        self.now += 1.0
        return self.now

    def change(self, uid: str, containers: dict[str, str]) -> None:
        time = self.tick()
        for container_id in containers:
            self.born.setdefault(container_id, time)
        self.history.setdefault(uid, []).append((time, dict(containers)))
        if containers:
            self.pods[uid] = containers
        else:
            self.pods.pop(uid, None)

    def versions_since(self, uid: str, start: float) -> list[dict[str, str]]:
        """The version in effect at that time and all later ones; {} is a pod that is not there."""
        known = self.history.get(uid, [])
        before = [version for time, version in known if time <= start]
        return [before[-1] if before else {}, *(version for time, version in known if time > start)]


class Relists(RuleBasedStateMachine):
    """Several listings under way at once, each result as late as can be, and a crash now and then."""

    listings = Bundle("listings")
    inspections = Bundle("inspections")

    @initialize()
    def begin(self) -> None:
        self.world = World()
        self.numbers = iter(range(10**6))
        self.restart()

    def restart(self) -> None:
        self.view = View()
        self.table: dict[str, RuntimePod] = {}
        self.marked = 0.0
        self.life = next(self.numbers)

    @rule(uid=uids)
    def create(self, uid: str) -> None:
        self.world.change(uid, {**self.world.pods.get(uid, {}), f"c{next(self.numbers)}": "created"})

    @rule(uid=uids)
    def advance(self, uid: str) -> None:
        following = {"created": "running", "running": "exited", "exited": "exited"}
        containers = self.world.pods.get(uid, {})
        moved = {container_id: following[state] for container_id, state in containers.items()}
        if moved != containers:
            self.world.change(uid, moved)

    @rule(uid=uids)
    def remove(self, uid: str) -> None:
        if uid in self.world.pods:
            self.world.change(uid, {})

    @rule(target=listings, only=st.sampled_from((EVERYTHING, EVERYTHING, *UIDS)))
    def list_now(self, only: str) -> tuple[int, Listed]:
        pods = {uid: listed(dict(c)) for uid, c in self.world.pods.items() if only in (EVERYTHING, uid)}
        return self.life, Listed(self.world.tick(), pods, only)

    @rule(target=inspections, listing=consumes(listings))
    def take_in_listing(self, listing: tuple[int, Listed]) -> object:
        life, event = listing
        if life != self.life:
            return multiple()
        return multiple(*((life, a) for a in self.carry_out(event) if isinstance(a, Inspect)))

    @rule(inspection=consumes(inspections), fails=st.sampled_from((False, False, False, True)))
    def take_in_inspection(self, inspection: tuple[int, Inspect], fails: bool) -> None:
        life, action = inspection
        if life == self.life:
            self.carry_out(self.look(action, fails))

    @rule()
    def crash(self) -> None:
        self.restart()

    def look(self, action: Inspect, fails: bool) -> Inspected:
        now = self.world.pods.get(action.uid, {})
        seen = tuple(container(c, now[c]) for c in action.listed.containers if c in now)
        pod = None if fails else InspectedPod((), seen)
        return Inspected(action.uid, action.as_of_mono, action.listed, pod, "boom" if fails else "")

    def carry_out(self, event: Event) -> list[Action]:
        self.view, actions = step(self.view, event)
        for action in actions:
            match action:
                case PutRow(uid, row):
                    assert self.table.get(uid) != row
                    self.table[uid] = row
                case DeleteRow(uid):
                    del self.table[uid]
                case Mark(as_of_mono):
                    assert as_of_mono > self.marked
                    self.marked = as_of_mono
                    self.check_mark()
        again, more = step(self.view, event)
        assert not [a for a in more if not isinstance(a, Inspect)], "a repeat changes nothing"
        assert again == self.view
        return actions

    def check_mark(self) -> None:
        """Every row shows its pod as it was at the marked time or later, but for what is younger than that."""
        for uid in UIDS:
            row = self.table.get(uid)
            if row is not None and row.error:
                continue
            shown = {c.id: c.state for c in row.containers} if row is not None else {}
            assert any(
                shown.items() <= version.items()
                and all(self.world.born[c] > self.marked for c in version.keys() - shown)
                for version in self.world.versions_since(uid, self.marked)
            ), (uid, shown, self.marked, self.world.history)

    @invariant()
    def the_table_is_what_the_view_says(self) -> None:
        rows = {uid: record.row for uid, record in self.view.records.items() if record.row is not None}
        assert rows == self.table

    def teardown(self) -> None:
        """Whatever happened: one full listing with good inspections, and the table is the world."""
        listing = Listed(self.world.tick(), {uid: listed(dict(c)) for uid, c in self.world.pods.items()})
        for action in self.carry_out(listing):
            if isinstance(action, Inspect):
                self.carry_out(self.look(action, fails=False))
        shown = {uid: {c.id: c.state for c in row.containers} for uid, row in self.table.items()}
        assert shown == self.world.pods
        assert not any(row.error for row in self.table.values())
        assert self.marked == listing.as_of_mono


Relists.TestCase.settings = settings(max_examples=120, stateful_step_count=30, deadline=None)
TestRelists = Relists.TestCase


def test_only_pods_that_differ_from_the_last_listing_are_inspected() -> None:
    calm, busy = listed({"c1": "running"}), listed({"c2": "running"})
    view, _ = feed(View(), Listed(1.0, {"a": calm, "b": busy}), inspected("a", 1.0, calm), inspected("b", 1.0, busy))
    changed = listed({"c2": "exited"})
    _, actions = feed(view, Listed(2.0, {"a": calm, "b": changed}))
    assert actions == [Inspect("b", 2.0, changed)]


def test_a_listing_without_differences_only_moves_the_mark() -> None:
    pod = listed({"c1": "running"}, {"s1": "ready"})
    view, _ = feed(View(), Listed(1.0, {"a": pod}), inspected("a", 1.0, pod))
    _, actions = feed(view, Listed(2.0, {"a": pod}))
    assert actions == [Mark(2.0)]


def test_a_sandbox_counts_like_a_container() -> None:
    pod = listed({}, {"s1": "ready"})
    view, _ = feed(View(), Listed(1.0, {"a": pod}), inspected("a", 1.0, pod))
    stopped = listed({}, {"s1": "notready"})
    assert feed(view, Listed(2.0, {"a": stopped}))[1] == [Inspect("a", 2.0, stopped)]


def test_a_failed_inspection_keeps_the_row_with_the_error_and_is_repeated() -> None:
    pod, ended = listed({"c1": "running"}), listed({"c1": "exited"})
    view, _ = feed(View(), Listed(1.0, {"a": pod}), inspected("a", 1.0, pod), Listed(2.0, {"a": ended}))
    view, actions = feed(view, inspected("a", 2.0, ended, error="no answer"))
    put, mark = actions
    assert isinstance(put, PutRow)
    assert (put.row.error, [c.state for c in put.row.containers]) == ("no answer", ["running"])
    assert mark == Mark(2.0)
    view, actions = feed(view, Listed(3.0, {"a": ended}))
    assert actions == [Inspect("a", 3.0, ended)]
    view, actions = feed(view, inspected("a", 3.0, ended, error="no answer"))
    assert actions == [Mark(3.0)], "the same error again is no news"
    _, actions = feed(view, Listed(4.0, {"a": ended}), inspected("a", 4.0, ended))
    assert isinstance(actions[0], PutRow)
    assert (actions[0].row.error, actions[0].row.containers[0].state) == ("", "exited")


def test_one_pod_listed_on_demand_is_inspected_even_if_nothing_seems_to_differ() -> None:
    pod = listed({"c1": "running"})
    view, _ = feed(View(), Listed(1.0, {"a": pod}), inspected("a", 1.0, pod))
    view, actions = feed(view, Listed(2.0, {"a": pod}, only="a"))
    assert actions == [Inspect("a", 2.0, pod)]


def test_a_full_listing_that_began_before_a_pods_own_does_not_undo_it() -> None:
    old, new = listed({"c1": "running"}), listed({"c1": "exited"})
    view, _ = feed(View(), Listed(1.0, {"a": old}), inspected("a", 1.0, old))
    view, _ = feed(view, Listed(3.0, {"a": new}, only="a"), inspected("a", 3.0, new))
    _, actions = feed(view, Listed(2.0, {"a": old}))
    assert actions == [Mark(2.0)]


def test_a_pod_found_gone_on_demand_is_not_brought_back_by_an_older_full_listing() -> None:
    pod = listed({"c1": "exited"})
    view, _ = feed(View(), Listed(1.0, {"a": pod}), inspected("a", 1.0, pod))
    view, actions = feed(view, Listed(3.0, {}, only="a"))
    assert actions == [DeleteRow("a")]
    view, actions = feed(view, Listed(2.0, {"a": pod}))
    assert actions == [Mark(2.0)]
    view, _ = feed(view, Listed(4.0, {}))
    assert view.records == {}, "and is forgotten by the next"


def test_a_pods_own_listing_that_began_before_a_full_one_does_not_bring_it_back() -> None:
    pod = listed({"c1": "exited"})
    view, _ = feed(View(), Listed(1.0, {"a": pod}), inspected("a", 1.0, pod), Listed(3.0, {}))
    assert feed(view, Listed(2.0, {"a": pod}, only="a"))[1] == []


def test_the_mark_waits_for_the_last_inspection() -> None:
    pods = {uid: listed({f"c{uid}": "running"}) for uid in UIDS}
    view, actions = feed(View(), Listed(1.0, pods))
    assert Mark(1.0) not in actions
    for uid in UIDS[:-1]:
        view, actions = feed(view, inspected(uid, 1.0, pods[uid]))
        assert Mark(1.0) not in actions
    assert feed(view, inspected(UIDS[-1], 1.0, pods[UIDS[-1]]))[1][-1] == Mark(1.0)


def test_sandboxes_and_containers_are_ordered_newest_first() -> None:
    pod = InspectedPod(
        (
            sandbox("s-old", False, attempt=0, created_at_ns=5),
            sandbox("s-new", True, attempt=1, created_at_ns=9),
            sandbox("s-twin", False, attempt=0, created_at_ns=5),
        ),
        (container("c1", "exited", 1), container("c3", "running", 3), container("c2", "exited", 2)),
    )
    row = build_row(Inspected("a", 1.0, listed({}), pod), None)
    assert [s.id for s in row.sandboxes] == ["s-new", "s-old", "s-twin"]
    assert [c.id for c in row.containers] == ["c3", "c2", "c1"]


def test_a_pods_addresses_outlive_its_sandbox_until_another_is_ready() -> None:
    def row_of(old: RuntimePod | None, *sandboxes: SandboxState) -> RuntimePod:
        return build_row(Inspected("a", 1.0, listed({}), InspectedPod(sandboxes)), old)

    running = row_of(None, sandbox("s1", True, ips=["10.0.0.7", "fd00::7"]))
    stopped = row_of(running, sandbox("s1", False))
    assert stopped.sandboxes[0].ips == ["10.0.0.7", "fd00::7"]
    later = row_of(stopped, sandbox("s1", False), sandbox("s2", False, attempt=1))
    assert [s.ips for s in later.sandboxes] == [["10.0.0.7", "fd00::7"], []]
    assert row_of(later, sandbox("s3", True, attempt=2)).sandboxes[0].ips == []
    assert row_of(running, sandbox("s2", False, attempt=1, ips=["10.0.0.9"])).sandboxes[0].ips == ["10.0.0.9"]


def test_an_inspection_from_before_what_is_known_changes_nothing() -> None:
    pod, ended = listed({"c1": "running"}), listed({"c1": "exited"})
    view, _ = feed(View(), Listed(1.0, {"a": pod}), inspected("a", 1.0, pod))
    view, _ = feed(view, Listed(2.0, {"a": ended}, only="a"), Listed(3.0, {"a": ended}, only="a"))
    view, _ = feed(view, inspected("a", 3.0, ended))
    later, actions = feed(view, inspected("a", 2.0, ended, error="too late"))
    assert (later, actions) == (view, [])
    view, _ = feed(view, Listed(4.0, {}))
    later, actions = feed(view, inspected("a", 2.0, ended))
    assert (later, actions) == (view, []), "nor does it bring a pod back"
