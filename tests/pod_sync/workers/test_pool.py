"""Static pods of one full name take turns, also across a restart."""

from services.pod_sync.workers.core import first_sight
from services.pod_sync.workers.model import (
    Decision,
    Done,
    Event,
    Finished,
    KillAsked,
    Observed,
    PodSeen,
    Record,
    RunEnded,
    Running,
    SeenAs,
    Syncing,
    Terminating,
    Waiting,
)
from services.pod_sync.workers.pool import Pool, Turns
from tests.pod_sync.workers.pods import make_pod


class Driver:
    """A pool with the decisions that it recorded and a clock that moves with each event."""

    def __init__(self, pool: Pool) -> None:
        self.pool = pool
        self.now = 100.0
        self.decisions: dict[str, Decision] = {}

    def feed(self, uid: str, *events: Event) -> None:
        for event in events:
            self.now += 1.0
            for changed, action in self.pool.feed(uid, event, self.now):
                if isinstance(action, Record):
                    self.decisions[changed] = action.decision

    def run_to_end(self, uid: str) -> None:
        """One whole run: the runtime is listed, the run starts and ends well."""
        self.feed(uid, Observed(self.now + 0.5))
        run = self.pool.workers[uid].run
        assert isinstance(run, Running)
        self.feed(uid, RunEnded(run.number, Done()))

    def create(self, uid: str) -> None:
        self.feed(uid, PodSeen(SeenAs.CREATE, make_pod(uid)))

    def life(self, uid: str) -> type:
        return type(self.pool.workers[uid].life)


def test_turns_are_given_first_come_first_served() -> None:
    turns = Turns()
    assert turns.take("web", "a")
    assert turns.take("web", "a")
    assert not turns.take("web", "b")
    assert not turns.take("web", "c")
    assert not turns.take("web", "b")
    assert turns.take("db", "d")
    assert turns.leave("web", "b") is None
    assert turns.leave("web", "a") == "c"
    assert turns.holder("web") == "c"
    assert turns.leave("web", "c") is None
    assert turns.holder("web") is None


def test_the_next_version_of_a_static_pod_starts_when_the_old_one_has_finished() -> None:
    driver = Driver(Pool())
    driver.create("old")
    driver.run_to_end("old")
    driver.create("new")
    driver.feed("old", KillAsked(dropped=True))
    assert driver.life("new") is Waiting
    driver.run_to_end("old")
    assert driver.life("new") is Waiting
    driver.run_to_end("old")
    assert (driver.life("old"), driver.life("new")) == (Finished, Syncing)


def test_the_mirror_of_a_static_pod_must_stay_while_it_terminates() -> None:
    driver = Driver(Pool())
    driver.create("old")
    driver.run_to_end("old")
    assert not driver.pool.is_static_terminating("web_default")
    driver.feed("old", KillAsked(dropped=True), Observed(driver.now + 1))
    assert driver.life("old") is Terminating
    assert driver.pool.is_static_terminating("web_default")


def test_a_finished_pod_does_not_hold_its_name_after_a_restart() -> None:
    driver = Driver(Pool())
    driver.create("old")
    driver.run_to_end("old")
    driver.create("new")
    driver.feed("old", KillAsked(dropped=True))
    driver.run_to_end("old")
    driver.run_to_end("old")
    restarted = Driver(Pool())
    restarted.pool.recall(driver.decisions.values(), driver.now)
    restarted.create("new")
    assert (restarted.life("old"), restarted.life("new")) == (Finished, Syncing)


def test_an_unfinished_end_holds_its_name_after_a_restart() -> None:
    driver = Driver(Pool())
    driver.create("old")
    driver.run_to_end("old")
    driver.feed("old", KillAsked(dropped=True))
    restarted = Driver(Pool())
    restarted.pool.recall(driver.decisions.values(), driver.now)
    restarted.create("new")
    assert restarted.life("new") is Waiting
    restarted.run_to_end("old")
    restarted.run_to_end("old")
    assert restarted.life("new") is Syncing


def test_forgetting_the_holder_gives_the_turn_on() -> None:
    driver = Driver(Pool())
    driver.create("a")
    driver.create("b")
    driver.pool.forget("a", driver.now)
    assert driver.life("b") is Syncing
    assert driver.pool.forget("a", driver.now) == []


def test_first_sight_of_a_static_pod_asks_nothing_of_the_runtime() -> None:
    assert first_sight("a", PodSeen(SeenAs.CREATE, make_pod("a")), 1.0)[1] == []
