"""Killed between any two system calls, volume_manager leaks nothing and touches nothing that is in use."""

import asyncio

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from services.volume_manager.ports import FileKind
from shared.kube.types import Pod
from shared.messages.pleg import RuntimePod
from shared.messages.pod_sync import PodEntry
from shared.messages.volume_manager import VolumesPhase
from tests.volume_manager import pods
from tests.volume_manager.daemon import ROOT, Daemon, Rows
from tests.volume_manager.fake_machine import FakeFilesystem, FakeMachine, Killed, Node, World

DISK: dict[str, object] = {"name": "disk", "emptyDir": {}}
MEMORY: dict[str, object] = {"name": "memory", "emptyDir": {"medium": "Memory", "sizeLimit": "1Mi"}}
HOST: dict[str, object] = {"name": "host", "hostPath": {"path": "/etc"}}
FACTS: dict[str, object] = {
    "name": "facts",
    "downwardAPI": {"items": [{"path": "d/name", "fieldRef": {"fieldPath": "metadata.name"}}]},
}
KINDS = [DISK, MEMORY, HOST, FACTS]
STAGES = [pods.running, pods.stopping, pods.stopped, pods.finished]
PATHS = {"disk": "kubernetes.io~empty-dir/disk", "memory": "kubernetes.io~empty-dir/memory"}


def live_once(
    world: World, rows: Rows[PodEntry], calls_left: int | None, runtime: Rows[RuntimePod] | None = None
) -> Daemon | None:
    """One life of the daemon; None: it was killed."""
    daemon = Daemon(FakeMachine(FakeFilesystem(world, calls_left)), rows, runtime)
    try:
        return daemon.run()
    except Killed:
        return None


def pod_dir(of: Pod) -> str:
    return f"{ROOT}/pods/{of.metadata.uid}"


def write_data(world: World, of: Pod) -> None:
    """What a container does as soon as its volumes are there."""
    files = FakeFilesystem(world)
    for volume in of.spec.volumes:
        if volume.name in PATHS:
            path = f"{pod_dir(of)}/volumes/{PATHS[volume.name]}/data"
            files._layer(path).nodes[path] = Node(FileKind.FILE, 0o644)


def has_data(world: World, of: Pod) -> bool:
    files = FakeFilesystem(world)
    return all(
        files.stat(f"{pod_dir(of)}/volumes/{PATHS[v.name]}/data") is not None
        for v in of.spec.volumes
        if v.name in PATHS
    )


def facts_of(world: World, of: Pod) -> bytes | None:
    """What a reader of the downwardAPI volume sees; it must hold one version and nothing else."""
    files, volume = FakeFilesystem(world), f"{pod_dir(of)}/volumes/kubernetes.io~downward-api/facts"
    version = files.read_link(f"{volume}/..data")
    assert files.list_dir(volume) == sorted(["..data", str(version), "d"])
    assert files.read_link(f"{volume}/d") == "..data/d"
    return files.read_file(f"{volume}/{version}/d/name")


def harmed(world: World) -> list[str]:
    """What was destroyed besides half-written or outdated versions of written files, which nobody sees."""
    return [path for path in world.destroyed if "/facts/.." not in path]


def nothing_left(world: World) -> bool:
    left = [p for layer in world.layers for p in layer.nodes if p.startswith(f"{ROOT}/pods/")]
    return not left and len(world.layers) == 1


def test_a_whole_life_may_be_cut_at_every_single_system_call() -> None:
    pod = pods.pod("a", KINDS, securityContext={"fsGroup": 123})
    for cut in range(300):
        world = World()
        rows: Rows[PodEntry] = Rows()
        killed = False
        for stage in STAGES:
            rows["uid-a"] = stage(pod)
            world.destroyed.clear()
            daemon = live_once(world, rows, cut)
            if daemon is None:
                killed = True
                daemon = live_once(world, rows, None)
            assert daemon is not None
            if stage in (pods.running, pods.stopping):
                assert harmed(world) == []
                row = daemon.volumes["uid-a"]
                assert row.phase is VolumesPhase.MOUNTED and set(row.volumes) == {"disk", "memory", "host", "facts"}
                assert sum(layer.mount.fstype == "tmpfs" for layer in world.layers) == 2
                assert facts_of(world, pod) == b"a"
                if stage is pods.running:
                    write_data(world, pod)
                assert has_data(world, pod)
            else:
                assert daemon.volumes["uid-a"].phase is VolumesPhase.UNMOUNTED
                assert len(world.layers) == 1
        assert daemon is not None and daemon.volumes["uid-a"].dir_removed
        assert nothing_left(world)
        if not killed:
            break
    else:
        pytest.fail("the life has more system calls than were cut")
    assert cut > 10, "the cuts must really have hit something"


Step = tuple[int, int | None]


@settings(max_examples=150, deadline=None)
@given(
    kinds=st.lists(
        st.lists(st.sampled_from(KINDS), unique_by=lambda v: str(v["name"]), max_size=3), min_size=1, max_size=3
    ),
    steps=st.lists(st.tuples(st.integers(0, 2), st.none() | st.integers(0, 25)), max_size=14),
)
def test_any_history_of_pods_and_kills_ends_clean(kinds: list[list[dict[str, object]]], steps: list[Step]) -> None:
    """Pods walk through their stages in any order among each other; the daemon is killed after any number of calls."""
    world, rows, written = World(), Rows[PodEntry](), set[str]()
    all_pods = [pods.pod(f"p{i}", volumes) for i, volumes in enumerate(kinds)]
    stage = dict.fromkeys(range(len(all_pods)), -1)
    for index, calls in steps:
        i = index % len(all_pods)
        stage[i] = min(stage[i] + 1, len(STAGES) - 1)
        uid = all_pods[i].metadata.uid
        rows[uid] = STAGES[stage[i]](all_pods[i])
        world.destroyed.clear()
        daemon = live_once(world, rows, calls)
        in_use = [pod_dir(all_pods[j]) for j, s in stage.items() if s in (0, 1)]
        assert not [p for p in harmed(world) for d in in_use if p == d or p.startswith(d + "/")]
        for j, s in stage.items():
            if all_pods[j].metadata.uid in written and s in (0, 1):
                assert has_data(world, all_pods[j])
        if daemon is not None:
            for j, s in stage.items():
                row = daemon.volumes.get(all_pods[j].metadata.uid)
                if s == 0 and row is not None and row.phase is VolumesPhase.MOUNTED:
                    write_data(world, all_pods[j])
                    written.add(all_pods[j].metadata.uid)
    for one in all_pods:
        rows[one.metadata.uid] = pods.finished(one)
    last = live_once(world, rows, None)
    assert last is not None and all(row.dir_removed for row in last.volumes.values())
    assert nothing_left(world)


def test_absence_means_nothing_until_the_table_of_pods_is_complete() -> None:
    pod = pods.pod("a", KINDS)
    world = World()
    assert live_once(world, Rows({"uid-a": pods.running(pod)}), None)
    write_data(world, pod)
    world.destroyed.clear()
    empty: Rows[PodEntry] = Rows()
    empty.complete = False
    daemon = live_once(world, empty, None)
    assert daemon is not None and harmed(world) == [] and daemon.volumes == {}
    assert has_data(world, pod)


def test_an_orphan_whose_containers_run_is_left_alone_and_removed_when_they_stop() -> None:
    pod = pods.pod("a", KINDS)
    world = World()
    assert live_once(world, Rows({"uid-a": pods.running(pod)}), None)
    write_data(world, pod)
    world.destroyed.clear()
    runtime = Rows({"uid-a": pods.in_runtime("running")})
    assert live_once(world, Rows(), None, runtime)
    assert harmed(world) == []
    runtime["uid-a"] = pods.in_runtime("exited")
    assert live_once(world, Rows(), None, runtime)
    assert nothing_left(world)


def test_a_removed_pod_that_comes_back_with_the_same_uid_is_mounted_again() -> None:
    pod = pods.pod("a", KINDS)

    async def scenario() -> None:
        rows = Rows({"uid-a": pods.running(pod)})
        daemon = Daemon(FakeMachine(FakeFilesystem(World())), rows)
        await daemon.boot()
        rows["uid-a"] = pods.finished(pod)
        daemon.reconciler.pod_changed("uid-a", rows["uid-a"])
        # No waiting: the tear-down has just been started.
        rows["uid-a"] = pods.running(pod)
        daemon.reconciler.pod_changed("uid-a", rows["uid-a"])
        await daemon.settle()
        assert daemon.volumes["uid-a"].phase is VolumesPhase.MOUNTED

    asyncio.run(scenario())
