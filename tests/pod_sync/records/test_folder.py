"""What is kept of single pods survives any end of the process, and damage to one file costs that one only."""

from pathlib import Path

import pytest
from structlog.testing import capture_logs

from services.pod_sync.containers.backoff import CrashLoops, Entry
from services.pod_sync.records.backoff import BackoffFile
from services.pod_sync.records.decisions import Decisions
from services.pod_sync.records.progress import Progress, WaitingReason
from services.pod_sync.workers.model import Decision, Ending, Reached, StatusOverride
from shared.kube.types import ObjectMeta, Pod, PodStatus


def decision(uid: str, **more: object) -> Decision:
    ending = Ending(
        since_mono=12.5,
        grace_s=30,
        passed=True,
        evicted=True,
        override=StatusOverride("Failed", "Evicted", "too much", "too much, really"),
        grace_end_mono=42.5,
        **more,  # type: ignore[arg-type]
    )
    pod = Pod(metadata=ObjectMeta(name="web", namespace="default", uid=uid))
    return Decision(uid, "web_default", static=True, pod=pod, ending=ending, reached=Reached.STOPPED)


def test_a_decision_comes_back_as_it_was(tmp_path: Path) -> None:
    kept = [decision("u1"), decision("u2", deleted=True, dropped=True)]
    for one in kept:
        Decisions(tmp_path).put(one)
    assert Decisions(tmp_path).load() == kept


def test_a_deleted_decision_does_not_come_back(tmp_path: Path) -> None:
    decisions = Decisions(tmp_path)
    decisions.put(decision("u1"))
    decisions.delete("u1")
    decisions.delete("u1")
    assert Decisions(tmp_path).load() == []


@pytest.mark.parametrize("damage", [b"", b"{", b'{"format":"octolet"}\n{}\n', b"\x00" * 100])
def test_a_damaged_record_costs_only_itself(tmp_path: Path, damage: bytes) -> None:
    decisions = Decisions(tmp_path)
    decisions.put(decision("u1"))
    decisions.put(decision("u2"))
    (tmp_path / "u1.record").write_bytes(damage)
    with capture_logs() as logs:
        assert [d.uid for d in Decisions(tmp_path).load()] == ["u2"]
    assert [log["event"] for log in logs] == ["checkpoint.set_aside"]


@pytest.mark.parametrize("uid", ["../evil", "a/b", "", ".hidden", "x" * 300])
def test_a_uid_that_is_no_file_name_is_not_written_anywhere(tmp_path: Path, uid: str) -> None:
    folder = tmp_path / "records"
    with capture_logs() as logs:
        Decisions(folder).put(decision(uid))
    assert [log["event"] for log in logs] == ["record.not_written"]
    assert not folder.exists()
    assert list(tmp_path.iterdir()) == []


def test_progress_keeps_status_reasons_and_hooks_of_a_pod(tmp_path: Path) -> None:
    progress = Progress(tmp_path)
    progress.set_reasons("u1", {"c": WaitingReason("ErrImagePull")})
    assert progress.reasons("u1") == {}  # nothing is kept of a pod that never had a status
    progress.put_status("u1", PodStatus(phase="Pending"), name="web", namespace="default")
    progress.set_reasons("u1", {"c": WaitingReason("ErrImagePull", "no"), "d": WaitingReason("CrashLoopBackOff")})
    progress.set_reasons("u1", {"d": None})
    progress.note_pre_stop("u1", "id-1")
    progress.note_pre_stop("u1", "id-1")
    progress.put_status("u1", PodStatus(phase="Running"), name="web", namespace="default")
    again = Progress(tmp_path)
    (record,) = again.load().values()
    assert (record.name, record.namespace, record.status.phase) == ("web", "default", "Running")
    assert again.reasons("u1") == {"c": WaitingReason("ErrImagePull", "no")}
    assert again.pre_stop_ended("u1") == {"id-1"}
    again.delete("u1")
    assert Progress(tmp_path).load() == {}


def test_a_start_that_was_allowed_before_a_crash_is_allowed_once_more(tmp_path: Path) -> None:
    first = BackoffFile(tmp_path / "backoff.record")
    first.load()
    first.update(CrashLoops({"k": Entry(10.0, 100.0, 99.0)}))
    assert not first.resume("k", 99.0)
    second = BackoffFile(tmp_path / "backoff.record")
    second.load()
    assert second.loops == first.loops
    assert not second.resume("other", 99.0)
    assert second.resume("k", 99.0)
    assert not second.resume("k", 99.0)
