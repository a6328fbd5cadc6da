"""`kill_pod`: stored before it is answered, answered when the containers have stopped."""

import asyncio
from pathlib import Path

from services.pod_sync.kill_requests import KillRequests
from services.pod_sync.records.decisions import Decisions
from shared.bus import Call
from shared.messages.pod_sync import KillPod, KillPodReply
from tests.pod_sync.shell.node import Node, static_pod
from tests.pod_sync.shell.test_engine import phase_of, play, until


def requests_of(node: Node) -> KillRequests:
    return KillRequests(node.life.engine.dispatcher, node.life.parts.events_of, now=node.loop.time)


def eviction(uid: str = "u1", **more: object) -> KillPod:
    return KillPod(pod_uid=uid, reason="Evicted", message="too much", evict=True, grace_s=1, **more)  # type: ignore[arg-type]


def call(node: Node, seconds: float = 60.0) -> Call:
    return Call("eviction", node.loop.time() + seconds, "m1")


def test_a_pod_that_is_not_here_is_not_known(tmp_path: Path) -> None:
    async def story(node: Node) -> None:
        assert await requests_of(node).handle(eviction(), call(node)) == KillPodReply(known=False)

    play(tmp_path, story)


def test_the_answer_comes_when_the_containers_have_stopped(tmp_path: Path) -> None:
    async def story(node: Node) -> None:
        node.write(static_pod("u1"))
        await until(lambda: phase_of(node, "u1") == "Running")
        assert await requests_of(node).handle(eviction(), call(node)) == KillPodReply(known=True, stopped=True)
        assert node.world.running() == []
        assert phase_of(node, "u1") == "Failed"

    play(tmp_path, story)


def test_who_does_not_wait_is_answered_after_the_decision_was_stored(tmp_path: Path) -> None:
    async def story(node: Node) -> None:
        node.write(static_pod("u1"))
        await until(lambda: phase_of(node, "u1") == "Running")
        reply = await requests_of(node).handle(eviction(wait=False), call(node))
        assert reply == KillPodReply(known=True)
        (stored,) = Decisions(node.folder / "decisions").load()
        assert (stored.uid, stored.ending.evicted, stored.ending.grace_s) == ("u1", True, 1)
        assert stored.ending.override is not None
        assert stored.ending.override.reason == "Evicted"
        assert node.world.running() == [("u1", "c0")]

    play(tmp_path, story)


def test_the_same_request_again_changes_nothing(tmp_path: Path) -> None:
    async def story(node: Node) -> None:
        node.write(static_pod("u1"))
        await until(lambda: phase_of(node, "u1") == "Running")
        requests = requests_of(node)
        replies = await asyncio.gather(*(requests.handle(eviction(), call(node)) for _ in range(3)))
        assert replies == [KillPodReply(known=True, stopped=True)] * 3
        assert await requests.handle(eviction(), call(node)) == KillPodReply(known=True, stopped=True)

    play(tmp_path, story)


def test_a_pod_that_does_not_stop_is_told_of_after_the_patience_is_over(tmp_path: Path) -> None:
    async def story(node: Node) -> None:
        node.write(static_pod("u1"))
        await until(lambda: phase_of(node, "u1") == "Running")
        node.world.down = True
        reply = await requests_of(node).handle(eviction(), call(node))
        assert reply == KillPodReply(known=True, stopped=False)
        text = "Container runtime did not kill the pod within specified grace period."
        assert ("u1", None, "ExceededGracePeriod", text) in node.events

    play(tmp_path, story)


def test_a_caller_with_less_patience_is_answered_in_time(tmp_path: Path) -> None:
    async def story(node: Node) -> None:
        node.write(static_pod("u1"))
        await until(lambda: phase_of(node, "u1") == "Running")
        node.world.down = True
        before = node.loop.time()
        reply = await requests_of(node).handle(eviction(), call(node, 2.0))
        assert reply == KillPodReply(known=True, stopped=False)
        assert node.loop.time() - before < 2.0
        assert all(reason != "ExceededGracePeriod" for _, _, reason, _ in node.events)

    play(tmp_path, story)
