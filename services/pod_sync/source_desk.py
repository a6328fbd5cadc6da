"""Hands what the sources say to the intake."""

import time
from collections.abc import Callable, Iterable, Sequence
from typing import Protocol

from services.pod_sync.runtime.model import WARNING, EventSink
from services.pod_sync.sources.mux import Kind, Mux, Operation, duplicate_message
from shared.kube.types import Pod

Deliver = Callable[[Sequence[Pod]], None]


class PodIntake(Protocol):
    """What is used of `intake.Intake`."""

    def added(self, pods: Iterable[Pod], *, first_list: bool = False) -> None: ...

    def changed(self, pods: Iterable[Pod]) -> None: ...

    def removed(self, pods: Iterable[Pod], *, all_read: bool) -> None: ...

    def look(self) -> None: ...


class SourceDesk:
    """Takes whole lists of one source each, and passes on what changed."""

    def __init__(self, mux: Mux, intake: PodIntake, events_of: Callable[[Pod], EventSink]) -> None:
        self._mux = mux
        self._intake = intake
        self._events_of = events_of
        self._read: set[str] = set()

    @property
    def all_read(self) -> bool:
        """Whether every source was read once."""
        return self._mux.all_read

    def deliver_from(self, source: str) -> Deliver:
        """The function to which that source gives its complete list, each time it was read."""

        def deliver(pods: Sequence[Pod]) -> None:
            merged = self._mux.merge(source, pods, time.time_ns())
            first = source not in self._read
            self._read.add(source)
            for operation in merged.operations:
                self._pass_on(operation, first_list=first)
            for pod in merged.duplicates:
                self._events_of(pod)(None, WARNING, "FailedValidation", duplicate_message(pod, source))
            self._intake.look()

        return deliver

    def _pass_on(self, operation: Operation, *, first_list: bool) -> None:
        match operation.kind:
            case Kind.REMOVE:
                self._intake.removed(operation.pods, all_read=self._mux.all_read)
            case Kind.ADD:
                self._intake.added(operation.pods, first_list=first_list)
            case Kind.UPDATE | Kind.DELETE:
                self._intake.changed(operation.pods)
            case Kind.RECONCILE:  # only an API server has another opinion of a status
                pass
