"""The real process, killed with SIGKILL while pods come and go: nothing leaks, nothing in use is touched."""

import asyncio
import os
import random
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from services.volume_manager.filesystem import HostFilesystem
from services.volume_manager.mounts import MountCalls
from services.volume_manager.settings import VolumeManagerSettings
from shared.bus import Bus, OwnedTable, TableView
from shared.messages.container_manager import NODE_RESOURCES, NodeResources
from shared.messages.pleg import RUNTIME_PODS
from shared.messages.pod_sync import PODS, PodEntry
from shared.messages.volume_manager import POD_VOLUMES, PodVolumes, VolumesPhase
from tests.volume_manager import pods

pytestmark = [pytest.mark.process, pytest.mark.skipif(os.geteuid() != 0, reason="mounting needs root")]
VOLUMES: list[dict[str, object]] = [
    {"name": "disk", "emptyDir": {}},
    {"name": "memory", "emptyDir": {"medium": "Memory", "sizeLimit": "1Mi"}},
    {"name": "facts", "downwardAPI": {"items": [{"path": "name", "fieldRef": {"fieldPath": "metadata.name"}}]}},
]
KILLS = 6
KEPT = 5


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Path]:
    yield tmp_path
    for mount in HostFilesystem().mounts_below(str(tmp_path)):
        MountCalls().unmount(mount.target)


def start(place: Path) -> "subprocess.Popen[bytes]":
    settings = place / "run" / "settings" / "volume_manager.json"
    settings.parent.mkdir(parents=True, exist_ok=True)
    settings.write_bytes(msgspec.json.encode(VolumeManagerSettings(root_dir=str(place / "root"))))
    command = [sys.executable, "-m", "services.volume_manager", "--run-dir", str(place / "run")]
    with (place / "log").open("ab") as log:
        return subprocess.Popen(command, stdout=log, stderr=log)


async def until(view: TableView[PodVolumes], uids: list[str], phase: VolumesPhase) -> None:
    def there(rows: TableView[PodVolumes]) -> bool:
        return all((row := rows.get(uid)) is not None and row.phase is phase for uid in uids)

    assert await view.wait(there, timeout_s=20)


async def churn(table: OwnedTable[PodEntry], chance: random.Random, *, first: int) -> None:
    """Let twenty pods come, and go again, in the time that a start of the daemon takes."""
    numbers = range(first, first + 20)
    for number in numbers:
        table.put(f"uid-x{number}", pods.running(pods.pod(f"x{number}", VOLUMES)))
        await asyncio.sleep(chance.random() * 0.02)
    for number in numbers:
        table.put(f"uid-x{number}", pods.finished(pods.pod(f"x{number}", VOLUMES)))
        await asyncio.sleep(chance.random() * 0.02)


def test_kills_under_way_leak_nothing_and_touch_nothing_in_use(place: Path) -> None:
    chance = random.Random(7)

    async def scenario() -> None:
        run_dir = place / "run"
        async with (
            Bus("pod_sync", run_dir) as pod_sync,
            Bus("pleg", run_dir) as pleg,
            Bus("container_manager", run_dir) as cm,
        ):
            table, rows = pod_sync.own(PODS), pod_sync.follow(POD_VOLUMES)
            pleg.own(RUNTIME_PODS).mark(complete=True)
            node = NodeResources(capacity={}, allocatable={"memory": "1Gi"}, cpus=1, memory_bytes=1 << 30)
            cm.own(NODE_RESOURCES).put("node", node)
            kept = [f"uid-k{i}" for i in range(KEPT)]
            for uid in kept:
                table.put(uid, pods.running(pods.pod(uid.removeprefix("uid-"), VOLUMES)))
            table.mark(complete=True)
            process = start(place)
            try:
                await until(rows, kept, VolumesPhase.MOUNTED)
                data = [Path(rows.get(uid).volumes[v].host_path) / "data" for uid in kept for v in ("disk", "memory")]  # type: ignore[union-attr]
                for path in data:
                    path.write_text("x")
                for kill in range(KILLS):
                    busy = asyncio.create_task(churn(table, chance, first=kill * 20))
                    await asyncio.sleep(0.1 + chance.random() * 0.3)
                    process.kill()
                    process.wait()
                    process = start(place)
                    await busy
                    assert [path.read_text() for path in data] == ["x"] * len(data)
                gone = [uid for uid in list(table.keys()) if uid not in kept]
                await until(rows, kept, VolumesPhase.MOUNTED)
                assert await rows.wait(
                    lambda r: all((row := r.get(uid)) is not None and row.dir_removed for uid in gone), timeout_s=20
                )
            finally:
                process.terminate()
                process.wait()
        assert sorted(p.name for p in (place / "root" / "pods").iterdir()) == sorted(kept)
        mounted = [m.target for m in HostFilesystem().mounts_below(str(place / "root" / "pods"))]
        assert len(mounted) == 2 * KEPT

    asyncio.run(scenario())
    assert "Traceback" not in (place / "log").read_text()
