"""Single stories of the whole daemon on a fake node, in virtual time."""

import asyncio
import itertools
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

from services.pod_sync.runtime.model import StartError
from shared.messages.container_manager import Admitted
from shared.messages.pod_sync import PodPhase
from shared.messages.prober import ContainerProbes, ProbeOutcome
from tests.pod_sync.shell.node import Node, static_pod
from tests.pod_sync.shell.virtual_loop import VirtualLoop

Story = Callable[[Node], Coroutine[Any, Any, None]]


def play(folder: Path, story: Story) -> None:
    """Run a story on a node; its virtual minutes take milliseconds."""

    async def whole() -> None:
        node = Node(folder)
        await asyncio.sleep(2.0)
        try:
            await story(node)
            node.check()
        finally:
            await node.close()

    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        runner.run(whole())


async def until(holds: Callable[[], bool], within_s: float = 30.0) -> float:
    """Wait until it holds; how many virtual seconds it took."""
    loop = asyncio.get_running_loop()
    started = loop.time()
    while not holds():
        assert loop.time() - started < within_s, "it did not happen in time"
        await asyncio.sleep(0.005)
    return loop.time() - started


def phase_of(node: Node, uid: str) -> str:
    status = node.life.statuses.current(uid)
    return status.phase if status is not None else ""


def test_a_manifest_becomes_a_running_pod_in_the_time_that_the_runtime_takes(tmp_path: Path) -> None:
    async def story(node: Node) -> None:
        node.write(static_pod("u1"))
        took = await until(lambda: phase_of(node, "u1") == "Running")
        acts_s = 0.1 + 0.15  # sandbox; create and start
        assert took < acts_s + 0.15, took

    play(tmp_path, story)


def test_many_pods_start_side_by_side(tmp_path: Path) -> None:
    async def story(node: Node) -> None:
        for number in range(30):
            node.write(static_pod(f"u{number}", f"web{number}"))
        took = await until(lambda: len(node.world.running()) == 30)
        assert took < 1.5, took

    play(tmp_path, story)


def test_a_pod_whose_volumes_do_not_come_does_not_delay_another(tmp_path: Path) -> None:
    async def story(node: Node) -> None:
        node.write(static_pod("u1"))
        await until(lambda: ("u1", "c0") in node.world.running())
        node.write(static_pod("u2", "stuck"))
        await until(lambda: "u2" in node.world.rows and node.world.rows["u2"].admitted)
        node.peers.away = True
        container = node.world.newest("u1", "c0")
        assert container is not None
        node.world.end(container.id, 1)
        await until(lambda: ("u1", "c0", 1) in node.world.starts, within_s=5.0)
        assert node.world.newest("u2", "c0") is None
        node.peers.come_back()
        await until(lambda: ("u2", "c0") in node.world.running(), within_s=2.0)
        assert [reason for _, _, reason, _ in node.events if reason.startswith("Failed")] == []

    play(tmp_path, story)


def test_a_removed_manifest_stops_the_pod_and_leaves_no_row(tmp_path: Path) -> None:
    async def story(node: Node) -> None:
        node.write(static_pod("u1"))
        await until(lambda: phase_of(node, "u1") == "Running")
        assert node.world.rows["u1"].configured
        node.unlink("u1")
        assert not node.world.rows["u1"].configured
        await until(lambda: node.world.rows.get("u1") is None)
        assert node.world.running() == []
        assert not any(state.ready for _, state in node.world.sandboxes.values())
        assert node.life.statuses.finished == ["u1"]
        assert node.life.statuses.current("u1") is None

    play(tmp_path, story)


def test_a_new_version_of_a_manifest_starts_the_moment_the_old_one_is_gone(tmp_path: Path) -> None:
    async def story(node: Node) -> None:
        node.write(static_pod("old"))
        await until(lambda: phase_of(node, "old") == "Running")
        node.unlink("old")
        node.write(static_pod("new"))
        took = await until(lambda: ("new", "c0") in node.world.running())
        assert ("old", "c0") not in node.world.running()
        assert took < node.world.exit_s + 1.5, took

    play(tmp_path, story)


def test_a_container_that_keeps_exiting_is_started_with_growing_pauses(tmp_path: Path) -> None:
    async def story(node: Node) -> None:
        node.write(static_pod("u1"))
        times = []
        for attempt in range(4):
            await until(lambda attempt=attempt: ("u1", "c0", attempt) in node.world.starts, within_s=120.0)  # type: ignore[misc]
            times.append(asyncio.get_running_loop().time())
            container = node.world.newest("u1", "c0")
            assert container is not None
            node.world.end(container.id, 1)
        gaps = [later - earlier for earlier, later in itertools.pairwise(times)]
        assert gaps[0] < 2.0
        assert 10.0 <= gaps[1] < 17.0
        assert 20.0 <= gaps[2] < 32.0
        messages = {message for _, _, reason, message in node.events if reason == "BackOff"}
        assert messages == {"Back-off restarting failed container c0 in pod web_default(u1)"}

    play(tmp_path, story)


def test_a_start_that_a_crash_cut_off_is_not_made_to_wait(tmp_path: Path) -> None:
    async def story(node: Node) -> None:
        node.write(static_pod("u1"))
        await until(lambda: ("u1", "c0") in node.world.running())
        container = node.world.newest("u1", "c0")
        assert container is not None
        node.world.end(container.id, 1)
        await until(lambda: len(node.life.parts.backoff.loops.entries) == 1)
        node.crash()
        assert ("u1", "c0", 1) not in node.world.starts
        node.restart()
        await until(lambda: ("u1", "c0", 1) in node.world.starts, within_s=3.0)

    play(tmp_path, story)


def test_a_container_whose_start_a_crash_cut_off_is_the_first_instance_still(tmp_path: Path) -> None:
    async def story(node: Node) -> None:
        node.write(static_pod("u1", policy="Never"))
        await until(lambda: node.world.starting != set())
        node.crash()
        node.restart()
        await until(lambda: node.world.containers == {})
        node.world.starts.append(("u1", "c0", 0))  # its log file is there, though nothing of it ran
        node.crash()
        node.restart()
        took = await until(lambda: ("u1", "c0") in node.world.running())
        assert took < 2.0, took
        assert node.world.newest("u1", "c0").attempt == 0  # type: ignore[union-attr]
        assert [reason for _, _, reason, _ in node.events if reason.startswith("Failed")] == []

    play(tmp_path, story)


def test_why_a_container_waits_is_remembered_until_it_starts(tmp_path: Path) -> None:
    async def story(node: Node) -> None:
        node.world.fail_start["c0"] = StartError("ErrImagePull", "no such image")
        node.write(static_pod("u1"))
        await until(lambda: "c0" in node.life.progress.reasons("u1"))
        assert node.life.progress.reasons("u1")["c0"].reason == "ErrImagePull"
        del node.world.fail_start["c0"]
        await until(lambda: ("u1", "c0") in node.world.running(), within_s=16.0)
        await until(lambda: node.life.progress.reasons("u1") == {})

    play(tmp_path, story)


def test_one_container_that_cannot_start_does_not_hide_the_others(tmp_path: Path) -> None:
    async def story(node: Node) -> None:
        node.world.fail_start["c0"] = StartError("CreateContainerError", "no")
        node.write(static_pod("u1", containers=2))
        took = await until(lambda: phase_of(node, "u1") == "Running")
        assert took < 1.0, took

    play(tmp_path, story)


def test_a_failed_liveness_probe_restarts_the_container(tmp_path: Path) -> None:
    async def story(node: Node) -> None:
        node.write(static_pod("u1"))
        await until(lambda: phase_of(node, "u1") == "Running")
        container = node.world.newest("u1", "c0")
        assert container is not None
        node.peers.outcomes[container.id] = ContainerProbes(pod_uid="u1", container="c0", liveness=ProbeOutcome.FAILURE)
        node.life.engine.sync("u1")
        await until(lambda: ("u1", "c0", 1) in node.world.starts, within_s=5.0)
        assert node.world.newest("u1", "c0").attempt == 1  # type: ignore[union-attr]

    play(tmp_path, story)


def test_a_pod_that_is_not_admitted_is_shown_and_never_started(tmp_path: Path) -> None:
    async def story(node: Node) -> None:
        node.peers.refused["u1"] = Admitted(admitted=False, reason="OutOfcpu", message="too little")
        node.write(static_pod("u1"))
        await until(lambda: node.world.rows["u1"].phase is PodPhase.FINISHED)
        row = node.world.rows["u1"]
        assert (row.admitted, row.phase, row.may_run, row.reason) == (False, PodPhase.FINISHED, False, "OutOfcpu")
        assert node.events == [("u1", None, "OutOfcpu", "too little")]
        await asyncio.sleep(120.0)
        assert node.world.uids() == set()
        node.unlink("u1")
        await until(lambda: "u1" not in node.world.rows)

    play(tmp_path, story)


def test_a_pod_that_only_the_runtime_knows_is_ended_and_its_row_says_so(tmp_path: Path) -> None:
    async def story(node: Node) -> None:
        node.write(static_pod("u1"))
        await until(lambda: phase_of(node, "u1") == "Running")
        node.crash()
        node.manifests.clear()
        node.restart()
        await until(lambda: node.world.rows["u1"].source == "runtime")
        row = node.world.rows["u1"]
        assert (row.source, row.may_run, row.pod.metadata.name) == ("runtime", True, "web")
        assert not row.configured
        await until(lambda: node.world.running() == [] and "u1" not in node.world.rows)

    play(tmp_path, story)


def test_a_restart_touches_no_container_and_keeps_the_status(tmp_path: Path) -> None:
    async def story(node: Node) -> None:
        pods = [static_pod(f"u{number}", f"web{number}") for number in range(5)]
        for pod in pods:
            node.write(pod)
        await until(lambda: all(phase_of(node, pod.metadata.uid) == "Running" for pod in pods))
        before = dict(node.world.containers)
        for _ in range(5):
            node.crash()
            await asyncio.sleep(0.3)
            node.restart()
            assert all(phase_of(node, pod.metadata.uid) == "Running" for pod in pods)
            await asyncio.sleep(5.0)
        assert node.world.containers == before

    play(tmp_path, story)


def test_a_container_that_no_listing_showed_yet_is_not_started_again_after_a_crash(tmp_path: Path) -> None:
    async def story(node: Node) -> None:
        node.write(static_pod("u1"))
        await until(lambda: ("u1", "c0") in node.world.running())
        node.crash()
        assert node.pleg.rows == {}
        node.restart()
        await asyncio.sleep(5.0)
        assert node.world.starts == [("u1", "c0", 0)]

    play(tmp_path, story)


def test_a_manifest_that_was_replaced_meanwhile_starts_after_the_old_pod_is_gone(tmp_path: Path) -> None:
    async def story(node: Node) -> None:
        node.world.exit_s = 20.0
        node.write(static_pod("old"))
        await until(lambda: phase_of(node, "old") == "Running")
        node.crash()
        del node.manifests["old"]
        node.manifests["new"] = static_pod("new")
        node.all_read = False  # so nobody may be called an orphan yet
        node.restart()
        await until(lambda: node.world.rows["old"].source == "runtime")
        while ("old", "c0") in node.world.running():
            assert ("new", "c0") not in node.world.running()
            await asyncio.sleep(0.05)
        await until(lambda: ("new", "c0") in node.world.running(), within_s=2.0)

    play(tmp_path, story)


def test_after_a_restart_pods_that_run_need_no_answer_of_a_manager_that_is_away(tmp_path: Path) -> None:
    async def story(node: Node) -> None:
        node.write(static_pod("u1"))
        await until(lambda: phase_of(node, "u1") == "Running")
        node.peers.away = True
        node.crash()
        node.manifests["u0"] = static_pod("u0", "new")
        node.restart()
        container = node.world.newest("u1", "c0")
        assert container is not None
        node.world.end(container.id, 1)
        await until(lambda: ("u1", "c0", 1) in node.world.starts, within_s=5.0)
        assert not node.world.rows["u0"].admitted

    play(tmp_path, story)


def test_an_evicted_pod_stays_evicted_across_restarts_and_starts_anew_when_its_manifest_comes_again(
    tmp_path: Path,
) -> None:
    async def story(node: Node) -> None:
        pod = static_pod("u1")
        node.write(pod)
        await until(lambda: phase_of(node, "u1") == "Running")
        assert node.evict("u1")
        node.crash()
        node.restart()
        assert node.world.rows["u1"].configured
        await until(lambda: node.world.running() == [] and phase_of(node, "u1") == "Failed")
        node.crash()
        node.restart()
        await asyncio.sleep(60.0)
        assert node.world.running() == []
        assert node.world.rows["u1"].phase is PodPhase.FINISHED
        node.unlink("u1")
        node.write(pod)
        await until(lambda: ("u1", "c0") in node.world.running())

    play(tmp_path, story)


def test_the_end_of_a_pod_goes_on_after_a_restart_with_the_grace_that_is_left(tmp_path: Path) -> None:
    async def story(node: Node) -> None:
        node.world.exit_s = 1000.0
        node.write(static_pod("u1", grace_s=20))
        await until(lambda: phase_of(node, "u1") == "Running")
        node.unlink("u1")
        await asyncio.sleep(8.0)
        node.crash()
        await asyncio.sleep(1.0)
        node.restart()
        took = await until(lambda: node.world.running() == [])
        assert 9.0 < took < 13.0, took

    play(tmp_path, story)


def test_a_job_that_is_over_is_not_run_again(tmp_path: Path) -> None:
    async def story(node: Node) -> None:
        node.write(static_pod("u1", policy="Never"))
        await until(lambda: ("u1", "c0") in node.world.running())
        container = node.world.newest("u1", "c0")
        assert container is not None
        node.world.end(container.id, 0)
        await until(lambda: phase_of(node, "u1") == "Succeeded")
        await until(lambda: node.world.rows["u1"].phase is PodPhase.FINISHED)
        node.crash()
        node.restart()
        await asyncio.sleep(120.0)
        assert node.world.starts == [("u1", "c0", 0)]

    play(tmp_path, story)


def test_without_a_network_only_pods_that_need_none_start(tmp_path: Path) -> None:
    async def story(node: Node) -> None:
        node.peers.network = "NetworkReady=false"
        node.write(static_pod("u1"))
        await until(lambda: any(reason == "NetworkNotReady" for _, _, reason, _ in node.events))
        assert ("u1", None, "NetworkNotReady", "network is not ready: NetworkReady=false") in node.events
        node.peers.network = None
        await until(lambda: ("u1", "c0") in node.world.running(), within_s=3.0)

    play(tmp_path, story)


def test_a_runtime_that_is_away_is_waited_for(tmp_path: Path) -> None:
    async def story(node: Node) -> None:
        node.write(static_pod("u1"))
        await until(lambda: phase_of(node, "u1") == "Running")
        node.world.down = True
        node.unlink("u1")
        await asyncio.sleep(30.0)
        node.world.down = False
        await until(lambda: "u1" not in node.world.rows)

    play(tmp_path, story)
