"""The whole daemon on a real bus beside peers and a runtime that do as they are told."""

import asyncio
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Coroutine, Iterator
from pathlib import Path
from typing import Any

import grpc
import pytest

from services.eviction.settings import EvictionSettings
from services.eviction.shell import watched_thresholds
from shared.cri import api
from shared.cri.client import RuntimeClient
from shared.errors import Invalid
from shared.kube.types import Pod
from shared.messages.base import Empty
from shared.messages.daemon import METRICS
from shared.messages.pleg import ContainerState, RuntimePod, SandboxState
from shared.messages.pod_sync import KillPod, KillPodReply, PodPhase
from shared.messages.volume_manager import PodVolumeUsage, VolumeUsage
from tests.eviction.pods import MI, container, entry, pod
from tests.eviction.world import World
from tests.shared.cri.pods import container_config, create_container, run_pod, sandbox_config

GONE = {"phase": PodPhase.FINISHED, "may_run": False, "runtime_removable": True, "content_removable": True}


@pytest.fixture
def folder() -> Iterator[Path]:
    """Short: bus addresses have at most 107 bytes."""
    path = Path(tempfile.mkdtemp(prefix="octolet-"))
    yield path
    shutil.rmtree(path)


def run(folder: Path, story: Callable[[World], Coroutine[Any, Any, None]]) -> World:
    world = World(folder)

    async def whole() -> None:
        async with world.peers():
            await story(world)

    asyncio.run(whole())
    return world


def runtime_row(of: Pod, **containers: str) -> RuntimePod:
    """Running containers by name with their ids."""
    states = [
        ContainerState(id=id, name=name, attempt=0, sandbox_id="s", state="running") for name, id in containers.items()
    ]
    sandbox = SandboxState(id="s", name="p", namespace="default", attempt=0, ready=True, created_at_ns=1)
    return RuntimePod(
        name=of.metadata.name, namespace="default", listed_at_mono=1.0, sandboxes=[sandbox], containers=states
    )


def old(world: World) -> None:
    """Everything in the runtime is an hour old: of a pod that nobody knows only old things go."""
    hour_ago = time.time_ns() - 3600 * 10**9
    for sandbox in world.runtime.sandboxes.values():
        sandbox.created_at = hour_ago
    for n, (_, status) in enumerate(world.runtime.containers.values()):
        status.created_at = hour_ago + n


def test_memory_pressure_ends_the_greediest_pod_with_upstreams_words(folder: Path) -> None:
    greedy = pod("greedy", container("c", requests={"memory": "10Mi"}), terminationGracePeriodSeconds=30)
    modest = pod("modest", container("c", requests={"memory": "500Mi"}))
    static = pod("static", annotations={"kubernetes.io/config.source": "file"})

    async def story(world: World) -> None:
        def killed(order: KillPod) -> KillPodReply:
            world.available = 900 * MI
            world.pods.put(order.pod_uid, entry(greedy, **GONE))
            return KillPodReply(known=True, stopped=True)

        world.on_kill = killed
        for each in (greedy, modest, static):
            world.pods.put(each.metadata.uid, entry(each))
        world.runtime_pods.put("uid-greedy", runtime_row(greedy, c="c1"))
        world.pod_memory = {"uid-greedy": 300 * MI, "uid-modest": 400 * MI, "uid-static": 800 * MI}
        world.pod_containers = {"uid-greedy": {"c1": 290 * MI}}
        world.available = 50 * MI
        async with world.daemon():
            await world.until(lambda: world.killed, "a pod is ended")
            await world.until(lambda: world.events("Evicted"), "the pod is told")
            world.metrics = (await world.server.call(METRICS, Empty(), owner="eviction")).text
            row = world.pressure.get("node")
            assert row is not None and row.conditions == ["MemoryPressure"]

    world = run(folder, story)
    message = (
        "The node was low on resource: memory. Threshold quantity: 100Mi, available: 50Mi. "
        "Container c was using 290Mi, request is 10Mi, has larger consumption of memory. "
    )
    (order,) = world.killed
    assert order == KillPod(
        pod_uid="uid-greedy",
        reason="Evicted",
        message=message,
        evict=True,
        grace_s=1,
        disruption_message=message,
        phase="Failed",
        wait=True,
    )
    (told,) = world.events("Evicted")
    assert (told.involved_object.name, told.type, told.message) == ("greedy", "Warning", message)
    assert told.annotations == {
        "offending_containers": "c",
        "offending_containers_usage": "290Mi",
        "starved_resource": "memory",
    }
    assert 'kubelet_evictions{eviction_signal="memory.available"} 1.0' in world.metrics
    attempts = {
        (e.involved_object.kind, e.involved_object.name, e.message) for e in world.events("EvictionThresholdMet")
    }
    assert attempts == {("Node", "node1", "Attempting to reclaim memory")}


def test_only_one_pod_is_ended_while_what_it_held_is_not_free_yet(folder: Path) -> None:
    async def story(world: World) -> None:
        world.on_kill = lambda order: KillPodReply(known=True)
        for name in ("a", "b"):
            world.pods.put(f"uid-{name}", entry(pod(name)))
        world.pod_memory = {"uid-a": 300 * MI, "uid-b": 200 * MI}
        world.available = 50 * MI
        async with world.daemon():
            await world.until(lambda: world.killed, "a pod is ended")
            before = time.monotonic()
            while time.monotonic() < before + 0.3:
                await asyncio.sleep(0.01)
                assert [k.pod_uid for k in world.killed] == ["uid-a"]
            world.pods.put("uid-a", entry(pod("a"), **GONE))
            await world.until(lambda: len(world.killed) == 2, "the next pod goes")

    assert [k.pod_uid for k in run(folder, story).killed] == ["uid-a", "uid-b"]


def test_a_pod_that_pod_sync_does_not_know_is_passed_over(folder: Path) -> None:
    async def story(world: World) -> None:
        def answer(order: KillPod) -> KillPodReply:
            if order.pod_uid == "uid-b":
                world.available = 900 * MI
            return KillPodReply(known=order.pod_uid == "uid-b", stopped=True)

        world.on_kill = answer
        for name in ("a", "b"):
            world.pods.put(f"uid-{name}", entry(pod(name)))
        world.pod_memory = {"uid-a": 300 * MI, "uid-b": 200 * MI}
        world.available = 50 * MI
        async with world.daemon():
            await world.until(lambda: world.events("Evicted"), "the second is ended")

    world = run(folder, story)
    assert [k.pod_uid for k in world.killed] == ["uid-a", "uid-b"]
    assert [e.involved_object.uid for e in world.events("Evicted")] == ["uid-b"]


def test_a_condition_outlives_the_daemon_for_its_transition_period(folder: Path) -> None:
    async def story(world: World) -> None:
        world.available = 50 * MI
        async with world.daemon():
            await world.until(lambda: world.pressure.get("node") is not None, "published")
        world.available = 900 * MI
        async with world.daemon():
            await world.until(lambda: world.pressure.complete, "published again")
            row = world.pressure.get("node")
            assert row is not None and row.conditions == ["MemoryPressure"]
        async with world.daemon(eviction_pressure_transition_period_s=0.01):
            await world.until(lambda: (r := world.pressure.get("node")) is not None and not r.conditions, "over")

    run(folder, story)


def test_peers_that_are_away_make_it_degraded_and_disks_are_still_watched(folder: Path) -> None:
    async def story(world: World) -> None:
        world.runtime.failing["ImageFsInfo"] = (grpc.StatusCode.UNAVAILABLE, "starting")
        async with world.daemon(eviction_hard={"nodefs.available": "99.9%"}):
            await world.until(lambda: (r := world.pressure.get("node")) is not None and r.conditions, "disk pressure")
            state = next(iter(world.state.values()))
            assert any("ask the runtime where images lie" in text for text in state.degraded)
            row = world.pressure.get("node")
            assert row is not None and "imagefs.available" not in row.signals and "nodefs.available" in row.signals
            del world.runtime.failing["ImageFsInfo"]
            await world.until(lambda: "imagefs.available" in world.pressure.get("node").signals, "found")  # type: ignore[union-attr]

    run(folder, story)


def test_when_disk_is_short_garbage_goes_before_pods(folder: Path) -> None:
    async def story(world: World) -> None:
        world.runtime.images = {"sha256:a": api.Image(id="sha256:a", size=5)}
        world.pods.put("uid-a", entry(pod("a")))
        world.pods.mark(complete=True)
        world.on_kill = lambda order: KillPodReply(known=True, stopped=True)
        async with world.daemon(eviction_hard={"nodefs.available": "99.9%"}, image_gc_high_threshold_percent=100):
            await world.until(lambda: world.killed, "a pod is ended in the end")
            assert world.runtime.images == {}

    world = run(folder, story)
    assert world.killed[0].message.startswith("The node was low on resource: ephemeral-storage. Threshold quantity: ")
    assert world.runtime.calls.index("RemoveImage") > 0


def test_an_empty_dir_beyond_its_limit_ends_its_pod_without_any_pressure(folder: Path) -> None:
    full = pod("full", volumes=[{"name": "v", "emptyDir": {"sizeLimit": "1Mi"}}])

    async def story(world: World) -> None:
        world.pods.put("uid-full", entry(full))
        world.pods.put("uid-other", entry(pod("other")))
        world.volumes.put("uid-full", PodVolumeUsage(volumes=[VolumeUsage(name="v", used_bytes=2 * MI)]))
        world.on_kill = lambda order: KillPodReply(known=True)
        async with world.daemon():
            await world.until(lambda: world.killed, "it is ended")
            world.pods.put("uid-full", entry(full, phase=PodPhase.TERMINATING, reason="Evicted"))
            world.pods.put("uid-full", entry(full, **GONE))

    world = run(folder, story)
    assert [(k.pod_uid, k.message, k.disruption_message) for k in world.killed[:1]] == [
        ("uid-full", 'Usage of EmptyDir volume "v" exceeds the limit "1Mi". ', "")
    ]
    assert {k.pod_uid for k in world.killed} == {"uid-full"}


def test_nothing_is_collected_before_pod_sync_has_named_its_pods(folder: Path) -> None:
    logs = folder / "logs" / "default_web_uid-x"

    async def story(world: World) -> None:
        logs.mkdir(parents=True)
        async with RuntimeClient(world.endpoint) as cri:
            _, container_id = await run_pod(cri, "uid-x")
        world.runtime.exit_container(container_id)
        old(world)
        async with world.daemon():
            await world.until(lambda: world.pressure.complete, "it runs")
            await asyncio.sleep(0.2)
            assert "ListContainers" not in world.runtime.calls
            assert (len(world.runtime.containers), len(world.runtime.sandboxes)) == (1, 1)
            world.pods.mark(complete=True)
            await world.until(lambda: not world.runtime.containers, "containers of a pod that nobody knows go")
            world.runtime.sandboxes[next(iter(world.runtime.sandboxes))].state = api.SANDBOX_NOTREADY
            await world.until(lambda: not world.runtime.sandboxes, "then its sandbox")
            assert logs.exists(), "its log folder is young"
            os.utime(logs, (1, 1))
            await world.until(lambda: not logs.exists(), "then its logs")

    run(folder, story)


def test_the_newest_dead_container_of_a_live_pod_stays_and_its_running_one_is_not_touched(folder: Path) -> None:
    async def story(world: World) -> None:
        world.pods.put("uid-a", entry(pod("a")))
        world.pods.mark(complete=True)
        async with RuntimeClient(world.endpoint) as cri:
            sandbox_id, first = await run_pod(cri, "uid-a")
            ids = [first]
            for attempt in range(1, 4):
                config = sandbox_config("uid-a")
                made = await create_container(cri, sandbox_id, config, container_config(config, attempt=attempt))
                await cri.start_container(api.StartContainerRequest(container_id=made))
                ids.append(made)
        old(world)
        for each in ids[:3]:
            world.runtime.exit_container(each)
        async with world.daemon():
            await world.until(lambda: len(world.runtime.containers) == 2, "two go")
            await asyncio.sleep(0.2)
            assert set(world.runtime.containers) == set(ids[2:])
            assert len(world.runtime.sandboxes) == 1

    run(folder, story)


def test_a_pod_whose_content_may_go_loses_all_its_containers_logs_and_links_at_once(folder: Path) -> None:
    log, link = folder / "logs" / "default_web_uid-a" / "c" / "0.log", folder / "links"

    async def story(world: World) -> None:
        log.parent.mkdir(parents=True)
        link.mkdir()
        world.pods.put("uid-a", entry(pod("a")))
        world.pods.mark(complete=True)
        async with RuntimeClient(world.endpoint) as cri:
            _, container_id = await run_pod(cri, "uid-a")
        for path in (log, log.with_name("0.log.20260101-000000"), log.with_name("0.log.20250101-000000.gz")):
            path.touch()
        (link / f"web_default_c-{container_id}.log").symlink_to(log)
        world.runtime.exit_container(container_id)
        state = ContainerState(id=container_id, name="c", attempt=0, sandbox_id="s", state="exited", log_path=str(log))
        row = RuntimePod(name="web", namespace="default", listed_at_mono=1.0, containers=[state])
        async with world.daemon(container_gc_period_s=3600.0):
            await world.until(lambda: "ListContainers" in world.runtime.calls, "the first collection is over")
            world.runtime_pods.put("uid-a", row)
            await asyncio.sleep(0.1)
            assert container_id in world.runtime.containers, "the newest stays while the pod is there"
            world.pods.put("uid-a", entry(pod("a"), **GONE))
            await world.until(lambda: not world.runtime.containers, "it goes")
            await world.until(lambda: not list(log.parent.iterdir()) and not list(link.iterdir()), "with its logs")

    run(folder, story)


def test_images_are_collected_when_their_disk_is_full_and_told(folder: Path) -> None:
    async def story(world: World) -> None:
        world.pods.mark(complete=True)
        async with RuntimeClient(world.endpoint) as cri:
            await run_pod(cri, "uid-a")
        used = "docker.io/library/busybox:1.36"
        world.runtime.images = {
            "sha256:used": api.Image(id="sha256:used", size=5, repo_tags=[used]),
            "sha256:free": api.Image(id="sha256:free", size=7),
            "sha256:pinned": api.Image(id="sha256:pinned", size=7, pinned=True),
        }
        async with world.daemon(image_gc_high_threshold_percent=1, image_gc_low_threshold_percent=0):
            await world.until(lambda: "sha256:free" in world.removed_images, "it goes")
            await world.until(lambda: world.events("FreeDiskSpaceFailed"), "not enough")
            await world.until(lambda: world.events("ImageGCFailed"), "twice in a row")
            assert set(world.runtime.images) == {"sha256:used", "sha256:pinned"}
            row = world.removed_images.get("sha256:free")
            assert row is not None and row.size_bytes == 7

    run(folder, story)


def test_a_log_that_grew_is_rotated(folder: Path) -> None:
    log = folder / "logs" / "p" / "c" / "0.log"

    async def story(world: World) -> None:
        log.parent.mkdir(parents=True)
        log.write_text("x" * 2048)
        state = ContainerState(id="c1", name="c", attempt=0, sandbox_id="s", state="running", log_path=str(log))
        row = RuntimePod(name="p", namespace="d", listed_at_mono=1.0, containers=[state])
        world.runtime_pods.put("uid-p", row)
        async with world.daemon(container_log_max_size="1Ki"):
            await world.until(lambda: "c1" in world.runtime.reopened, "the runtime is told")
            assert len(list(log.parent.glob("0.log.*"))) == 1

    run(folder, story)


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"eviction_hard": {"x": "1"}}, "unsupported eviction signal x"),
        ({"eviction_soft": {"memory.available": "1Gi"}}, "grace period must be specified"),
        ({"eviction_soft_grace_period": {"memory.available": "soon"}}, "'soon' is no duration"),
    ],
)
def test_wrong_thresholds_are_refused_by_name(changes: dict[str, Any], text: str) -> None:
    with pytest.raises(Invalid) as caught:
        watched_thresholds(EvictionSettings(**changes))
    assert text in str(caught.value)
