"""Statuses are kept before they are shown, shown as soon as they change, and kept across restarts."""

import asyncio
from pathlib import Path

from msgspec.structs import replace

from services.pod_sync.ports import StatusInputs
from services.pod_sync.records.progress import Progress, WaitingReason
from services.pod_sync.rows import Rejection
from services.pod_sync.statuses import StatusBook, StatusSources
from services.pod_sync.workers.model import StatusOverride
from shared.kube.types import Probe
from shared.messages.pleg import ContainerState, RuntimePod, SandboxState
from shared.messages.pod_sync import PodStatusEntry
from shared.messages.prober import ContainerProbes, ProbeOutcome
from tests.pod_sync.shell.node import static_pod
from tests.pod_sync.shell.peers import FakePeers
from tests.pod_sync.shell.world import World


class Shown:
    """The table, and everything that was ever put into it."""

    def __init__(self) -> None:
        self.rows: dict[str, PodStatusEntry] = {}
        self.puts = 0

    def put(self, key: str, value: PodStatusEntry) -> None:
        self.puts += 1
        self.rows[key] = value

    def delete(self, key: str) -> None:
        self.rows.pop(key, None)


class Book:
    """A book on a folder, with what its sources say in a test's hands."""

    def __init__(self, folder: Path) -> None:
        self.shown = Shown()
        self.peers = FakePeers(World(now=lambda: 0.0))
        self.read: list[str] = []
        self.now = 1_800_000_000.0
        self.progress = Progress(folder)
        sources = StatusSources(self.peers, lambda: "containerd", self._last_words, wall=lambda: self.now)
        self.book = StatusBook(self.shown, self.progress, sources)
        self.book.restore()

    async def _last_words(self, state: ContainerState) -> str:
        self.read.append(state.id)
        return f"bye from {state.id}"


def listing(*containers: ContainerState) -> RuntimePod:
    box = SandboxState(
        id="s", name="web", namespace="default", attempt=0, ready=True, created_at_ns=1, ips=["10.0.0.1"]
    )
    return RuntimePod(name="web", namespace="default", listed_at_mono=1.0, sandboxes=[box], containers=list(containers))


def container(state: str = "running", **more: object) -> ContainerState:
    return ContainerState(id="c0-0", name="c0", attempt=0, sandbox_id="s", state=state, started_at_ns=10**18, **more)  # type: ignore[arg-type]


POD = static_pod("u1")


def test_a_status_that_did_not_change_is_not_published_again(tmp_path: Path) -> None:
    async def story() -> None:
        one = Book(tmp_path)
        first = await one.book.update("u1", StatusInputs(pod=POD, seen=listing(container())))
        one.now += 100
        assert await one.book.update("u1", StatusInputs(pod=POD, seen=listing(container()))) == first
        assert one.shown.puts == 1
        assert one.shown.rows["u1"].status.phase == "Running"

    asyncio.run(story())


def test_a_restart_shows_what_was_shown_before_anything_is_known(tmp_path: Path) -> None:
    async def story() -> None:
        before = Book(tmp_path)
        status = await before.book.update("u1", StatusInputs(pod=POD, seen=listing(container())))
        after = Book(tmp_path)
        assert after.shown.rows == before.shown.rows
        after.now += 100
        assert await after.book.update("u1", StatusInputs(pod=POD, seen=listing(container()))) == status
        assert after.shown.puts == 1

    asyncio.run(story())


def test_the_last_words_of_a_container_are_read_once(tmp_path: Path) -> None:
    async def story() -> None:
        one = Book(tmp_path)
        ended = listing(container("exited", exit_code=1, reason="Error", finished_at_ns=2 * 10**18))
        await one.book.update("u1", StatusInputs(pod=POD, seen=ended))
        await one.book.update("u1", StatusInputs(pod=POD, seen=ended))
        assert one.read == ["c0-0"]
        terminated = one.shown.rows["u1"].status.container_statuses[0].state.terminated
        assert terminated is not None
        assert terminated.message == "bye from c0-0"

    asyncio.run(story())


def test_a_probe_outcome_shows_without_a_run(tmp_path: Path) -> None:
    async def story() -> None:
        one = Book(tmp_path)
        await one.book.refresh("u1")
        assert one.shown.puts == 0
        probed = replace(POD.spec.containers[0], readiness_probe=Probe(period_seconds=1))
        pod = replace(POD, spec=replace(POD.spec, containers=[probed]))
        await one.book.update("u1", StatusInputs(pod=pod, seen=listing(container())))
        one.peers.outcomes["c0-0"] = ContainerProbes(pod_uid="u1", container="c0", readiness=ProbeOutcome.FAILURE)
        await one.book.refresh("u1")
        assert not one.shown.rows["u1"].status.container_statuses[0].ready

    asyncio.run(story())


def test_why_a_container_waits_shows_with_the_next_computation(tmp_path: Path) -> None:
    async def story() -> None:
        one = Book(tmp_path)
        await one.book.update("u1", StatusInputs(pod=POD, seen=listing()))
        one.book.set_reasons("u1", {"c0": WaitingReason("ErrImagePull", "no such image")})
        status = await one.book.update("u1", StatusInputs(pod=POD, seen=listing()))
        waiting = status.container_statuses[0].state.waiting
        assert waiting is not None
        assert (waiting.reason, waiting.message) == ("ErrImagePull", "no such image")

    asyncio.run(story())


def test_an_end_for_the_nodes_sake_is_said_and_stays(tmp_path: Path) -> None:
    async def story() -> None:
        one = Book(tmp_path)
        await one.book.update("u1", StatusInputs(pod=POD, seen=listing(container())))
        override = StatusOverride("Failed", "Evicted", "too much", "too much")
        ended = listing(container("exited", exit_code=137, finished_at_ns=2 * 10**18))
        await one.book.update("u1", StatusInputs(pod=POD, seen=ended, stopped=True, override=override))
        one.book.finish("u1", POD)
        again = Book(tmp_path)
        status = await again.book.update("u1", StatusInputs(pod=POD, seen=ended, stopped=True))
        assert (status.phase, status.reason, status.message) == ("Failed", "Evicted", "too much")
        assert [c.type for c in status.conditions if c.type == "DisruptionTarget"] == ["DisruptionTarget"]

    asyncio.run(story())


def test_a_rejection_is_shown_but_not_kept(tmp_path: Path) -> None:
    one = Book(tmp_path)
    one.book.reject(Rejection(POD, "OutOfcpu", "too little"))
    status = one.shown.rows["u1"].status
    assert (status.phase, status.reason, status.message) == ("Failed", "OutOfcpu", "Pod was rejected: too little")
    assert Book(tmp_path).shown.rows == {}


def test_a_dropped_pod_leaves_nothing(tmp_path: Path) -> None:
    async def story() -> None:
        one = Book(tmp_path)
        await one.book.update("u1", StatusInputs(pod=POD, seen=listing(container())))
        one.book.drop("u1")
        one.book.drop("u1")
        assert one.shown.rows == {}
        assert one.book.uids() == frozenset()
        assert Book(tmp_path).shown.rows == {}

    asyncio.run(story())
