"""Pods that only one side knows. Every plan is one table row: who knows the pod, and what is done about it."""

from dataclasses import replace

import pytest

from services.pod_sync.workers.core import first_sight
from services.pod_sync.workers.housekeeping import (
    Create,
    DropRecords,
    Forget,
    Known,
    NoteOrphan,
    Task,
    TerminateRuntimePod,
    plan_housekeeping,
    predecessors,
)
from services.pod_sync.workers.model import (
    Asked,
    Ending,
    Finished,
    Life,
    PodSeen,
    SeenAs,
    Syncing,
    Terminated,
    Terminating,
    Waiting,
    Worker,
)
from shared.messages.pleg import ContainerState, RuntimePod, SandboxState
from tests.pod_sync.workers.pods import SOURCE, make_pod

ENDING = Ending(since_mono=1.0, grace_s=30, passed=True)
DELETED = replace(ENDING, deleted=True)


def worker(life: Life, *, runtime_only: bool = False, restart: bool = False) -> Worker:
    made, _ = first_sight("u1", PodSeen(SeenAs.CREATE, make_pod("u1")), 1.0)
    return replace(made, life=life, restart_requested=restart, pod=None if runtime_only else made.pod)


def runtime_pod(*, running: bool = True, source: str = "file", name: str = "web") -> RuntimePod:
    sandbox = SandboxState(
        id="s1", name=name, namespace="default", attempt=0, ready=running, created_at_ns=0, annotations={SOURCE: source}
    )
    return RuntimePod(name=name, namespace="default", listed_at_mono=1.0, sandboxes=[sandbox])


@pytest.mark.parametrize(
    ("life", "desired", "runs", "tasks"),
    [
        (Syncing(), True, True, []),
        (Syncing(), False, True, [NoteOrphan("u1")]),
        (Syncing(), False, False, [NoteOrphan("u1")]),
        (Waiting(), True, False, []),
        (Waiting(), False, False, [Forget("u1")]),
        (Waiting(), False, True, [NoteOrphan("u1")]),
        (Asked(ENDING), True, True, []),
        (Asked(ENDING), False, True, [NoteOrphan("u1")]),
        (Asked(DELETED), False, True, []),
        (Terminating(ENDING), False, True, [NoteOrphan("u1")]),
        (Terminating(DELETED), False, True, []),
        (Terminated(ENDING), False, False, [NoteOrphan("u1")]),
        (Terminated(DELETED), False, False, []),
        (Finished(ENDING), True, False, []),
        (Finished(ENDING), False, False, [Forget("u1")]),
    ],
)
def test_what_is_done_about_a_worker(life: Life, desired: bool, runs: bool, tasks: list[Task]) -> None:
    known = Known(
        desired=frozenset({"u1"} if desired else ()),
        rejected=frozenset(),
        workers={"u1": worker(life)},
        runtime={"u1": runtime_pod()} if runs else {},
    )
    assert plan_housekeeping(known) == tasks


def test_a_finished_pod_that_came_again_is_forgotten_and_made_anew() -> None:
    finished = worker(Finished(ENDING), restart=True)
    known = Known(frozenset({"u1"}), frozenset(), {"u1": finished}, {})
    assert plan_housekeeping(known) == [Forget("u1"), Create("u1")]


def test_a_wanted_pod_without_a_worker_is_made_unless_it_was_rejected() -> None:
    known = Known(frozenset({"u1", "u2"}), frozenset({"u2"}), {}, {})
    assert plan_housekeeping(known) == [Create("u1")]


def test_a_pod_that_only_the_runtime_knows_is_ended_if_anything_of_it_runs() -> None:
    stopped = runtime_pod(running=False)
    container = ContainerState(id="c", name="c", attempt=0, sandbox_id="s1", state="running")
    halved = RuntimePod(name="db", namespace="default", listed_at_mono=1.0, containers=[container])
    known = Known(frozenset(), frozenset(), {}, {"u1": runtime_pod(), "u2": stopped, "u3": halved})
    assert plan_housekeeping(known) == [
        TerminateRuntimePod("u1", "web_default", static=True),
        TerminateRuntimePod("u3", "db_default", static=False),
    ]


def test_a_runtime_only_pod_that_is_being_ended_is_left_alone() -> None:
    ending = worker(Terminating(DELETED), runtime_only=True)
    assert plan_housekeeping(Known(frozenset(), frozenset(), {"u1": ending}, {"u1": runtime_pod()})) == []


def test_a_rejected_pod_that_still_runs_is_ended_like_an_unknown_one() -> None:
    known = Known(frozenset({"u1"}), frozenset({"u1"}), {}, {"u1": runtime_pod()})
    assert plan_housekeeping(known) == [TerminateRuntimePod("u1", "web_default", static=True)]


def test_records_of_pods_that_nobody_wants_are_dropped() -> None:
    known = Known(frozenset({"u1"}), frozenset(), {"u1": worker(Syncing())}, {}, recorded=frozenset({"u1", "u2"}))
    assert plan_housekeeping(known) == [DropRecords("u2")]


def test_an_older_version_of_a_static_pod_is_found_by_its_full_name() -> None:
    runtime = {
        "old": runtime_pod(),
        "stopped": runtime_pod(running=False),
        "api": runtime_pod(source="api"),
        "other": runtime_pod(name="db"),
        "u1": runtime_pod(),
    }
    known = Known(frozenset({"u1"}), frozenset(), {}, runtime)
    assert predecessors("u1", "web_default", known) == [TerminateRuntimePod("old", "web_default", static=True)]
    assert predecessors("u1", "web_default", replace(known, workers={"old": worker(Syncing())})) == []
