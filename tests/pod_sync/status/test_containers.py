from typing import Any

import pytest

from services.pod_sync.records.progress import WaitingReason
from tests.pod_sync.status.build import (
    RUNNING,
    T0,
    container,
    instance,
    listed,
    old,
    only,
    plain,
    pod,
    sandbox,
    sidecar,
    status_of,
    terminated,
    waiting,
    was,
)

LOST_WHILE_LISTED = {
    "terminated": {
        "exitCode": 137,
        "reason": "ContainerStatusUnknown",
        "message": "The container could not be located when the pod was terminated",
        "containerID": "containerd://c-0",
    }
}
LOST = {
    "terminated": {
        "exitCode": 137,
        "reason": "ContainerStatusUnknown",
        "message": "The container could not be located when the pod was deleted.  The container used to be Running",
    }
}


def test_a_container_that_was_never_made_is_being_created() -> None:
    subject = pod(container(volumeMounts=[{"name": "v", "mountPath": "/x"}], resources={"requests": {"cpu": "1"}}))
    (status,) = status_of(subject, None).container_statuses
    assert plain(status) == {
        "name": "c",
        "image": "c-image",
        "imageID": "",
        "ready": False,
        "started": False,
        "restartCount": 0,
        "state": waiting("ContainerCreating"),
        "lastState": {},
        "volumeMounts": [{"name": "v", "mountPath": "/x"}],
        "resources": {"requests": {"cpu": "1"}},
        "allocatedResources": {"cpu": "1"},
    }


def test_with_init_containers_every_kind_says_that_the_pod_is_initializing() -> None:
    ephemeral = [{"name": "debug", "image": "d"}]
    status = status_of(pod(container(), init=[container("i")], ephemeralContainers=ephemeral), None)
    for statuses in (status.init_container_statuses, status.container_statuses, status.ephemeral_container_statuses):
        assert plain(statuses[0].state) == waiting("PodInitializing")
    assert status.ephemeral_container_statuses[0].started is None


STATES = [
    (instance(), RUNNING),
    (instance(state="created"), {"waiting": {}}),
    (instance(state="unknown"), {"waiting": {}}),
    (instance(state="exited"), terminated()),
    (
        instance(state="exited", code=3, reason="OOMKilled", message="bye"),
        terminated(3, reason="OOMKilled", message="bye"),
    ),
    (
        instance(state="exited", code=128, reason="StartError", started_at_ns=0),
        terminated(128, reason="StartError", startedAt="1970-01-01T00:00:00Z"),
    ),
]


@pytest.mark.parametrize(("seen", "state"), STATES)
def test_each_state_of_the_runtime_has_one_in_the_api(seen: Any, state: dict[str, Any]) -> None:
    (status,) = status_of(pod(policy="Never"), listed(seen)).container_statuses
    assert plain(status.state) == state
    assert (status.container_id, status.image, status.image_id) == ("containerd://c-0", "c-image", "sha256:c")


def test_a_termination_message_that_was_read_from_its_file_wins() -> None:
    seen = listed(instance(state="exited", message="from the runtime"))
    (status,) = status_of(pod(policy="Never"), seen, messages={"c-0": "from the file"}).container_statuses
    assert status.state.terminated is not None
    assert status.state.terminated.message == "from the file"


def test_an_instance_lost_while_it_ran_counts_as_killed_and_stays_so() -> None:
    subject, seen = pod(), listed(instance(state="unknown"))
    first = status_of(subject, seen, old=old(was(restartCount=2)))
    again = status_of(subject, seen, old=first)
    for status in (first, again):
        assert plain(status.container_statuses[0].state) == LOST_WHILE_LISTED
        assert status.container_statuses[0].restart_count == 3


def test_the_second_newest_instance_is_the_last_state_and_older_ones_are_ignored() -> None:
    seen = listed(
        instance(number=2),
        instance(state="exited", code=1, number=1),
        instance(state="exited", code=7, number=0),
    )
    (status,) = status_of(pod(), seen).container_statuses
    assert plain(status.state) == RUNNING
    assert plain(status.last_state) == terminated(1, number=1)
    assert status.restart_count == 2


def test_when_dead_instances_were_collected_the_last_state_is_carried_over() -> None:
    seen = listed(instance(number=1))
    ended = was(state=terminated(5), number=0)
    assert plain(status_of(pod(), seen, old=old(ended)).container_statuses[0].last_state) == terminated(5)
    running = was(number=1, lastState=terminated(6))
    assert plain(status_of(pod(), seen, old=old(running)).container_statuses[0].last_state) == terminated(6)


def test_an_end_is_never_its_own_last_state() -> None:
    subject, seen = pod(), listed(instance(state="exited", code=1))
    looping = status_of(subject, seen, reasons={"c": WaitingReason("CrashLoopBackOff", "back-off 10s")})
    (status,) = status_of(subject, seen, old=looping).container_statuses
    assert plain(status.state) == terminated(1)
    assert plain(status.last_state) == {}


GONE = [
    (was(restartCount=1), 2, waiting("ContainerCreating"), LOST),
    (was(restartCount=1, lastState=terminated(3)), 1, waiting("ContainerCreating"), terminated(3)),
    (was(state=waiting("CrashLoopBackOff"), restartCount=4), 4, waiting("ContainerCreating"), {}),
    (was(state=terminated(2), restartCount=4), 4, terminated(2), {}),
]


@pytest.mark.parametrize(("before", "count", "state", "last"), GONE)
def test_a_container_that_vanished_from_the_runtime(
    before: dict[str, Any], count: int, state: dict[str, Any], last: dict[str, Any]
) -> None:
    subject = pod()
    first = status_of(subject, listed(), old=old(before))
    for computed in (first, status_of(subject, listed(), old=first)):
        (status,) = computed.container_statuses
        assert (status.restart_count, plain(status.state), plain(status.last_state)) == (count, state, last)


def test_a_container_of_a_deleted_pod_that_vanished_is_not_counted_as_restarted() -> None:
    (status,) = status_of(pod(deleted=True), listed(), old=old(was(restartCount=1))).container_statuses
    assert (status.restart_count, plain(status.last_state)) == (1, LOST)


COUNTS = [
    (instance(count=3), None, 3),
    (instance(count=3), was(restartCount=5), 5),
    (instance(count=7), was(restartCount=5), 7),
    (instance(number=1, count=0), was(state=terminated(1), restartCount=2), 3),
    (instance(number=1, count=3), was(state=terminated(1), restartCount=2), 3),
    (instance(annotations={}, attempt=4), None, 4),
    (instance(annotations={"io.kubernetes.container.restartCount": "x"}), None, 0),
]


@pytest.mark.parametrize(("seen", "before", "count"), COUNTS)
def test_the_restart_count_never_falls_and_a_start_after_an_end_is_one_more(
    seen: Any, before: dict[str, Any] | None, count: int
) -> None:
    subject = pod()
    first = status_of(subject, listed(seen), old=old(before) if before else None)
    assert first.container_statuses[0].restart_count == count
    assert status_of(subject, listed(seen), old=first).container_statuses[0].restart_count == count


REASON = {"c": WaitingReason("CrashLoopBackOff", "back-off 10s restarting failed container=c pod=web_default(u1)")}


def test_a_container_that_could_not_be_started_waits_with_the_reason_and_its_end_is_the_last_state() -> None:
    seen = listed(instance(state="exited", code=1, number=1), instance(state="exited", code=9))
    (status,) = status_of(pod(), seen, reasons=REASON).container_statuses
    assert plain(status.state) == waiting("CrashLoopBackOff", REASON["c"].message)
    assert plain(status.last_state) == terminated(1, number=1)
    (never_made,) = status_of(pod(), listed(), reasons={"c": WaitingReason("ErrImagePull", "no")}).container_statuses
    assert plain(never_made.state) == waiting("ErrImagePull", "no")


def test_without_a_reason_the_end_stays_visible() -> None:
    (status,) = status_of(pod(), listed(instance(state="exited", code=1))).container_statuses
    assert plain(status.state) == terminated(1)


@pytest.mark.parametrize(
    "subject",
    [pod(policy="Never"), pod(deleted=True), pod(container(restartPolicy="Never"))],
    ids=["pod", "deleted", "own"],
)
def test_a_container_that_is_not_started_again_never_waits(subject: Any) -> None:
    (status,) = status_of(subject, listed(instance(state="exited", code=1)), reasons=REASON).container_statuses
    assert plain(status.state) == terminated(1)


def test_a_completed_init_container_never_waits() -> None:
    subject = pod(init=[container("i")])
    seen = listed(instance("i", state="exited"))
    (status,) = status_of(subject, seen, reasons={"i": WaitingReason("CrashLoopBackOff")}).init_container_statuses
    assert plain(status.state) == terminated(name="i")
    failed = listed(instance("i", state="exited", code=2))
    (status,) = status_of(subject, failed, reasons={"i": WaitingReason("CrashLoopBackOff")}).init_container_statuses
    assert plain(status.state) == waiting("CrashLoopBackOff")


def test_an_init_container_that_is_gone_while_a_regular_one_exists_had_completed() -> None:
    subject = pod(init=[container("i"), sidecar("s")])
    status = status_of(subject, listed(instance()))
    assert plain(only(status.init_container_statuses, "i").state) == {
        "terminated": {
            "exitCode": 0,
            "reason": "Completed",
            "message": "Unable to get init container status from container runtime and pod has been initialized, "
            "treat it as exited normally",
        }
    }
    assert plain(only(status.init_container_statuses, "s").state) == waiting("PodInitializing")


def test_init_containers_keep_the_order_of_the_spec_and_others_are_sorted_by_name() -> None:
    ephemeral = [{"name": "z", "image": "x"}, {"name": "a", "image": "x"}]
    subject = pod(container("b"), container("a"), init=[container("y"), container("x")], ephemeralContainers=ephemeral)
    status = status_of(subject, None)
    assert [s.name for s in status.init_container_statuses] == ["y", "x"]
    assert [s.name for s in status.container_statuses] == ["a", "b"]
    assert [s.name for s in status.ephemeral_container_statuses] == ["a", "z"]


def test_mounts_tell_whether_they_are_recursively_read_only_and_stay_as_first_told() -> None:
    mounts = [
        {"name": "a", "mountPath": "/a"},
        {"name": "b", "mountPath": "/b", "readOnly": True},
        {"name": "c", "mountPath": "/c", "readOnly": True, "recursiveReadOnly": "Enabled"},
        {"name": "d", "mountPath": "/d", "readOnly": True, "recursiveReadOnly": "IfPossible"},
    ]
    subject = pod(container(volumeMounts=mounts))
    first = status_of(subject, None, recursive_read_only=True)
    told = [m.get("recursiveReadOnly") for m in plain(first.container_statuses[0].volume_mounts)]
    assert told == [None, "Disabled", "Enabled", "Enabled"]
    second = status_of(subject, listed(instance()), old=first, recursive_read_only=False)
    assert second.container_statuses[0].volume_mounts == first.container_statuses[0].volume_mounts
    other = status_of(subject, None, recursive_read_only=False).container_statuses[0].volume_mounts[3]
    assert other.recursive_read_only == "Disabled"


def test_the_user_of_the_first_process_is_told_when_the_runtime_does() -> None:
    seen = listed(instance(user_uid=0, user_gid=1000, supplemental_groups=[1000, 2000]))
    (status,) = status_of(pod(), seen).container_statuses
    assert plain(status.user) == {"linux": {"uid": 0, "gid": 1000, "supplementalGroups": [1000, 2000]}}
    assert status_of(pod(), listed(instance())).container_statuses[0].user is None


RULES = [{"action": "RestartAllContainers", "exitCodes": {"operator": "In", "values": [42]}}]
REMOVED = "The container is removed because RestartAllContainers in place"
CONDITION = "AllContainersRestarting"


def test_restart_of_all_containers_from_the_trigger_to_the_new_start() -> None:
    subject = pod(
        container("a", restartPolicy="Never", restartPolicyRules=RULES),
        container("b"),
        init=[container("i")],
        policy="Never",
    )

    def condition(status: Any) -> tuple[Any, ...]:
        (found,) = [c for c in status.conditions if c.type == CONDITION]
        return found.status, found.reason, found.message

    all_run = listed(instance("b"), instance("a"), instance("i", state="exited"))
    running = status_of(subject, all_run)
    assert condition(running) == ("False", None, None)

    triggered = listed(instance("b"), instance("a", state="exited", code=42), instance("i", state="exited"))
    asked = status_of(subject, triggered, old=running)
    assert condition(asked) == ("True", "RestartAllContainersStarted", "container exited with restart policy rule")
    assert asked.phase == "Running"

    half = status_of(subject, listed(instance("i", state="exited")), old=asked)
    assert condition(half)[0] == "True"
    removed = only(half.container_statuses, "a")
    assert plain(removed.state) == waiting("RestartingAllContainers", REMOVED)
    assert plain(removed.last_state) == {
        "terminated": {"exitCode": 137, "reason": "RestartingAllContainers", "message": REMOVED}
    }
    assert removed.restart_count == 1

    empty = status_of(subject, listed(), old=half)
    assert condition(empty)[0] == "False"
    assert plain(only(empty.init_container_statuses, "i").state) == waiting("RestartingAllContainers", REMOVED)
    assert only(empty.container_statuses, "a").restart_count == 1
    assert empty.phase == "Running"

    begun = status_of(subject, listed(instance("i", number=1, count=0)), old=empty)
    assert plain(only(begun.container_statuses, "a").state) == waiting("RestartingAllContainers", REMOVED)
    assert only(begun.init_container_statuses, "i").restart_count == 1
    initialized = next(c for c in begun.conditions if c.type == "Initialized")
    assert (begun.phase, initialized.status) == ("Pending", "True")

    done = listed(
        instance("b", number=1, count=0), instance("a", number=1, count=0), instance("i", state="exited", number=1)
    )
    again = status_of(subject, done, old=begun)
    assert [s.restart_count for s in again.container_statuses] == [1, 1]
    assert again.phase == "Running"


def test_an_instance_lost_during_the_restart_of_all_says_so() -> None:
    subject = pod(container("a", restartPolicy="Never", restartPolicyRules=RULES), container("b"))
    before = old(was("a", terminated(42, name="a")), was("b"))
    status = status_of(subject, listed(instance("b", state="unknown")), old=before)
    lost = only(status.container_statuses, "b").state.terminated
    assert lost is not None
    assert (lost.exit_code, lost.reason) == (137, "RestartingAllContainers")


def test_a_new_sandbox_keeps_ends_that_were_told() -> None:
    subject = pod(container("c"), init=[container("i")])
    before = old(was("i", terminated(name="i")), kind="initContainerStatuses")
    status = status_of(subject, listed(sandboxes=[sandbox(1)]), old=before)
    assert plain(status.init_container_statuses[0].state) == terminated(name="i")
    assert status.init_container_statuses[0].ready


def test_times_of_the_runtime_are_cut_to_seconds() -> None:
    (status,) = status_of(pod(), listed(instance(started_at_ns=1_700_000_000_999_999_999))).container_statuses
    assert plain(status.state) == {"running": {"startedAt": T0}}
