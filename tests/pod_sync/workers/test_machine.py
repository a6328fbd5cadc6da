"""Any history of sources, kills, listings, runs and crashes: what must hold after every step, and where it ends."""

from dataclasses import dataclass, field

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from services.pod_sync.workers.answers import ending_of, may_run, pod_entry
from services.pod_sync.workers.housekeeping import (
    Create,
    DropRecords,
    Forget,
    Known,
    NoteOrphan,
    TerminateRuntimePod,
    plan_housekeeping,
    predecessors,
)
from services.pod_sync.workers.model import (
    Asked,
    Cancelled,
    CancelRun,
    Decision,
    Done,
    Event,
    Failed,
    Finished,
    FoundInRuntime,
    KillAsked,
    Observed,
    Orphaned,
    Outcome,
    PodSeen,
    Record,
    RunEnded,
    Running,
    SeenAs,
    StartRun,
    Syncing,
    Terminated,
    Terminating,
    TimerFired,
    Waiting,
    Wake,
    Work,
)
from services.pod_sync.workers.pool import Pool, UidAction
from shared.kube.types import Pod
from shared.messages.pleg import RuntimePod, SandboxState
from tests.pod_sync.workers.pods import SOURCE, make_pod

STATIC = {"s1": "web", "s2": "web", "s3": "db"}
API = {"a1": "job", "a2": "cron"}
RANK = {Waiting: 0, Syncing: 1, Asked: 2, Terminating: 3, Terminated: 4, Finished: 5}


@dataclass
class World:
    """What outlives the process: sources, the runtime, recorded decisions."""

    desired: dict[str, Pod] = field(default_factory=dict)
    running: dict[str, Pod] = field(default_factory=dict)
    listed: dict[str, Pod] = field(default_factory=dict)
    listed_at: float = 0.0
    decisions: dict[str, Decision] = field(default_factory=dict)

    def listing(self) -> dict[str, RuntimePod]:
        return {uid: _runtime_pod(pod, self.listed_at) for uid, pod in self.listed.items()}


def _runtime_pod(pod: Pod, listed_at: float) -> RuntimePod:
    annotations = {SOURCE: pod.metadata.annotations[SOURCE]}
    sandbox = SandboxState(
        id="s", name="", namespace="", attempt=0, ready=True, created_at_ns=0, annotations=annotations
    )
    return RuntimePod(name=pod.metadata.name, namespace="default", listed_at_mono=listed_at, sandboxes=[sandbox])


class WorkersMachine(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.now = 1000.0
        self.as_of = 0.0
        self.world = World()
        self.boot()

    def boot(self) -> None:
        self.pool = Pool(since_mono=self.now)
        self.runs: dict[str, StartRun] = {}
        self.wakes: dict[str, float] = {}
        self.ranks: dict[str, int] = {}
        self.graces: dict[str, int] = {}
        self.killed: set[str] = set()
        self.perform(self.pool.recall(self.world.decisions.values(), self.now))

    # Acting

    def perform(self, actions: list[UidAction]) -> None:
        for uid, action in actions:
            match action:
                case Record(decision=decision):
                    self.world.decisions[uid] = decision
                case StartRun():
                    assert uid not in self.runs, "two runs of one pod at a time"
                    self.check_start(uid, action)
                    self.runs[uid] = action
                case CancelRun(number=number):
                    assert self.runs[uid].number == number
                case Wake(at_mono=at):
                    self.wakes[uid] = at
                case _:
                    pass

    def check_start(self, uid: str, run: StartRun) -> None:
        worker = self.pool.workers[uid]
        if run.work is Work.SYNC:
            assert isinstance(worker.life, Syncing)
            assert uid not in self.killed, "started again after it was killed for the node's sake"
            name = worker.full_name
            others = [o for o, pod in self.world.running.items() if o != uid and _full(pod) == name]
            assert not (worker.static and others), "two static pods of one name"
        else:
            assert uid in self.world.decisions or worker.pod is None, "an end that would be forgotten by a crash"

    def feed(self, uid: str, event: Event) -> None:
        self.perform(self.pool.feed(uid, event, self.now))
        again = self.pool.get(uid)
        if isinstance(event, PodSeen) and event.kind is SeenAs.CREATE:
            return  # coming again as new means something: the pod is wanted anew
        if isinstance(event, PodSeen | KillAsked | Orphaned | Observed | TimerFired) and again is not None:
            repeated = self.pool.feed(uid, event, self.now)
            assert repeated == [], f"a repeated {event} did {repeated}"

    def note(self) -> None:
        for uid, worker in self.pool.workers.items():
            rank = RANK[type(worker.life)]
            assert rank >= self.ranks.get(uid, 0), "a life went backwards"
            self.ranks[uid] = rank
            ending = ending_of(worker)
            if ending is not None:
                assert ending.grace_s <= self.graces.get(uid, ending.grace_s), "grace grew"
                assert ending.grace_s >= 1
                self.graces[uid] = ending.grace_s

    def create(self, uid: str, *, first_list: bool = False) -> None:
        pod = self.world.desired[uid]
        known = self.known()
        if pod.metadata.annotations[SOURCE] != "api":
            for task in predecessors(uid, _full(pod), known):
                self.feed(task.uid, FoundInRuntime(task.full_name, task.static))
        self.feed(uid, PodSeen(SeenAs.CREATE, pod, first_list=first_list))

    def known(self) -> Known:
        return Known(
            desired=frozenset(self.world.desired),
            rejected=frozenset(),
            workers=dict(self.pool.workers),
            runtime=self.world.listing(),
            recorded=frozenset(self.world.decisions),
            ended=self.pool.ended(self.world.listed),
        )

    # Sources

    @rule(uid=st.sampled_from(sorted(STATIC)))
    def add_static(self, uid: str) -> None:
        if uid in self.world.desired:
            return
        self.world.desired[uid] = make_pod(uid, name=STATIC[uid])
        self.create(uid)

    @rule(uid=st.sampled_from(sorted(API)))
    def add_api(self, uid: str) -> None:
        if uid in self.world.desired or uid in self.world.running:
            return  # the API server never gives a UID twice
        self.world.desired[uid] = make_pod(uid, name=API[uid], source="api")
        self.create(uid)

    @rule(uid=st.sampled_from(sorted(API)), grace=st.integers(0, 40))
    def delete_in_api(self, uid: str, grace: int) -> None:
        if (pod := self.world.desired.get(uid)) is None:
            return
        old = pod.metadata.deletion_grace_period_seconds
        deleted = make_pod(uid, name=API[uid], source="api", deleted_with_s=grace if old is None else min(old, grace))
        self.world.desired[uid] = deleted
        self.feed(uid, PodSeen(SeenAs.UPDATE, deleted))

    @rule(uid=st.sampled_from(sorted(STATIC | API)))
    def touch(self, uid: str) -> None:
        if (pod := self.world.desired.get(uid)) is not None and uid in self.pool.workers:
            self.feed(uid, PodSeen(SeenAs.SYNC, pod))

    @rule(uid=st.sampled_from(sorted(STATIC | API)), told=st.booleans())
    def remove(self, uid: str, told: bool) -> None:
        self.killed.discard(uid)
        if self.world.desired.pop(uid, None) is not None and told and uid in self.pool.workers:
            self.feed(uid, KillAsked(dropped=True))

    @rule(
        uid=st.sampled_from(sorted(STATIC | API)), grace=st.one_of(st.none(), st.integers(0, 40)), evict=st.booleans()
    )
    def kill(self, uid: str, grace: int | None, evict: bool) -> None:
        worker = self.pool.get(uid)
        if worker is None or worker.pod is None or isinstance(worker.life, Waiting | Finished):
            return
        self.feed(uid, KillAsked(grace_s=grace, evict=evict))
        assert uid in self.world.decisions, "answered before it was stored"
        if isinstance(worker.life, Syncing) and uid in self.world.desired:
            self.killed.add(uid)

    # Runtime, runs and time

    @rule()
    def list_runtime(self) -> None:
        self.as_of = self.now
        self.now += 0.1
        self.world.listed, self.world.listed_at = dict(self.world.running), self.as_of
        for uid in list(self.pool.workers):
            self.feed(uid, Observed(self.as_of))

    @precondition(lambda self: self.runs)
    @rule(data=st.data(), outcome=st.sampled_from([Done(), Done(terminal=True), Failed(), Cancelled()]))
    def end_run(self, data: st.DataObject, outcome: Outcome) -> None:
        uid = data.draw(st.sampled_from(sorted(self.runs)))
        self.finish(uid, outcome)

    def finish(self, uid: str, outcome: Outcome) -> None:
        run = self.runs.pop(uid)
        self.now += 0.1
        if run.work is Work.SYNC and run.pod is not None:
            self.world.running[uid] = run.pod
        if run.work is Work.TERMINATING and isinstance(outcome, Done):
            self.world.running.pop(uid, None)
        acted = self.now if run.work is not Work.TERMINATED else None
        self.feed(uid, RunEnded(run.number, outcome, acted_mono=acted))

    @rule(seconds=st.floats(0.1, 70))
    def pass_time(self, seconds: float) -> None:
        self.now += seconds
        for uid, at in list(self.wakes.items()):
            if at <= self.now and uid in self.pool.workers:
                del self.wakes[uid]
                self.feed(uid, TimerFired())

    @rule()
    def settle(self) -> None:
        """A quiet minute: whatever is under way ends well."""
        self.list_runtime()
        for uid in list(self.runs):
            self.finish(uid, Done())
        self.list_runtime()

    @rule()
    def housekeep(self) -> None:
        self.housekeep_once()
        stale = {t for t in plan_housekeeping(self.known()) if not isinstance(t, DropRecords)}
        assert not stale, "planned twice"

    def housekeep_once(self) -> None:
        for task in plan_housekeeping(self.known()):
            match task:
                case Forget(uid=uid):
                    self.forget(uid)
                case NoteOrphan(uid=uid):
                    self.feed(uid, Orphaned())
                case Create(uid=uid):
                    self.create(uid)
                case TerminateRuntimePod(uid=uid, full_name=name, static=static):
                    self.feed(uid, FoundInRuntime(name, static))
                case DropRecords(uid=uid):
                    self.world.decisions.pop(uid, None)

    def forget(self, uid: str) -> None:
        self.perform(self.pool.forget(uid, self.now))
        self.world.decisions.pop(uid, None)
        self.drop_notes(uid)

    def drop_notes(self, uid: str) -> None:
        self.ranks.pop(uid, None)
        self.graces.pop(uid, None)
        self.wakes.pop(uid, None)

    @rule(data=st.data())
    def crash(self, data: st.DataObject) -> None:
        for uid, run in self.runs.items():
            if run.work is Work.SYNC and run.pod is not None and data.draw(st.booleans()):
                self.world.running[uid] = run.pod
        self.now += 1.0
        graces = self.graces
        killed = self.killed
        for uid in data.draw(
            st.sets(st.sampled_from(sorted(STATIC)))
        ):  # manifests written and removed while it is down
            if self.world.desired.pop(uid, None) is None:
                self.world.desired[uid] = make_pod(uid, name=STATIC[uid])
            killed.discard(uid)
        self.boot()
        self.now += 0.1
        self.as_of = self.now
        self.world.listed, self.world.listed_at = dict(self.world.running), self.as_of
        self.now += 0.1
        self.graces = {uid: grace for uid, grace in graces.items() if uid in self.pool.workers}
        self.killed = killed
        for uid in list(self.world.desired):
            self.create(uid, first_list=True)

    # What must always hold

    @invariant()
    def lives_only_move_forward_and_grace_never_grows(self) -> None:
        for uid in [uid for uid in self.ranks if uid not in self.pool.workers]:
            self.drop_notes(uid)
        self.note()

    @invariant()
    def static_pods_of_one_name_take_turns(self) -> None:
        started = [
            worker.full_name
            for worker in self.pool.workers.values()
            if worker.static and not isinstance(worker.life, Waiting | Finished)
        ]
        assert len(started) == len(set(started))
        running = [_full(pod) for pod in self.world.running.values()]
        assert len(running) == len(set(running))

    @invariant()
    def what_runs_under_a_worker_is_said_to_may_run(self) -> None:
        for uid in self.world.running:
            worker = self.pool.get(uid)
            if worker is not None and not isinstance(worker.life, Waiting):
                assert may_run(worker)

    @invariant()
    def rows_for_others_agree_with_the_life(self) -> None:
        for worker in self.pool.workers.values():
            entry = pod_entry(worker, worker.pod or Pod(), "file")
            assert entry.may_run != entry.runtime_removable
            assert not entry.content_removable or entry.runtime_removable

    @invariant()
    def one_run_at_a_time_is_known_to_both_sides(self) -> None:
        for uid, worker in self.pool.workers.items():
            assert isinstance(worker.run, Running) == (uid in self.runs)

    def teardown(self) -> None:
        """Left alone with a runtime that works, every history ends with exactly what the sources ask for."""
        for _ in range(12):
            self.pass_time(120.0)
            self.list_runtime()
            for uid in list(self.runs):
                self.finish(uid, Done())
            self.list_runtime()
            for uid in list(self.runs):
                self.finish(uid, Done())
            self.housekeep_once()
        assert not self.runs
        kept = set()
        for uid in self.world.desired:
            worker = self.pool.workers[uid]
            if isinstance(worker.life, Syncing):
                kept.add(uid)
            else:
                assert isinstance(worker.life, Finished | Waiting), worker
        assert set(self.world.running) == kept
        assert set(self.pool.workers) == set(self.world.desired)


def _full(pod: Pod) -> str:
    return f"{pod.metadata.name}_{pod.metadata.namespace}"


TestWorkersMachine = WorkersMachine.TestCase
TestWorkersMachine.settings = settings(max_examples=120, stateful_step_count=40, deadline=None)
