"""Log rotation: the plan, and real files with interruptions."""

import asyncio
import gzip
import time
from pathlib import Path
from types import SimpleNamespace

import pytest
import structlog
from hypothesis import given
from hypothesis import strategies as st
from prometheus_client import CollectorRegistry

from services.eviction.logs import rotator as rotator_module
from services.eviction.logs.core import Rotation, plan_rotation
from services.eviction.logs.rotator import LogRotator, compress, prepare, rename
from services.eviction.metrics import EvictionMetrics
from shared.errors import Transient
from shared.messages.pleg import ContainerState, RuntimePod

LOG = "0.log"


def test_the_oldest_go_and_the_rest_is_compressed() -> None:
    beside = [LOG, "0.log.20260101-000003", "0.log.20260101-000001.gz", "0.log.20260101-000002.gz", "1.log", "0.logx"]
    assert plan_rotation(LOG, beside, 5) == Rotation(remove=(), compress=("0.log.20260101-000003",))
    assert plan_rotation(LOG, beside, 4) == Rotation(("0.log.20260101-000001.gz",), ("0.log.20260101-000003",))
    assert plan_rotation(LOG, beside, 2) == Rotation(
        ("0.log.20260101-000001.gz", "0.log.20260101-000002.gz", "0.log.20260101-000003"), ()
    )


def test_what_an_interrupted_compression_left_is_cleared() -> None:
    beside = [LOG, "0.log.20260101-000001", "0.log.20260101-000001.gz", "0.log.20260101-000002.tmp"]
    assert plan_rotation(LOG, beside, 5) == Rotation(("0.log.20260101-000001", "0.log.20260101-000002.tmp"), ())


@given(st.sets(st.integers(0, 30), max_size=12), st.sets(st.integers(0, 30)), st.integers(2, 6))
def test_after_a_rotation_there_are_at_most_as_many_files_as_allowed(
    times: set[int], compressed: set[int], max_files: int
) -> None:
    beside = {LOG, *(f"{LOG}.{n:03d}" + (".gz" if n in compressed else "") for n in times)}
    plan = plan_rotation(LOG, beside, max_files)
    left = beside - set(plan.remove)
    assert len(left) + 1 <= max_files or not times
    kept = sorted(left - {LOG})
    assert kept == sorted(beside - {LOG})[len(beside) - 1 - len(kept) :], "the newest stay"
    assert set(plan.compress) == {n for n in kept if not n.endswith(".gz")}


class Node:
    """One running container that writes a log, and its runtime."""

    def __init__(self, folder: Path, *, size: int = 100, max_files: int = 3) -> None:
        self.log = folder / LOG
        self.fail = False
        self.reopened: list[str] = []
        state = ContainerState(id="c1", name="c", attempt=0, sandbox_id="s", state="running", log_path=str(self.log))
        rows = {"uid": RuntimePod(name="p", namespace="d", listed_at_mono=0.0, containers=[state])}
        self.rotator = LogRotator(
            SimpleNamespace(values=rows.values),  # type: ignore[arg-type]
            self.reopen,
            max_size_bytes=size,
            max_files=max_files,
            observers=(EvictionMetrics(CollectorRegistry()), structlog.get_logger()),
        )

    async def reopen(self, container_id: str) -> None:
        if self.fail:
            raise Transient("runtime away")
        self.reopened.append(container_id)
        self.log.touch()

    def write(self, text: str) -> None:
        with self.log.open("a") as file:
            file.write(text)

    def look(self) -> None:
        asyncio.run(self.rotator.rotate_all(1))

    def names(self) -> list[str]:
        return sorted(p.name for p in self.log.parent.iterdir())


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Seconds since the epoch that rotated logs are named after; each look takes one."""
    seconds = [1_700_000_000]

    def localtime() -> time.struct_time:
        seconds[0] += 1
        return time.gmtime(seconds[0])

    monkeypatch.setattr(rotator_module, "time", SimpleNamespace(localtime=localtime, strftime=time.strftime))
    return seconds


def test_a_log_that_grew_is_renamed_and_the_runtime_told(tmp_path: Path, clock: list[int]) -> None:
    node = Node(tmp_path)
    node.write("x" * 99)
    node.look()
    assert (node.names(), node.reopened) == ([LOG], [])
    node.write("x")
    node.look()
    assert node.names() == [LOG, "0.log.20231114-221321"]
    assert (node.log.read_text(), node.reopened) == ("", ["c1"])


def test_older_logs_are_compressed_and_the_oldest_removed(tmp_path: Path, clock: list[int]) -> None:
    node = Node(tmp_path, max_files=4)
    for n in range(5):
        node.write(f"{n}" * 100)
        node.look()
    assert node.names() == [LOG, "0.log.20231114-221323.gz", "0.log.20231114-221324.gz", "0.log.20231114-221325"]
    assert gzip.decompress((tmp_path / "0.log.20231114-221323.gz").read_bytes()) == b"2" * 100


def test_a_runtime_that_is_away_gets_its_log_back(tmp_path: Path, clock: list[int]) -> None:
    node = Node(tmp_path)
    node.write("x" * 100)
    node.fail = True
    node.look()
    assert (node.names(), node.log.read_text()) == ([LOG], "x" * 100)
    node.fail = False
    node.look()
    assert len(node.names()) == 2


def test_a_log_that_is_not_there_is_asked_for(tmp_path: Path) -> None:
    node = Node(tmp_path)
    node.look()
    assert (node.reopened, node.names()) == (["c1"], [LOG])


def test_a_life_that_ended_between_renaming_and_telling_is_made_good(tmp_path: Path, clock: list[int]) -> None:
    node = Node(tmp_path)
    node.write("x" * 100)
    rename(node.log, time.gmtime(0))
    node.look()
    assert node.names() == [LOG, "0.log.19700101-000000"]
    assert node.reopened == ["c1"]


@pytest.mark.parametrize("step", ["temporary", "renamed"])
def test_a_compression_that_was_cut_off_is_done_again(tmp_path: Path, step: str) -> None:
    old = tmp_path / "0.log.1"
    old.write_text("text")
    (tmp_path / LOG).touch()
    if step == "temporary":
        (tmp_path / "0.log.1.tmp").write_bytes(b"half")
    else:
        (tmp_path / "0.log.1.gz").write_bytes(gzip.compress(b"text"))
    prepare(tmp_path / LOG, 5)
    assert sorted(p.name for p in tmp_path.iterdir()) == [LOG, "0.log.1.gz"]
    assert gzip.decompress((tmp_path / "0.log.1.gz").read_bytes()) == b"text"


def test_a_compressed_log_keeps_its_mode(tmp_path: Path) -> None:
    log = tmp_path / "x"
    log.write_text("t")
    log.chmod(0o640)
    compress(log)
    assert (tmp_path / "x.gz").stat().st_mode & 0o777 == 0o640


def test_no_rotated_log_is_overwritten_within_one_second(tmp_path: Path) -> None:
    (tmp_path / LOG).write_text("new")
    (tmp_path / "0.log.19700101-000000.gz").write_text("old")
    with pytest.raises(FileExistsError):
        rename(tmp_path / LOG, time.gmtime(0))
    assert (tmp_path / LOG).read_text() == "new"


def test_a_negative_size_switches_rotation_off(tmp_path: Path) -> None:
    node = Node(tmp_path, size=-1)
    node.write("x" * 1000)
    node.look()
    assert node.names() == [LOG]
