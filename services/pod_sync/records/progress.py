"""What is known of a pod beside its end: last status, why containers wait, which hooks ended."""

from collections.abc import Mapping
from pathlib import Path
from typing import Final

import msgspec

from services.pod_sync.records.folder import RecordFolder
from shared.kube.types import PodStatus


class WaitingReason(msgspec.Struct, frozen=True, omit_defaults=True):
    """Why the last attempt to start a container failed: reason and message of its `state.waiting`."""

    reason: str
    message: str = ""


class ProgressRecord(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One pod. `begun` has attempts to start containers whose outcome was not heard yet; `pre_stop_ended` has ids of
    containers whose preStop hook ended.
    """

    name: str
    namespace: str
    status: PodStatus
    reasons: dict[str, WaitingReason] = {}
    begun: dict[str, int] = {}
    pre_stop_ended: list[str] = []


class Progress:
    """Progress by UID. Statuses are what `pod_status` shows; reasons are fed by attempts to start only."""

    def __init__(self, folder: Path) -> None:
        self._records = RecordFolder(folder, kind=ProgressRecord)

    def load(self) -> dict[str, ProgressRecord]:
        return self._records.load()

    def uids(self) -> frozenset[str]:
        return frozenset(self._records)

    def status(self, uid: str) -> PodStatus | None:
        """The status that was kept last; None: none was."""
        record = self._records.get(uid)
        return record.status if record is not None else None

    def put_status(self, uid: str, status: PodStatus, *, name: str, namespace: str) -> None:
        old = self._records.get(uid)
        record = (
            msgspec.structs.replace(old, status=status)
            if old is not None
            else ProgressRecord(name=name, namespace=namespace, status=status)
        )
        self._records.put(uid, record)

    def reasons(self, uid: str) -> Mapping[str, WaitingReason]:
        """By container name."""
        record = self._records.get(uid)
        return record.reasons if record is not None else _NO_REASONS

    def set_reasons(self, uid: str, changed: Mapping[str, WaitingReason | None]) -> None:
        """`changed` has every container that was tried: its reason, or None when it started."""
        record = self._records.get(uid)
        if record is None or not changed:
            return
        kept = {name: reason for name, reason in record.reasons.items() if name not in changed}
        kept |= {name: reason for name, reason in changed.items() if reason is not None}
        begun = {name: attempt for name, attempt in record.begun.items() if name not in changed}
        self._records.put(uid, msgspec.structs.replace(record, reasons=kept, begun=begun))

    def begun(self, uid: str) -> Mapping[str, int]:
        """Attempts by container name."""
        record = self._records.get(uid)
        return record.begun if record is not None else _NOTHING_BEGUN

    def note_begun(self, uid: str, container: str, attempt: int) -> None:
        """The container is about to be started; `set_reasons` tells the outcome."""
        record = self._records.get(uid)
        if record is not None:
            self._records.put(uid, msgspec.structs.replace(record, begun={**record.begun, container: attempt}))

    def pre_stop_ended(self, uid: str) -> frozenset[str]:
        record = self._records.get(uid)
        return frozenset(record.pre_stop_ended) if record is not None else frozenset()

    def note_pre_stop(self, uid: str, container_id: str) -> None:
        """The hook of that container ended: it is not run again."""
        record = self._records.get(uid)
        if record is not None and container_id not in record.pre_stop_ended:
            ended = [*record.pre_stop_ended, container_id]
            self._records.put(uid, msgspec.structs.replace(record, pre_stop_ended=ended))

    def delete(self, uid: str) -> None:
        self._records.delete(uid)


_NOTHING_BEGUN: Final[Mapping[str, int]] = {}
_NO_REASONS: Final[Mapping[str, WaitingReason]] = {}
