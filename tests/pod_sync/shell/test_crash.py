"""Any story of manifests, exits, evictions, crashes and a runtime that goes away: what must hold, and where it ends.

Acts take virtual time and crashes fall anywhere inside them, before or after an act had its effect.
"""

import asyncio
import shutil
import tempfile
from collections import Counter
from pathlib import Path

import structlog
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from shared.kube.types import Pod
from shared.messages.pod_sync import PodPhase
from tests.pod_sync.shell.node import Node, static_pod
from tests.pod_sync.shell.virtual_loop import VirtualLoop

PODS: dict[str, Pod] = {
    "a1": static_pod("a1", "web"),
    "a2": static_pod("a2", "web", containers=2),
    "b1": static_pod("b1", "db", containers=2, grace_s=3),
    "j1": static_pod("j1", "job", policy="Never"),
}
UIDS = st.sampled_from(sorted(PODS))
SHARED_MEMORY = Path("/dev/shm")


class NodeMachine(RuleBasedStateMachine):
    @initialize(exit_s=st.sampled_from([0.5, 5.0, 60.0]))
    def boot(self, exit_s: float) -> None:
        structlog.configure(processors=[_drop])
        self.folder = Path(tempfile.mkdtemp(dir=SHARED_MEMORY if SHARED_MEMORY.is_dir() else None))
        self.runner = asyncio.Runner(loop_factory=VirtualLoop)
        self.node = self.runner.run(self._make())
        self.node.world.exit_s = exit_s
        self.evicted: set[str] = set()
        self.over: set[str] = set()

    async def _make(self) -> Node:
        node = Node(self.folder)
        await asyncio.sleep(1.5)
        return node

    def pass_time(self, seconds: float) -> None:
        self.runner.run(asyncio.sleep(seconds))

    @rule(seconds=st.sampled_from([0.01, 0.03, 0.05, 0.08, 0.13, 0.21, 0.5, 3.0, 20.0]))
    def wait(self, seconds: float) -> None:
        self.pass_time(seconds)

    @rule(uid=UIDS)
    def write(self, uid: str) -> None:
        if uid not in self.node.manifests:
            self._in_loop(lambda: self.node.write(PODS[uid]))

    @rule(uid=UIDS)
    def unlink(self, uid: str) -> None:
        if uid in self.node.manifests:
            self.evicted.discard(uid)
            self.over.discard(uid)
            self._in_loop(lambda: self.node.unlink(uid))

    @rule(uid=UIDS, grace_s=st.sampled_from([None, 1, 10]))
    def evict(self, uid: str, grace_s: int | None) -> None:
        worker = self.node.life.engine.dispatcher.pool.get(uid)
        row = self.node.world.rows.get(uid)
        started = worker is not None and type(worker.life).__name__ == "Syncing" and row is not None
        self._in_loop(lambda: self.node.evict(uid, grace_s))
        if started and uid in self.node.manifests:
            self.evicted.add(uid)

    @rule(data=st.data(), code=st.sampled_from([0, 1]))
    def container_exits(self, data: st.DataObject, code: int) -> None:
        running = sorted(cid for cid, (_, c) in self.node.world.containers.items() if c.state == "running")
        if running:
            self.node.world.end(data.draw(st.sampled_from(running)), code)

    @rule(down=st.booleans())
    def runtime_away(self, down: bool) -> None:
        self.node.world.down = down

    @rule(away=st.booleans())
    def peers_away(self, away: bool) -> None:
        self._in_loop(lambda: setattr(self.node.peers, "away", True) if away else self.node.peers.come_back())

    @rule(down_s=st.sampled_from([0.0, 0.04, 0.5, 5.0]), changed=st.sets(UIDS, max_size=2))
    def crash(self, down_s: float, changed: set[str]) -> None:
        self._in_loop(self.node.crash)
        for uid in changed:  # manifests come and go while nobody looks
            self.evicted.discard(uid)
            if self.node.manifests.pop(uid, None) is None:
                self.node.manifests[uid] = PODS[uid]
        self.pass_time(down_s)
        self._in_loop(self.node.restart)

    def _in_loop(self, act: object) -> None:
        async def call() -> None:
            assert callable(act)
            act()

        self.runner.run(call())

    @invariant()
    def nothing_went_wrong_inside(self) -> None:
        self.node.check()

    @invariant()
    def one_live_container_per_name_and_one_pod_per_full_name(self) -> None:
        running = self.node.world.running()
        assert max(Counter(running).values(), default=0) <= 1, running
        names = Counter(self.node.world.names[uid] for uid in {uid for uid, _ in running})
        assert max(names.values(), default=0) <= 1, running

    @invariant()
    def no_container_instance_is_started_twice(self) -> None:
        assert max(Counter(self.node.world.starts).values(), default=0) <= 1, self.node.world.starts

    @invariant()
    def a_container_is_started_again_only_after_it_ended(self) -> None:
        for uid, name, attempt in self.node.world.starts:
            assert attempt <= self.node.world.exits[uid, name], (uid, name, attempt)

    @invariant()
    def what_finished_does_not_run(self) -> None:
        for uid, row in self.node.world.rows.items():
            if row.phase in (PodPhase.TERMINATED, PodPhase.FINISHED):
                assert uid not in {owner for owner, _ in self.node.world.running()}

    def teardown(self) -> None:
        """Left alone with peers that work, every story ends with exactly what the manifests ask for."""
        try:
            self.check_end()
        finally:
            self.runner.run(self.node.close())
            self.runner.close()
            shutil.rmtree(self.folder)

    def check_end(self) -> None:
        self.node.world.down = False
        self._in_loop(self.node.peers.come_back)
        self.pass_time(500.0)
        self.node.check()
        running = {uid for uid, _ in self.node.world.running()}
        for uid in self.node.manifests:
            phase = self.node.world.rows[uid].phase
            if uid in self.evicted:
                assert (phase, uid in running) == (PodPhase.FINISHED, False), uid
        names = {self.node.manifests[uid].metadata.name for uid in self.node.manifests}
        for name in names:
            rivals = [uid for uid, pod in self.node.manifests.items() if pod.metadata.name == name]
            lively = [uid for uid in rivals if self.node.world.rows[uid].phase is PodPhase.SYNC]
            assert len([uid for uid in lively if uid in running]) == min(len(lively), 1), (name, rivals)
        assert running <= set(self.node.manifests)
        assert set(self.node.world.rows) == set(self.node.manifests)


def _drop(logger: object, name: str, event: structlog.typing.EventDict) -> structlog.typing.EventDict:
    raise structlog.DropEvent


TestNodeMachine = NodeMachine.TestCase
TestNodeMachine.settings = settings(
    max_examples=60, stateful_step_count=30, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
