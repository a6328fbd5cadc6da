import asyncio
import json
import os
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from structlog import get_logger
from structlog.testing import capture_logs

from services.pod_sync.sources import files
from services.pod_sync.sources.files import FileSettings, watch_files
from shared.kube.types import Pod

PATIENCE_S = 5.0


def manifest(name: str = "web", image: str = "i", **spec: Any) -> str:
    spec.setdefault("containers", [{"name": "c", "image": image}])
    return json.dumps({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": spec})


def put(path: Path, text: str) -> None:
    path.write_text(text)


def swap(path: Path, text: str) -> None:
    """The way editors and kubeadm write: aside, then renamed."""
    aside = path.with_name(f".{path.name}.tmp")
    aside.write_text(text)
    aside.rename(path)


class Seen:
    """The lists that were delivered."""

    def __init__(self) -> None:
        self.lists: list[dict[str, str]] = []
        self._more = asyncio.Event()

    def __call__(self, pods: Sequence[Pod]) -> None:
        self.lists.append({p.metadata.name.removesuffix("-n"): p.spec.containers[0].image for p in pods})
        self._more.set()

    async def until(self, wanted: Callable[[], bool] | dict[str, str]) -> None:
        async with asyncio.timeout(PATIENCE_S):
            while not (wanted() if callable(wanted) else bool(self.lists) and self.lists[-1] == wanted):
                self._more.clear()
                await self._more.wait()


@asynccontextmanager
async def watching(path: Path, period_s: float = 60.0) -> AsyncIterator[Seen]:
    seen = Seen()
    settings = FileSettings(path=path, node_name="n", period_s=period_s)
    task = asyncio.create_task(watch_files(settings, seen, get_logger()))
    try:
        yield seen
    finally:
        assert not task.done(), task.exception()
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


def test_a_folder_is_read_in_order_of_names_and_other_entries_are_ignored(tmp_path: Path) -> None:
    async def run() -> None:
        put(tmp_path / "b.yaml", manifest("b"))
        put(tmp_path / "a", manifest("a"))
        put(tmp_path / ".hidden.yaml", manifest("hidden"))
        (tmp_path / "folder").mkdir()
        put(tmp_path / "folder" / "inner.yaml", manifest("inner"))
        os.mkfifo(tmp_path / "pipe")
        put(tmp_path / "broken.yaml", "a: b: c")
        (tmp_path / "dangling").symlink_to("nowhere")
        target = tmp_path.parent / f"{tmp_path.name}-target"
        put(target, manifest("linked"))
        (tmp_path / "link.yaml").symlink_to(target)
        with capture_logs() as logs:
            async with watching(tmp_path) as seen:
                await seen.until({"a": "i", "b": "i", "linked": "i"})
        assert list(seen.lists[0]) == ["a", "b", "linked"]
        refused = {Path(entry["path"]).name: entry["error"] for entry in logs if entry["event"] == "manifest.refused"}
        assert refused["folder"].endswith("folder: is a directory, ignored")
        assert refused["pipe"].endswith("pipe: is not a regular file, ignored")
        assert "broken.yaml: couldn't parse as pod(" in refused["broken.yaml"]
        assert set(refused) == {"folder", "pipe", "broken.yaml"}

    asyncio.run(run())


def test_an_empty_folder_is_an_empty_list(tmp_path: Path) -> None:
    async def run() -> None:
        async with watching(tmp_path) as seen:
            await seen.until({})

    asyncio.run(run())


@pytest.mark.parametrize("write", [put, swap])
def test_changes_in_a_folder_are_seen_as_they_happen(tmp_path: Path, write: Callable[[Path, str], None]) -> None:
    async def run() -> None:
        async with watching(tmp_path) as seen:
            await seen.until({})
            write(tmp_path / "web.yaml", manifest())
            await seen.until({"web": "i"})
            write(tmp_path / "web.yaml", manifest(image="j"))
            await seen.until({"web": "j"})
            write(tmp_path / "web.yaml", manifest("other"))
            await seen.until({"other": "i"})
            write(tmp_path / "db.yaml", manifest("db"))
            await seen.until({"other": "i", "db": "i"})
            (tmp_path / "web.yaml").rename(tmp_path / ".web.yaml")
            await seen.until({"db": "i"})
            (tmp_path / "db.yaml").unlink()
            await seen.until({})

    asyncio.run(run())


def test_links_that_appear_are_read_at_once(tmp_path: Path) -> None:
    async def run() -> None:
        folder = tmp_path / "folder"
        folder.mkdir()
        put(tmp_path / "web", manifest())
        put(tmp_path / "db", manifest("db"))
        async with watching(folder) as seen:
            await seen.until({})
            (folder / "web").symlink_to(tmp_path / "web")
            await seen.until({"web": "i"})
            os.link(tmp_path / "db", folder / "db")
            await seen.until({"web": "i", "db": "i"})

    asyncio.run(run())


@pytest.mark.slow
def test_of_many_fast_edits_the_last_one_wins(tmp_path: Path) -> None:
    async def run() -> None:
        async with watching(tmp_path) as seen:
            await seen.until({})
            for number in range(300):
                put(tmp_path / "web.yaml", manifest(image=f"v{number:03}"))
                if number % 50 == 0:
                    await asyncio.sleep(0)
            await seen.until({"web": "v299"})

    asyncio.run(run())


def test_an_edit_of_equal_size_and_time_is_seen(tmp_path: Path) -> None:
    async def run() -> None:
        path = tmp_path / "web.yaml"
        put(path, manifest(image="a"))
        os.utime(path, ns=(10**18, 10**18))
        async with watching(tmp_path) as seen:
            await seen.until({"web": "a"})
            put(path, manifest(image="b"))
            os.utime(path, ns=(10**18, 10**18))
            await seen.until({"web": "b"})

    asyncio.run(run())


def test_a_broken_edit_keeps_the_pod_until_the_whole_folder_is_read_anew(tmp_path: Path) -> None:
    async def run() -> None:
        put(tmp_path / "web.yaml", manifest())
        with capture_logs() as logs:
            async with watching(tmp_path, period_s=60.0) as seen:
                await seen.until({"web": "i"})
                put(tmp_path / "web.yaml", "kind: Pod\nspec: [")
                put(tmp_path / "db.yaml", manifest("db"))
                await seen.until({"web": "i", "db": "i"})
        assert [e["event"] for e in logs] == ["manifest.refused"]
        async with watching(tmp_path, period_s=0.1) as seen:
            await seen.until({"db": "i"})
            put(tmp_path / "db.yaml", "x")
            await seen.until({})

    asyncio.run(run())


def test_one_fault_is_logged_once_however_often_it_is_read(tmp_path: Path) -> None:
    async def run() -> None:
        put(tmp_path / "web.yaml", "nonsense")
        put(tmp_path / "db.yaml", manifest("db", colour="red"))
        with capture_logs() as logs:
            async with watching(tmp_path, period_s=0.02) as seen:
                await seen.until(lambda: len(seen.lists) > 5)
        assert sorted(e["event"] for e in logs) == ["manifest.fields_ignored", "manifest.refused"]
        assert next(e["fields"] for e in logs if "fields" in e) == "spec.colour"

    asyncio.run(run())


def test_of_two_files_with_one_pod_the_last_in_order_counts_and_the_other_returns(tmp_path: Path) -> None:
    async def run() -> None:
        put(tmp_path / "a.yaml", manifest(image="a"))
        put(tmp_path / "b.yaml", manifest(image="b"))
        async with watching(tmp_path, period_s=0.1) as seen:
            await seen.until({"web": "b"})
            (tmp_path / "b.yaml").unlink()
            await seen.until({"web": "a"})
            assert {} not in seen.lists

    asyncio.run(run())


def test_a_missing_path_is_an_empty_list_until_it_appears(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "MISSING_PERIOD_S", 0.02)

    async def run() -> None:
        folder = tmp_path / "manifests"
        with capture_logs() as logs:
            async with watching(folder) as seen:
                await seen.until({})
                folder.mkdir()
                put(folder / "web.yaml", manifest())
                await seen.until({"web": "i"})
                (folder / "web.yaml").unlink()
                folder.rmdir()
                await seen.until({})
                put(folder, manifest("single"))
                await seen.until({"single": "i"})
        assert {e["event"] for e in logs} == {"manifests.not_found"}

    asyncio.run(run())


def test_a_folder_that_is_replaced_is_watched_anew(tmp_path: Path) -> None:
    async def run() -> None:
        for name in ("one", "two"):
            (tmp_path / name).mkdir()
            put(tmp_path / name / "web.yaml", manifest(image=name))
        link = tmp_path / "manifests"
        link.symlink_to("one")
        async with watching(link, period_s=0.1) as seen:
            await seen.until({"web": "one"})
            aside = tmp_path / "aside"
            aside.symlink_to("two")
            aside.rename(link)
            await seen.until({"web": "two"})
            put(tmp_path / "two" / "db.yaml", manifest("db"))
            await seen.until({"web": "two", "db": "i"})

    asyncio.run(run())


@pytest.mark.slow
def test_a_single_file_that_cannot_be_read_changes_nothing(tmp_path: Path) -> None:
    async def run() -> None:
        path = tmp_path / "pod.yaml"
        put(path, "nonsense")
        put(tmp_path / "other.yaml", manifest("other"))
        async with watching(path, period_s=0.05) as seen:
            await asyncio.sleep(0.15)
            assert seen.lists == []
            put(path, manifest())
            await seen.until({"web": "i"})
            swap(path, manifest(image="j"))
            await seen.until({"web": "j"})
            put(path, "nonsense")
            await asyncio.sleep(0.15)
            assert seen.lists[-1] == {"web": "j"}
            path.unlink()
            await seen.until({})

    asyncio.run(run())


def test_without_inotify_the_periodic_reading_remains(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_watch(*_: object, **__: object) -> None:
        raise OSError(24, "inotify instance limit reached")

    monkeypatch.setattr("services.pod_sync.sources.notices.Inotify", no_watch)

    async def run() -> None:
        async with watching(tmp_path, period_s=0.05) as seen:
            await seen.until({})
            put(tmp_path / "web.yaml", manifest())
            await seen.until({"web": "i"})

    asyncio.run(run())


def test_a_folder_that_cannot_be_listed_keeps_its_pods(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def run() -> None:
        put(tmp_path / "web.yaml", manifest())
        with capture_logs() as logs:
            async with watching(tmp_path, period_s=0.05) as seen:
                await seen.until({"web": "i"})

                def broken(_: object) -> list[str]:
                    raise OSError(5, "Input/output error")

                monkeypatch.setattr("os.listdir", broken)
                await asyncio.sleep(0.2)
                assert seen.lists[-1] == {"web": "i"}
                monkeypatch.undo()
                put(tmp_path / "db.yaml", manifest("db"))
                await seen.until({"web": "i", "db": "i"})
        assert [e["error"] for e in logs] == [f"{tmp_path}: Input/output error"]

    asyncio.run(run())
