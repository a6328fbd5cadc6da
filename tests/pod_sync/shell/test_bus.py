"""The adapters to the bus, over real sockets: peers that come late, die, and say what they have."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from services.pod_sync.peers import BusPeers
from services.pod_sync.ports import Waited
from shared.bus import Bus, Call
from shared.errors import Invalid, Transient
from shared.kube.types import Node as KubeNode
from shared.kube.types import NodeAddress, NodeStatus, ObjectMeta, Pod
from shared.messages.base import Empty
from shared.messages.container_manager import (
    ADMIT,
    POD_RESOURCES,
    UNPREPARE_POD,
    Admit,
    Admitted,
    PodCgroupPhase,
    PodResources,
    UnpreparePod,
)
from shared.messages.node_status import NODE, NodeEntry
from shared.messages.pleg import RUNTIME_HEALTH, RuntimeCondition, RuntimeHealth
from shared.messages.volume_manager import POD_VOLUMES, PodVolumes, VolumesPhase


class Degraded:
    """What was said to be away."""

    def __init__(self) -> None:
        self.texts: dict[str, str] = {}

    def __call__(self, key: str, text: str | None) -> None:
        if text is None:
            self.texts.pop(key, None)
        else:
            self.texts[key] = text


@asynccontextmanager
async def peers_on(folder: Path) -> AsyncIterator[tuple[BusPeers, Degraded]]:
    degraded = Degraded()
    async with asyncio.timeout(10), Bus("pod_sync", folder) as bus:
        yield BusPeers(bus, degraded), degraded


def test_volumes_are_waited_for_until_their_manager_says_mounted(tmp_path: Path) -> None:
    async def story() -> None:
        async with peers_on(tmp_path) as (peers, _), Bus("volume_manager", tmp_path) as manager:
            never = asyncio.Event()
            waiting = asyncio.create_task(peers.wait_volumes("u1", never, 5.0))
            table = manager.own(POD_VOLUMES)
            table.put("u1", PodVolumes(phase=VolumesPhase.PENDING))
            assert await peers.wait_volumes("u1", never, 0.05) is Waited.TIMED_OUT
            table.put("u1", PodVolumes(phase=VolumesPhase.MOUNTED, pod_dir="/x"))
            assert await waiting is Waited.DONE
            volumes = peers.volumes("u1")
            assert volumes is not None
            assert volumes.pod_dir == "/x"

    asyncio.run(story())


def test_a_wait_ends_when_it_is_cancelled(tmp_path: Path) -> None:
    async def story() -> None:
        async with peers_on(tmp_path) as (peers, _):
            cancel = asyncio.Event()
            waiting = asyncio.create_task(peers.wait_resources("u1", cancel))
            await asyncio.sleep(0.01)
            cancel.set()
            assert await waiting is Waited.CANCELLED

    asyncio.run(story())


def test_gone_is_said_or_follows_from_a_complete_table(tmp_path: Path) -> None:
    async def story() -> None:
        async with peers_on(tmp_path) as (peers, _), Bus("volume_manager", tmp_path) as manager:
            table = manager.own(POD_VOLUMES)
            table.put("u1", PodVolumes(phase=VolumesPhase.MOUNTED))
            said = asyncio.create_task(peers.wait_unmounted("u1"))
            unknown = asyncio.create_task(peers.wait_unmounted("u2"))
            await peers.wait_volumes("u1", asyncio.Event(), 5.0)
            assert not said.done()
            assert not unknown.done()  # absence means nothing yet
            table.mark(complete=True)
            await unknown
            table.put("u1", PodVolumes(phase=VolumesPhase.UNMOUNTED))
            await said

    asyncio.run(story())


def test_a_group_that_was_released_is_not_ready_for_the_next_life_of_the_pod(tmp_path: Path) -> None:
    async def story() -> None:
        async with peers_on(tmp_path) as (peers, _), Bus("container_manager", tmp_path) as manager:
            table = manager.own(POD_RESOURCES)
            table.put("u1", PodResources(phase=PodCgroupPhase.RELEASED))
            await peers.wait_released("u1")
            waiting = asyncio.create_task(peers.wait_resources("u1", asyncio.Event()))
            await asyncio.sleep(0.05)
            assert not waiting.done()
            table.put("u1", PodResources(phase=PodCgroupPhase.READY, cgroup_parent="/kubepods/u1"))
            assert await waiting is Waited.DONE

    asyncio.run(story())


def test_admission_waits_for_a_manager_that_is_not_there_yet_or_cannot_answer_yet(tmp_path: Path) -> None:
    pod = Pod(metadata=ObjectMeta(name="web", namespace="default", uid="u1"))

    async def story() -> None:
        async with peers_on(tmp_path) as (peers, degraded):
            answer = asyncio.create_task(peers.admit(pod, ["u2"]))
            peers.report()
            assert degraded.texts["container_manager"] == "container_manager is away; waiting for it"
            await asyncio.sleep(0.05)
            asked: list[Admit] = []

            async def admit(request: Admit, call: Call) -> Admitted:
                asked.append(request)
                if len(asked) < 3:
                    raise Transient("still looking at the machine")
                return Admitted(admitted=False, reason="OutOfcpu")

            async with Bus("container_manager", tmp_path) as manager:
                manager.own(POD_RESOURCES).mark(complete=True)
                manager.answer(ADMIT, admit)
                assert (await answer).reason == "OutOfcpu"
                assert asked[-1].others == ["u2"]
                await peers.pod_resources.wait(lambda view: view.complete, 5)
                peers.report()
                assert "container_manager" not in degraded.texts

    asyncio.run(story())


def test_what_a_peer_refuses_is_not_asked_again(tmp_path: Path) -> None:
    async def story() -> None:
        async with peers_on(tmp_path) as (peers, _), Bus("container_manager", tmp_path) as manager:
            asked = 0

            async def unprepare(request: UnpreparePod, call: Call) -> Empty:
                nonlocal asked
                asked += 1
                raise Invalid("no such claim")

            manager.answer(UNPREPARE_POD, unprepare)
            try:
                await peers.unprepare("u1")
            except Invalid as error:
                assert str(error) == "no such claim"
            assert asked == 1

    asyncio.run(story())


def test_network_and_addresses_are_as_their_owners_say(tmp_path: Path) -> None:
    async def story() -> None:
        async with (
            peers_on(tmp_path) as (peers, _),
            Bus("pleg", tmp_path) as pleg,
            Bus("node_status", tmp_path) as node_status,
        ):
            assert peers.network_error() is None
            assert peers.node_ips() == ()
            addresses = [
                NodeAddress(type="InternalIP", address="192.0.2.1"),
                NodeAddress(type="Hostname", address="node1"),
                NodeAddress(type="InternalIP", address="2001:db8::1"),
            ]
            node = KubeNode(metadata=ObjectMeta(name="node1"), status=NodeStatus(addresses=addresses))
            nodes = node_status.own(NODE)
            nodes.put("node", NodeEntry(node=node))
            nodes.mark(complete=True)
            health = pleg.own(RUNTIME_HEALTH)
            health.put(
                "runtime",
                RuntimeHealth(
                    conditions=[
                        RuntimeCondition(type="RuntimeReady", status=True),
                        RuntimeCondition(
                            type="NetworkReady", status=False, reason="NetworkPluginNotReady", message="cni"
                        ),
                    ]
                ),
            )
            health.mark(complete=True)
            await peers.node.wait(lambda view: view.complete, 5)
            await peers.health.wait(lambda view: view.complete, 5)
            assert peers.node_ips() == ("192.0.2.1", "2001:db8::1")
            assert peers.network_error() == (
                "container runtime network not ready: NetworkReady=false reason:NetworkPluginNotReady message:cni"
            )

    asyncio.run(story())
