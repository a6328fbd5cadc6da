"""The keeper over a fake world: what it publishes, and that it may die between any two acts."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import structlog
from hypothesis import given, settings
from hypothesis import strategies as st
from prometheus_client import CollectorRegistry

from services.container_manager.cgroups import keeper as keeper_module
from services.container_manager.cgroups.core import pod_limits
from services.container_manager.cgroups.keeper import PodGroupKeeper
from services.container_manager.cgroups.model import Limits, Policy
from services.container_manager.cgroups.none import NoGroups
from services.container_manager.metrics import ManagerMetrics
from services.container_manager.ports import Groups
from shared.cgroups.names import PodGroups, QosClass
from shared.kube.types import Pod
from shared.messages.container_manager import PodCgroupPhase, PodResources
from shared.messages.pod_sync import PodEntry
from shared.messages.volume_manager import PodVolumes, VolumesPhase
from tests.container_manager.fakes import FakeGroups, FakeTable, Killed
from tests.container_manager.pods import burstable, guaranteed, pod, rejected, running, stopped, terminating

POLICY = Policy()
UNMOUNTED = PodVolumes(phase=VolumesPhase.UNMOUNTED)
MOUNTED = PodVolumes(phase=VolumesPhase.MOUNTED)
READY, FAILED, RELEASED = PodCgroupPhase.READY, PodCgroupPhase.FAILED, PodCgroupPhase.RELEASED


class Node:
    """What outlives the daemon, and one life of it."""

    def __init__(self, groups: Groups | None = None, policy: Policy = POLICY) -> None:
        self.groups = FakeGroups()
        self.used: Groups = groups if groups is not None else self.groups
        self.policy = policy
        self.pods: FakeTable[PodEntry] = FakeTable()
        self.volumes: FakeTable[PodVolumes] = FakeTable(complete=True)
        self.tasks: set[asyncio.Task[None]] = set()

    async def boot(self) -> None:
        self.pods.forget_readers()
        self.volumes.forget_readers()
        self.table: FakeTable[PodResources] = FakeTable()
        self.keeper = PodGroupKeeper(
            self.used,
            self.policy,
            self.table,  # type: ignore[arg-type]
            views=(self.pods, self.volumes),  # type: ignore[arg-type]
            spawn=self.spawn,
            observers=(ManagerMetrics(CollectorRegistry()), structlog.get_logger()),
        )
        await self.keeper.start()
        await self.settle()

    def spawn(self, work: Coroutine[Any, Any, None], name: str = "") -> asyncio.Task[None]:
        task = asyncio.get_running_loop().create_task(work)
        self.tasks.add(task)
        return task

    async def settle(self) -> None:
        """Until no task runs. Raises what ended the process."""
        while self.tasks:
            done, _ = await asyncio.wait(self.tasks)
            self.tasks -= done
            for task in done:
                task.result()

    async def die(self) -> None:
        for task in self.tasks:
            task.cancel()
        await asyncio.gather(*self.tasks, return_exceptions=True)
        self.tasks.clear()

    def phase(self, of: Pod) -> PodCgroupPhase | None:
        row = self.table.get(of.metadata.uid)
        return row.phase if row is not None else None


def run(story: Callable[[Node], Coroutine[Any, Any, None]], node: Node | None = None) -> Node:
    node = node or Node()

    async def whole() -> None:
        await node.boot()
        await story(node)
        await node.settle()
        await node.die()

    asyncio.run(whole())
    return node


def name_of(of: Pod, qos: QosClass) -> Any:
    return PodGroups().pod(of.metadata.uid, qos)


def test_a_new_pod_gets_its_group_with_its_values_and_its_row_names_the_parent() -> None:
    a = guaranteed("a")

    async def story(node: Node) -> None:
        node.pods.put("uid-a", running(a))
        await node.settle()
        assert node.table.get("uid-a") == PodResources(
            phase=READY, cgroup_parent="/kubepods/poduid-a", qos_class="Guaranteed"
        )

    node = run(story)
    assert node.groups.made == {name_of(a, QosClass.GUARANTEED): pod_limits(a, POLICY)}


def test_a_pods_end_keeps_the_group_until_volumes_are_unmounted_and_is_said_before_the_row_goes() -> None:
    a = burstable("a")

    async def story(node: Node) -> None:
        node.volumes.put("uid-a", MOUNTED)
        node.pods.put("uid-a", running(a))
        await node.settle()
        node.pods.put("uid-a", terminating(a))
        await node.settle()
        assert node.phase(a) is READY
        node.pods.put("uid-a", stopped(a))
        await node.settle()
        assert node.phase(a) is READY
        assert node.groups.made[name_of(a, QosClass.BURSTABLE)] == Limits(cpu_shares=2)
        node.volumes.put("uid-a", UNMOUNTED)
        await node.settle()
        assert (node.phase(a), node.groups.made) == (RELEASED, {})
        node.pods.mark(complete=True)
        node.pods.delete("uid-a")
        await node.settle()
        assert node.phase(a) is None

    run(story)


def test_groups_of_unknown_pods_are_removed_only_when_the_pods_table_is_complete() -> None:
    node = Node()
    orphan = PodGroups().pod("uid-x", QosClass.BEST_EFFORT)
    node.groups.made[orphan] = None

    async def story(node: Node) -> None:
        assert node.table.get("uid-x") == PodResources(
            phase=READY, cgroup_parent="/kubepods/besteffort/poduid-x", qos_class="BestEffort"
        )
        node.pods.put("uid-a", running(burstable("a")))
        await node.settle()
        assert orphan in node.groups.made
        node.pods.mark(complete=True)
        await node.settle()
        assert orphan not in node.groups.made
        assert node.phase(burstable("a")) is READY

    run(story, node)
    assert node.groups.destroyed == [orphan]


def test_a_refused_pod_is_released_and_never_gets_a_group() -> None:
    a = burstable("a")

    async def story(node: Node) -> None:
        node.pods.put("uid-a", rejected(a))

    node = run(story)
    assert (node.phase(a), node.groups.created) == (RELEASED, [])


def test_a_group_that_cannot_be_made_is_published_as_failed_and_tried_again(monkeypatch: Any) -> None:
    monkeypatch.setattr(keeper_module, "RETRY_FIRST_S", 0.01)
    a, b = burstable("a"), burstable("b")

    async def story(node: Node) -> None:
        node.groups.fail_create = 2
        node.pods.put("uid-a", running(a))
        await node.settle()
        row = node.table.get("uid-a")
        assert row is not None and row.phase is FAILED
        assert row.error == "failed to create container for [kubepods burstable poduid-a] : no space"
        while node.phase(a) is not READY:
            await asyncio.sleep(0.005)
        node.pods.put("uid-b", running(b))
        await node.settle()
        assert node.phase(b) is READY

    run(story)


def test_a_pod_with_a_quantity_that_is_none_fails_alone() -> None:
    bad, good = burstable("bad", cpu="lots"), burstable("good")

    async def story(node: Node) -> None:
        node.pods.put("uid-bad", running(bad))
        node.pods.put("uid-good", running(good))
        await node.settle()
        row = node.table.get("uid-bad")
        assert row is not None and row.phase is FAILED and "lots" not in row.cgroup_parent
        assert "compute cgroup values of pod uid-bad" in row.error
        assert node.phase(good) is READY

    run(story)


def test_processes_that_do_not_die_keep_one_pods_group_and_no_others(monkeypatch: Any) -> None:
    monkeypatch.setattr(keeper_module, "RETRY_FIRST_S", 0.01)
    a, b = burstable("a"), burstable("b")
    stuck = name_of(a, QosClass.BURSTABLE)

    async def story(node: Node) -> None:
        for each in (a, b):
            node.pods.put(each.metadata.uid, running(each))
        await node.settle()
        node.groups.stuck.add(stuck)
        for each in (a, b):
            node.pods.put(each.metadata.uid, stopped(each))
        await node.settle()
        assert (node.phase(a), node.phase(b)) == (READY, RELEASED)
        node.groups.stuck.clear()
        while node.phase(a) is not RELEASED:
            await asyncio.sleep(0.005)

    run(story)


def test_prepare_makes_the_group_of_a_pod_that_the_table_does_not_name_yet_and_it_is_no_orphan() -> None:
    a = burstable("a")

    async def story(node: Node) -> None:
        node.pods.complete = True
        row = await node.keeper.prepare(a)
        assert row.phase is READY
        await node.settle()
        assert node.groups.destroyed == []
        node.pods.put("uid-a", running(a))
        await node.settle()
        assert (await node.keeper.prepare(a)) == row

    node = run(story)
    assert node.groups.created == [name_of(a, QosClass.BURSTABLE)]


def test_prepare_makes_a_group_again_that_somebody_removed() -> None:
    a = burstable("a")

    async def story(node: Node) -> None:
        node.pods.put("uid-a", running(a))
        await node.settle()
        node.groups.made.clear()
        assert (await node.keeper.prepare(a)).phase is READY
        assert node.groups.made == {name_of(a, QosClass.BURSTABLE): pod_limits(a, POLICY)}

    run(story)


def test_prepare_of_a_pod_whose_end_was_asked_for_makes_nothing() -> None:
    a = burstable("a")

    async def story(node: Node) -> None:
        node.pods.put("uid-a", terminating(a))
        row = await node.keeper.prepare(a)
        assert row.phase is FAILED
        node.pods.put("uid-a", stopped(a))
        assert (await node.keeper.prepare(a)).phase is RELEASED

    assert run(story).groups.created == []


def test_a_refresh_makes_again_what_somebody_removed() -> None:
    a = burstable("a")

    async def story(node: Node) -> None:
        node.pods.put("uid-a", running(a))
        await node.settle()
        node.groups.made.clear()
        await node.keeper.refresh()
        await node.settle()
        assert name_of(a, QosClass.BURSTABLE) in node.groups.made

    run(story)


def test_tiers_follow_the_pods_and_are_written_before_a_pods_group_is_made() -> None:
    node = Node()
    tier = PodGroups().tier(QosClass.BURSTABLE)
    node.groups.made[tier] = None

    async def story(node: Node) -> None:
        for n in range(4):
            node.pods.put(f"uid-{n}", running(burstable(str(n))))
        await node.settle()
        limits = node.groups.made[tier]
        assert limits is not None and limits.cpu_shares == 1024
        node.pods.put("uid-0", stopped(burstable("0")))
        await node.settle()
        limits = node.groups.made[tier]
        assert limits is not None and limits.cpu_shares == 768

    run(story, node)


def test_without_groups_per_pod_pods_are_ready_with_no_parent() -> None:
    a = burstable("a")

    async def story(node: Node) -> None:
        node.pods.put("uid-a", running(a))
        await node.settle()
        assert node.table.get("uid-a") == PodResources(phase=READY, cgroup_parent="", qos_class="Burstable")
        await node.keeper.refresh()
        node.pods.put("uid-a", stopped(a))
        await node.settle()
        assert node.phase(a) is RELEASED

    run(story, Node(NoGroups(), Policy(per_qos=False)))


PODS = [guaranteed("a"), burstable("b"), pod("c")]
QOS = [QosClass.GUARANTEED, QosClass.BURSTABLE, QosClass.BEST_EFFORT]
steps = st.lists(
    st.tuples(st.integers(0, 2), st.sampled_from(["running", "terminating", "stopped", "unmounted", "gone"])),
    max_size=12,
)


@settings(max_examples=80, deadline=None)
@given(steps, st.lists(st.integers(0, 6), max_size=4), st.booleans())
def test_a_daemon_that_dies_between_any_two_acts_ends_where_one_that_lives_ends(
    story: list[tuple[int, str]], lives: list[int], complete: bool
) -> None:
    node = Node()

    async def life(acts: int | None, part: list[tuple[int, str]]) -> None:
        node.groups.acts_left = acts
        try:
            await node.boot()
            for number, what in part:
                change(node, number, what)
                await node.settle()
        except Killed:
            for number, what in part:  # the others go on without it
                change(node, number, what)
        await node.die()

    for index, acts in enumerate(lives):
        size = len(story) // (len(lives) + 1)
        asyncio.run(life(acts, story[index * size : (index + 1) * size]))
    rest = story[len(lives) * (len(story) // (len(lives) + 1)) :] if lives else story
    asyncio.run(life(None, rest))

    async def last() -> None:
        node.pods.complete = complete
        await node.boot()
        await node.die()

    node.groups.acts_left = None
    asyncio.run(last())
    for each, qos in zip(PODS, QOS, strict=True):
        check_end(node, each, qos, complete=complete)


def change(node: Node, number: int, what: str) -> None:
    """A pod moves on; nothing moves backwards."""
    of, entry = PODS[number], node.pods.get(PODS[number].metadata.uid)
    uid = of.metadata.uid
    if what == "running" and entry is None:
        node.pods.put(uid, running(of))
        node.volumes.put(uid, MOUNTED)
    elif what == "terminating" and entry is not None and not entry.runtime_removable:
        node.pods.put(uid, terminating(of))
    elif what == "stopped" and entry is not None:
        node.pods.put(uid, stopped(of))
    elif what == "unmounted" and entry is not None and entry.runtime_removable:
        node.volumes.put(uid, UNMOUNTED)
    elif what == "gone" and node.volumes.get(uid) == UNMOUNTED:
        node.pods.delete(uid)


def check_end(node: Node, of: Pod, qos: QosClass, *, complete: bool) -> None:
    uid, name = of.metadata.uid, name_of(of, qos)
    entry = node.pods.get(uid)
    if entry is None:
        assert name not in node.groups.made or not complete
    elif entry.runtime_removable and node.volumes.get(uid) == UNMOUNTED:
        assert name not in node.groups.made and node.phase(of) is RELEASED
    elif not entry.runtime_removable and entry == running(of):
        assert node.phase(of) is READY
        assert node.groups.made[name] == pod_limits(of, POLICY), "made by a life that died before it set the values"
