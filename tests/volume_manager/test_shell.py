"""The daemon on a real bus, with real directories."""

import asyncio
import os
import stat
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from services.volume_manager.filesystem import HostFilesystem
from services.volume_manager.mounts import MountCalls
from services.volume_manager.settings import VolumeManagerSettings
from services.volume_manager.shell import serve
from shared.bus import Bus, OwnedTable, TableView
from shared.messages.container_manager import NODE_RESOURCES, NodeResources
from shared.messages.daemon import DAEMON, EVENTS, DaemonState, EventRecord
from shared.messages.pleg import RUNTIME_PODS
from shared.messages.pod_sync import PODS, PodEntry
from shared.messages.volume_manager import POD_VOLUMES, VOLUME_USAGE, PodVolumes, PodVolumeUsage, VolumesPhase
from shared.service import open_context
from tests.volume_manager import pods

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="the root directory is mounted on itself")
SOON_S = 5.0


@dataclass
class Node:
    """What the other daemons see and say."""

    pods: OwnedTable[PodEntry]
    volumes: TableView[PodVolumes]
    usage: TableView[PodVolumeUsage]
    events: TableView[EventRecord]
    daemon: TableView[DaemonState]
    node: OwnedTable[NodeResources]

    async def row(self, uid: str, test: Callable[[PodVolumes], bool]) -> PodVolumes:
        assert await self.volumes.wait(lambda v: (row := v.get(uid)) is not None and test(row), timeout_s=SOON_S)
        row = self.volumes.get(uid)
        assert row is not None
        return row


@pytest.fixture
def run_dir(tmp_path: Path) -> Iterator[Path]:
    yield tmp_path / "r"
    for mount in HostFilesystem().mounts_below(str(tmp_path)):
        MountCalls().unmount(mount.target)


@asynccontextmanager
async def peers(run_dir: Path) -> AsyncIterator[Node]:
    """pod_sync, pleg and container_manager as far as volume_manager sees them."""
    async with (
        Bus("pod_sync", run_dir) as pod_sync,
        Bus("pleg", run_dir) as pleg,
        Bus("container_manager", run_dir) as cm,
    ):
        pleg.own(RUNTIME_PODS).mark(complete=True)
        yield Node(
            pods=pod_sync.own(PODS),
            volumes=pod_sync.follow(POD_VOLUMES),
            usage=pod_sync.follow(VOLUME_USAGE),
            events=pod_sync.follow(EVENTS, owner="volume_manager"),
            daemon=pod_sync.follow(DAEMON, owner="volume_manager"),
            node=cm.own(NODE_RESOURCES),
        )


@asynccontextmanager
async def volume_manager(run_dir: Path) -> AsyncIterator[None]:
    settings = VolumeManagerSettings(root_dir=str(run_dir.parent / "root"))
    async with open_context("volume_manager", settings, run_dir) as ctx:
        task = ctx.tasks.create_task(serve(ctx))
        yield
        ctx.stopping.set()
        await task


def test_a_pod_is_mounted_used_stopped_and_removed(run_dir: Path) -> None:
    pod = pods.pod(
        "a", [{"name": "disk", "emptyDir": {}}, {"name": "host", "hostPath": {"path": "/etc", "type": "Directory"}}]
    )

    async def scenario() -> None:
        async with peers(run_dir) as node, volume_manager(run_dir):
            node.pods.put("uid-a", pods.running(pod))
            node.pods.mark(complete=True)
            row = await node.row("uid-a", lambda r: r.phase is VolumesPhase.MOUNTED)
            directory = Path(row.pod_dir)
            assert stat.S_IMODE(directory.stat().st_mode) == 0o750
            assert row.volumes["host"].host_path == "/etc"
            disk = Path(row.volumes["disk"].host_path)
            assert (
                disk == directory / "volumes/kubernetes.io~empty-dir/disk"
                and stat.S_IMODE(disk.stat().st_mode) == 0o777
            )
            (disk / "data").write_bytes(b"x" * 8192)
            assert await node.usage.wait(lambda u: u.get("uid-a") is not None, timeout_s=SOON_S)
            usage = node.usage.get("uid-a")
            assert usage is not None and [v.name for v in usage.volumes] == ["disk"]
            assert await node.volumes.wait(lambda v: v.complete, timeout_s=SOON_S)
            node.pods.put("uid-a", pods.stopped(pod))
            await node.row("uid-a", lambda r: r.phase is VolumesPhase.UNMOUNTED)
            assert not disk.exists() and directory.exists()
            node.pods.put("uid-a", pods.finished(pod))
            await node.row("uid-a", lambda r: r.dir_removed)
            assert not directory.exists()
            node.pods.delete("uid-a")
            assert await node.volumes.wait(lambda v: "uid-a" not in v, timeout_s=SOON_S)
            assert await node.usage.wait(lambda u: "uid-a" not in u, timeout_s=SOON_S)

    asyncio.run(scenario())


def test_after_a_restart_mounted_volumes_stay_and_a_forgotten_pod_goes(run_dir: Path) -> None:
    kept = pods.pod("kept", [{"name": "m", "emptyDir": {"medium": "Memory"}}])
    forgotten = pods.pod("forgotten", [{"name": "m", "emptyDir": {"medium": "Memory"}}])

    async def scenario() -> None:
        async with peers(run_dir) as node:
            node.node.put(
                "node", NodeResources(capacity={}, allocatable={"memory": "1Gi"}, cpus=1, memory_bytes=1 << 30)
            )
            async with volume_manager(run_dir):
                for pod in (kept, forgotten):
                    node.pods.put(pod.metadata.uid, pods.running(pod))
                node.pods.mark(complete=True)
                for pod in (kept, forgotten):
                    row = await node.row(pod.metadata.uid, lambda r: r.phase is VolumesPhase.MOUNTED)
                    (Path(row.volumes["m"].host_path) / "data").write_text("x")
            data = Path(node.volumes.get("uid-kept").volumes["m"].host_path) / "data"  # type: ignore[union-attr]
            # pod_sync restarts too, and has not yet read its sources.
            node.pods.mark(complete=False)
            node.pods.delete("uid-forgotten")
            generation = node.volumes.generation
            async with volume_manager(run_dir):
                assert await node.daemon.wait(lambda d: (s := d.get("volume_manager")) is not None and s.ready, SOON_S)
                assert await node.volumes.wait(lambda v: v.generation != generation, SOON_S)
                await asyncio.sleep(0.1)
                assert data.exists() and (data.parents[4] / "uid-forgotten").exists()
                assert not node.volumes.complete
                node.pods.mark(complete=True)
                assert await node.volumes.wait(lambda v: v.complete and "uid-forgotten" not in v, timeout_s=SOON_S)
                assert (await node.row("uid-kept", lambda r: True)).phase is VolumesPhase.MOUNTED
                assert data.read_text() == "x"
                for _ in range(100):
                    if not (data.parents[4] / "uid-forgotten").exists():
                        break
                    await asyncio.sleep(0.02)
                else:
                    pytest.fail("the forgotten pod's directory is still there")

    asyncio.run(scenario())


def test_failures_become_events_with_upstreams_words_and_a_row_that_names_the_volume(run_dir: Path) -> None:
    pod = pods.pod("a", [{"name": "h", "hostPath": {"path": "/nothing", "type": "Socket"}}, {"name": "r", "rbd": {}}])

    async def scenario() -> None:
        async with peers(run_dir) as node, volume_manager(run_dir):
            node.pods.put("uid-a", pods.running(pod))
            row = await node.row("uid-a", lambda r: len(r.errors) == 2)
            assert row.phase is VolumesPhase.PENDING and set(row.errors) == {"h", "r"}
            assert await node.events.wait(lambda e: len(e) >= 2, timeout_s=SOON_S)
            told = {e.message for e in node.events.values()}
            assert told >= {
                'MountVolume.SetUp failed for volume "h" : hostPath type check failed, /nothing is not a socket file, '
                'unable to determine its type: path "/nothing" does not exist',
                'MountVolume.FindPluginBySpec failed for volume "r" : no volume plugin matched: '
                "volume kind rbd of volume r, pod default/a, is not supported",
            }
            assert {(e.type, e.reason, e.involved_object.uid) for e in node.events.values()} == {
                ("Warning", "FailedMount", "uid-a")
            }

    asyncio.run(scenario())


def test_a_memory_volume_waits_for_the_nodes_allocatable_without_an_event(run_dir: Path) -> None:
    pod = pods.pod("a", [{"name": "m", "emptyDir": {"medium": "Memory"}}])

    async def scenario() -> None:
        async with peers(run_dir) as node, volume_manager(run_dir):
            node.pods.put("uid-a", pods.running(pod))
            row = await node.row("uid-a", lambda r: bool(r.errors))
            assert row.errors == {"m": "the node's allocatable resources are not known yet"}
            assert len(node.events) == 0
            node.node.put(
                "node", NodeResources(capacity={}, allocatable={"memory": "8Mi"}, cpus=1, memory_bytes=1 << 30)
            )
            row = await node.row("uid-a", lambda r: r.phase is VolumesPhase.MOUNTED)
            seen = os.statvfs(row.volumes["m"].host_path)
            assert seen.f_blocks * seen.f_frsize == 8 << 20

    asyncio.run(scenario())


def test_a_uid_that_would_lead_elsewhere_is_refused(run_dir: Path) -> None:
    pod = pods.pod("a", [])

    async def scenario() -> None:
        async with peers(run_dir) as node, volume_manager(run_dir):
            node.pods.put("../evil", pods.running(pod))
            row = await node.row("../evil", lambda r: bool(r.dir_error))
            assert row.phase is VolumesPhase.PENDING and row.dir_error == "invalid pod UID '../evil'"
            assert not (run_dir.parent / "root" / "evil").exists()

    asyncio.run(scenario())
