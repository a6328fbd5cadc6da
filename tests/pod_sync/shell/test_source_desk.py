"""Lists of sources become additions, changes and removals, in an order that is safe."""

from collections.abc import Iterable

from services.pod_sync.runtime.model import EventSink
from services.pod_sync.source_desk import SourceDesk
from services.pod_sync.sources.mux import Mux
from shared.kube.types import Pod
from tests.pod_sync.shell.node import static_pod


class Intake:
    """What it was told, in order."""

    def __init__(self) -> None:
        self.told: list[tuple[str, list[str], bool]] = []
        self.looks = 0

    def added(self, pods: Iterable[Pod], *, first_list: bool = False) -> None:
        self.told.append(("added", [p.metadata.uid for p in pods], first_list))

    def changed(self, pods: Iterable[Pod]) -> None:
        self.told.append(("changed", [p.metadata.uid for p in pods], False))

    def removed(self, pods: Iterable[Pod], *, all_read: bool) -> None:
        self.told.append(("removed", [p.metadata.uid for p in pods], all_read))

    def look(self) -> None:
        self.looks += 1


def desk_of(intake: Intake, *sources: str) -> tuple[SourceDesk, list[tuple[str, str, str]]]:
    events: list[tuple[str, str, str]] = []

    def events_of(pod: Pod) -> EventSink:
        def event(container: str | None, type: str, reason: str, message: str) -> None:
            events.append((pod.metadata.uid, reason, message))

        return event

    return SourceDesk(Mux(frozenset(sources)), intake, events_of), events


def test_what_is_gone_is_told_before_what_is_new() -> None:
    intake = Intake()
    desk, _ = desk_of(intake, "file")
    deliver = desk.deliver_from("file")
    deliver([static_pod("u1")])
    assert desk.all_read
    deliver([static_pod("u2")])
    assert intake.told == [("added", ["u1"], True), ("removed", ["u1"], True), ("added", ["u2"], False)]
    assert intake.looks == 2


def test_an_empty_source_counts_as_read() -> None:
    intake = Intake()
    desk, _ = desk_of(intake, "file", "http")
    desk.deliver_from("file")([])
    assert not desk.all_read
    desk.deliver_from("http")([])
    assert desk.all_read


def test_a_removal_before_all_sources_were_read_says_so() -> None:
    intake = Intake()
    desk, _ = desk_of(intake, "file", "http")
    deliver = desk.deliver_from("file")
    deliver([static_pod("u1")])
    deliver([])
    assert intake.told[-1] == ("removed", ["u1"], False)


def test_the_second_pod_of_one_name_is_told_of_and_dropped() -> None:
    intake = Intake()
    desk, events = desk_of(intake, "file")
    desk.deliver_from("file")([static_pod("u1"), static_pod("u2")])
    assert intake.told == [("added", ["u1"], True)]
    text = 'Error validating pod web_default(u2) from file due to duplicate pod name "web", ignoring'
    assert events == [("u2", "FailedValidation", text)]


def test_a_changed_manifest_of_a_fixed_uid_is_a_change() -> None:
    intake = Intake()
    desk, _ = desk_of(intake, "file")
    deliver = desk.deliver_from("file")
    deliver([static_pod("u1")])
    deliver([static_pod("u1", grace_s=1)])
    assert intake.told[-1] == ("changed", ["u1"], False)
