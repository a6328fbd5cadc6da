"""The file source on real folders: every way a manifest comes, changes and goes."""

import asyncio
import json
import os
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

import structlog
from structlog.testing import capture_logs

from services.pod_sync.sources.files import FileSettings, watch_files
from shared.kube.types import Pod

PATIENCE_S = 10.0


class Listener:
    """The lists that were delivered, and a way to wait for one."""

    def __init__(self) -> None:
        self.lists: list[list[str]] = []
        self.news = asyncio.Event()

    def deliver(self, pods: Sequence[Pod]) -> None:
        self.lists.append(sorted(f"{p.metadata.name}:{p.spec.containers[0].image}" for p in pods))
        self.news.set()

    async def expect(self, *names: str) -> None:
        """Wait until the newest list has exactly these `name-node:image`s."""
        async with asyncio.timeout(PATIENCE_S):
            while not self.lists or self.lists[-1] != sorted(names):
                self.news.clear()
                await self.news.wait()


def manifest(name: str, image: str = "i") -> str:
    spec = {"containers": [{"name": "c", "image": image}]}
    return json.dumps({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": spec})


def watched(path: Path, case: Callable[[Listener], Awaitable[None]], *, period_s: float = 1000.0) -> Listener:
    async def run() -> Listener:
        listener = Listener()
        settings = FileSettings(path=path, node_name="n", period_s=period_s)
        task = asyncio.create_task(watch_files(settings, listener.deliver, structlog.get_logger()))
        try:
            await case(listener)
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
        return listener

    return asyncio.run(run())


def test_manifests_are_noticed_as_they_come_change_and_go(tmp_path: Path) -> None:
    async def case(seen: Listener) -> None:
        await seen.expect()
        (tmp_path / "a.yaml").write_text(manifest("a"))
        await seen.expect("a-n:i")
        (tmp_path / ".b").write_text(manifest("b"))
        (tmp_path / ".b").rename(tmp_path / "b")
        await seen.expect("a-n:i", "b-n:i")
        (tmp_path / "a.yaml").write_text(manifest("a", "new"))
        await seen.expect("a-n:new", "b-n:i")
        (tmp_path / "b").rename(tmp_path / ".b")
        await seen.expect("a-n:new")
        (tmp_path / "a.yaml").unlink()
        await seen.expect()

    watched(tmp_path, case)


def test_links_are_followed(tmp_path: Path) -> None:
    folder = tmp_path / "manifests"
    folder.mkdir()
    (tmp_path / "real").write_text(manifest("linked"))

    async def case(seen: Listener) -> None:
        await seen.expect()
        (folder / "soft").symlink_to(tmp_path / "real")
        await seen.expect("linked-n:i")
        (folder / "soft").unlink()
        await seen.expect()
        os.link(tmp_path / "real", folder / "hard")
        await seen.expect("linked-n:i")

    watched(folder, case)


def test_a_broken_edit_keeps_the_pod_until_the_whole_folder_is_read_again(tmp_path: Path) -> None:
    (tmp_path / "a").write_text(manifest("a"))

    async def case(seen: Listener) -> None:
        await seen.expect("a-n:i")
        (tmp_path / "a").write_text("{")
        (tmp_path / "b").write_text(manifest("b"))
        await seen.expect("a-n:i", "b-n:i")

    watched(tmp_path, case)

    async def again(seen: Listener) -> None:
        await seen.expect("a-n:i", "b-n:i")
        (tmp_path / "a").write_text("{")
        await seen.expect("b-n:i")

    (tmp_path / "a").write_text(manifest("a"))
    watched(tmp_path, again, period_s=0.2)


def test_what_is_no_manifest_is_told_once_with_its_path_and_costs_no_other(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "broken").write_text("kind: [")
    (tmp_path / "huge").write_bytes(b" " * (10 * 1024 * 1024 + 1))
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "good").write_text(manifest("good"))

    async def case(seen: Listener) -> None:
        async with asyncio.timeout(PATIENCE_S):
            while len(seen.lists) < 4:
                seen.news.clear()
                await seen.news.wait()

    with capture_logs() as logs:
        seen = watched(tmp_path, case, period_s=0.05)
    assert all(found == ["good-n:i"] for found in seen.lists)
    told = [entry["path"] for entry in logs if entry["event"] == "manifest.refused"]
    assert sorted(told) == sorted(str(tmp_path / name) for name in ("folder", "broken", "huge", "pipe"))


def test_of_two_files_with_one_pod_the_last_in_order_wins(tmp_path: Path) -> None:
    (tmp_path / "1").write_text(manifest("a", "first"))
    (tmp_path / "2").write_text(manifest("a", "second"))

    async def case(seen: Listener) -> None:
        await seen.expect("a-n:second")

    watched(tmp_path, case)


def test_a_missing_path_is_empty_until_it_is_there_and_again_when_it_is_gone(tmp_path: Path) -> None:
    folder = tmp_path / "later"

    async def case(seen: Listener) -> None:
        await seen.expect()
        folder.mkdir()
        (folder / "a").write_text(manifest("a"))
        await seen.expect("a-n:i")
        (folder / "a").unlink()
        folder.rmdir()
        await seen.expect()
        folder.mkdir()
        (folder / "b").write_text(manifest("b"))
        await seen.expect("b-n:i")

    watched(folder, case)


def test_a_single_file_that_is_broken_changes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "pod.yaml"
    path.write_text("{")

    async def case(seen: Listener) -> None:
        await asyncio.sleep(0.1)
        assert seen.lists == [], "a source that was never read is not ready"
        path.write_text(manifest("a"))
        await seen.expect("a-n:i")
        path.write_text("{")
        (tmp_path / "other").write_text(manifest("b"))
        (tmp_path / "new").write_text(manifest("a", "new"))
        (tmp_path / "new").rename(path)
        await seen.expect("a-n:new")
        assert [] not in seen.lists
        path.unlink()
        await seen.expect()

    watched(path, case)
