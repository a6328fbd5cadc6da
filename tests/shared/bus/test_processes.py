"""The bus between real processes that are killed, stopped and flooded."""

import asyncio
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from shared.bus import Bus, Change, TableView
from shared.errors import Transient
from tests.shared.bus.peer import digest, rows_of
from tests.shared.bus.rows import ADD_ONE, THINGS, Row

REPOSITORY = Path(__file__).parents[3]

pytestmark = [pytest.mark.slow, pytest.mark.process]


@contextmanager
def peer(role: str, run_dir: Path, argument: int) -> Iterator[subprocess.Popen[str]]:
    """One process of `peer.py`; killed with SIGKILL at the end of the block."""
    command = [sys.executable, "-m", "tests.shared.bus.peer", role, str(run_dir), str(argument)]
    with subprocess.Popen(command, cwd=REPOSITORY, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield process
        finally:
            process.kill()


def life_of(view: TableView[Row]) -> int:
    return int(view.as_of_mono)


def test_a_reader_follows_an_owner_that_is_killed_again_and_again(tmp_path: Path) -> None:
    """Whenever the view says complete it is exactly the table of that life at that mark; requests are answered meanwhile."""

    async def scenario() -> None:
        async with Bus("pod_sync", tmp_path) as reader:
            view = reader.follow(THINGS)
            shadow: dict[str, Row] = {}
            checked = 0

            def on_change(change: Change[Row]) -> None:
                assert shadow.get(change.key) == change.old
                if change.new is None:
                    del shadow[change.key]
                else:
                    shadow[change.key] = change.new

            def on_mark() -> None:
                nonlocal checked
                if view.complete:
                    checked += 1
                    rows = dict(view.items())
                    extra = rows.pop("extra", Row(n=0))
                    assert rows == rows_of(life_of(view))
                    assert extra.n == round((view.as_of_mono - life_of(view)) * 1e6)
                    assert shadow == dict(view.items())

            view.on_change(on_change)
            view.on_mark(on_mark)
            answers: set[str] = set()

            async def keep_asking() -> None:
                while True:
                    answers.add((await reader.call(ADD_ONE, Row(n=1), timeout_s=20)).text)

            asking = asyncio.create_task(keep_asking())
            for life in range(1, 9):
                with peer("owner", tmp_path, life):
                    assert await view.wait(lambda v, life=life: v.complete and life_of(v) == life, 20)  # type: ignore[misc]
                    while str(life) not in answers:
                        await asyncio.sleep(0.01)
                    await asyncio.sleep(0.003 * life)
                assert len(view) > 0
            asking.cancel()
            assert checked > 50

    asyncio.run(asyncio.wait_for(scenario(), 100))


def test_a_reader_that_was_stopped_beyond_every_queue_ends_with_the_right_table(tmp_path: Path) -> None:
    async def scenario() -> None:
        writes = 60_000
        async with Bus("pleg", tmp_path) as owner:
            table = owner.own(THINGS)
            table.mark(complete=True, as_of_mono=0.5)
            with peer("reader", tmp_path, writes) as process:
                assert process.stdout is not None
                assert await asyncio.to_thread(process.stdout.readline) == "following\n"
                process.send_signal(signal.SIGSTOP)
                for n in range(writes):
                    table.put(f"row-{n % 500}", Row(n=n, text="x" * 300))
                    if n % 500 == 0:
                        await asyncio.sleep(0)
                table.delete("row-3")
                table.mark(as_of_mono=float(writes))
                await asyncio.sleep(0.2)
                process.send_signal(signal.SIGCONT)
                line = await asyncio.wait_for(asyncio.to_thread(process.stdout.readline), 30)
            their_digest, fetched = line.split()
            assert their_digest == digest(dict(table.items()))
            assert int(fetched) > 1, "nothing was lost: the test proves nothing"

    asyncio.run(scenario())


def test_a_stopped_reader_does_not_hold_up_its_owner_or_the_others(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with Bus("pleg", tmp_path) as owner, Bus("prober", tmp_path) as other:
            table = owner.own(THINGS)
            table.mark(complete=True)
            with peer("reader", tmp_path, 1) as process:
                assert process.stdout is not None
                await asyncio.to_thread(process.stdout.readline)
                process.send_signal(signal.SIGSTOP)
                view = other.follow(THINGS)
                assert await view.wait(lambda v: v.complete, 5)
                worst = 0.0
                for n in range(10_000):
                    started = time.monotonic()
                    table.put("a", Row(n=n, text="x" * 1000))
                    worst = max(worst, time.monotonic() - started)
                    if n % 100 == 0:
                        await asyncio.sleep(0)
                assert await view.wait(lambda v: v.get("a") == table.get("a"), 10)
                assert worst < 1.0

    asyncio.run(scenario())


def test_a_call_to_an_owner_that_was_killed_ends_at_its_deadline(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with Bus("pod_sync", tmp_path) as caller:
            with peer("owner", tmp_path, 1):
                assert (await caller.call(ADD_ONE, Row(n=1), timeout_s=20)).n == 2
            started = time.monotonic()
            with pytest.raises(Transient, match=r"no answer within 0\.5 s"):
                await caller.call(ADD_ONE, Row(n=1), timeout_s=0.5)
            assert time.monotonic() - started < 3

    asyncio.run(scenario())


def test_an_owner_under_a_storm_of_noise_goes_on_answering(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with Bus("pod_sync", tmp_path) as caller:
            view = caller.follow(THINGS)
            with peer("owner", tmp_path, 1) as owner:
                assert await view.wait(lambda v: v.complete, 20)
                generation = view.generation
                with peer("garbage", tmp_path, 5000) as noise:
                    for n in range(50):
                        assert (await caller.call(ADD_ONE, Row(n=n), timeout_s=20)).n == n + 1
                    assert await asyncio.to_thread(noise.wait, 30) == 0
                assert (await caller.call(ADD_ONE, Row(n=7), timeout_s=20)).n == 8
                assert owner.poll() is None
                assert view.generation == generation

    asyncio.run(scenario())
