"""What is done about one pod's group: tables, and a machine of daemon lives over a world of groups."""

from collections.abc import Callable

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from services.container_manager.cgroups.core import plan_pod, pod_want
from services.container_manager.cgroups.model import (
    Destroy,
    Ensure,
    Forget,
    PodSeen,
    Policy,
    Ready,
    Release,
    Throttle,
)
from shared.cgroups.names import CgroupName, PodGroups, QosClass
from shared.kube.types import Pod
from shared.messages.container_manager import PodCgroupPhase
from shared.messages.pod_sync import PodEntry
from shared.messages.volume_manager import VolumesPhase
from tests.container_manager.pods import burstable, pod, rejected, running, runtime_only, stopped, terminating

POLICY = Policy()
POD = burstable("a")
UID = POD.metadata.uid
NAME = PodGroups().pod(UID, QosClass.BURSTABLE)
NOTHING = PodSeen(group=None, volumes=None, volumes_known=False, row=None)
UNMOUNTED, MOUNTED = VolumesPhase.UNMOUNTED, VolumesPhase.MOUNTED
READY, RELEASED = PodCgroupPhase.READY, PodCgroupPhase.RELEASED


def plan(entry: PodEntry | None, seen: PodSeen, *, complete: bool = True) -> object:
    want = pod_want(UID, entry, POLICY) if entry is not None else None
    return plan_pod(want, seen, pods_complete=complete)


def test_a_pod_that_may_start_gets_its_group_even_before_the_table_is_complete() -> None:
    assert plan(running(POD), NOTHING, complete=False) == Ensure(NAME, QosClass.BURSTABLE)


def test_a_group_that_is_there_is_published() -> None:
    seen = PodSeen(group=NAME, volumes=None, volumes_known=False, row=None)
    assert plan(running(POD), seen) == Ready(NAME, QosClass.BURSTABLE)
    assert plan(terminating(POD), seen) == Ready(NAME, QosClass.BURSTABLE)


def test_nothing_is_made_for_a_pod_that_is_ending_or_was_refused_or_that_only_the_runtime_knows() -> None:
    assert plan(terminating(POD), NOTHING) is None
    assert plan(runtime_only(UID), NOTHING) is None
    assert plan(rejected(POD), NOTHING) == Release()


def test_a_stopped_pods_group_stays_while_its_volumes_are_mounted_and_is_slowed_down_once() -> None:
    seen = PodSeen(group=NAME, volumes=MOUNTED, volumes_known=True, row=READY)
    assert plan(stopped(POD), seen) == Throttle(NAME)
    throttled = PodSeen(group=NAME, volumes=MOUNTED, volumes_known=True, row=READY, throttled=True)
    assert plan(stopped(POD), throttled) is None


def test_a_stopped_pods_group_goes_when_its_volumes_are_unmounted() -> None:
    for known in (True, False):
        seen = PodSeen(group=NAME, volumes=UNMOUNTED, volumes_known=known, row=READY)
        assert plan(stopped(POD), seen) == Destroy(NAME)


def test_no_row_of_volumes_means_unmounted_only_when_volume_manager_vouches_for_its_table() -> None:
    assert plan(stopped(POD), PodSeen(NAME, None, True, READY)) == Destroy(NAME)
    assert plan(stopped(POD), PodSeen(NAME, None, False, READY)) == Throttle(NAME)


def test_a_group_without_a_pod_is_left_alone_until_the_table_is_complete() -> None:
    seen = PodSeen(NAME, None, True, READY)
    assert plan(None, seen, complete=False) is None
    assert plan(None, seen) == Destroy(NAME)


def test_a_released_row_is_kept_while_the_pod_is_known_and_dropped_afterwards() -> None:
    seen = PodSeen(None, UNMOUNTED, True, RELEASED)
    assert plan(stopped(POD), seen) is None
    assert plan(None, seen, complete=False) is None
    assert plan(None, seen) == Forget()


class GroupMachine(RuleBasedStateMachine):
    """One pod, its source, its volumes, and lives of the daemon that may end between any two acts."""

    def __init__(self) -> None:
        super().__init__()
        self.disk: set[CgroupName] = set()
        self.entry: PodEntry | None = None
        self.complete = False
        self.volumes: VolumesPhase | None = None
        self.volumes_known = False
        self.pod: Pod = POD
        self.crash()

    @rule()
    def crash(self) -> None:
        """All that a life knew is gone; it looks at the disk again."""
        self.group = next(iter(self.disk), None)
        self.row: PodCgroupPhase | None = PodCgroupPhase.READY if self.group else None
        self.throttled = False

    @rule()
    def pod_sync_restarts(self) -> None:
        self.complete = False

    @rule(present=st.booleans())
    def pod_sync_is_complete(self, present: bool) -> None:
        self.complete = True
        if not present and (self.entry is None or self.entry.runtime_removable):
            self.entry = None

    @rule()
    @precondition(lambda self: self.entry is None)
    def pod_comes(self) -> None:
        self.entry = running(self.pod)
        self.volumes = VolumesPhase.PENDING

    @rule(to=st.sampled_from([terminating, stopped]))
    @precondition(lambda self: self.entry is not None and not self.entry.runtime_removable)
    def pod_moves_on(self, to: Callable[[Pod], PodEntry]) -> None:
        self.entry = to(self.pod)

    @rule(phase=st.sampled_from([None, *VolumesPhase]), known=st.booleans())
    def volumes_change(self, phase: VolumesPhase | None, known: bool) -> None:
        self.volumes, self.volumes_known = phase, known

    @rule()
    def act(self) -> None:
        seen = PodSeen(self.group, self.volumes, self.volumes_known, self.row, self.throttled)
        want = pod_want(UID, self.entry, POLICY) if self.entry is not None else None
        match plan_pod(want, seen, pods_complete=self.complete):
            case Ensure(name, _):
                assert self.entry is not None and not self.entry.runtime_removable
                self.disk.add(name)
                self.group, self.row = name, PodCgroupPhase.READY
            case Ready(name, _):
                assert name in self.disk
                self.row = PodCgroupPhase.READY
            case Throttle(name):
                assert name in self.disk and not self.throttled
                self.throttled = True
            case Destroy(name):
                assert self.entry is None or self.entry.runtime_removable, "a pod that may run lost its group"
                assert self.complete or self.entry is not None, "absence meant something before `complete`"
                assert self.volumes is not MOUNTED, "memory of its volumes is charged to the group"
                self.disk.discard(name)
                self.group, self.row, self.throttled = None, PodCgroupPhase.RELEASED, False
            case Release():
                assert self.group is None
                self.row = PodCgroupPhase.RELEASED
            case Forget():
                assert self.entry is None and self.group is None
                self.row = None

    @invariant()
    def it_ends_where_it_should(self) -> None:
        """Left alone with everybody back, a few steps reach the one right end, and then nothing more is done."""
        saved = (set(self.disk), self.group, self.row, self.throttled, self.complete, self.volumes, self.volumes_known)
        self.complete, self.volumes_known = True, True
        if self.entry is None or self.entry.runtime_removable:
            self.volumes = UNMOUNTED
        for _ in range(4):
            self.act()
        may_run = self.entry is not None and not self.entry.runtime_removable
        if self.entry is None:
            assert (self.disk, self.row) == (set(), None)
        elif may_run and pod_want(UID, self.entry, POLICY).may_start:
            assert (self.disk, self.row) == ({NAME}, READY)
        elif not may_run:
            assert (self.disk, self.row) == (set(), RELEASED)
        (self.disk, self.group, self.row, self.throttled, self.complete, self.volumes, self.volumes_known) = saved


TestGroupMachine = GroupMachine.TestCase
TestGroupMachine.settings = settings(max_examples=100, stateful_step_count=30, deadline=None)


def test_the_class_decides_where_the_group_lies() -> None:
    want = pod_want("uid-b", running(pod("b")), POLICY)
    assert want.name == PodGroups().pod("uid-b", QosClass.BEST_EFFORT)
