"""The end of a pod that was decided, as it is kept on disk."""

from pathlib import Path

import msgspec

from services.pod_sync.records.folder import RecordFolder
from services.pod_sync.workers.model import Decision, Ending, Reached, StatusOverride
from shared.kube.types import Pod


class OverrideRecord(msgspec.Struct, frozen=True, omit_defaults=True):
    """See `workers.model.StatusOverride`."""

    phase: str
    reason: str
    message: str
    disruption_message: str = ""


class DecisionRecord(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """See `workers.model.Decision` and `Ending`. Monotonic times are of this boot, as is the folder."""

    full_name: str
    static: bool
    pod: Pod
    reached: Reached
    since_mono: float
    grace_s: int
    passed: bool
    evicted: bool = False
    deleted: bool = False
    dropped: bool = False
    override: OverrideRecord | None = None
    grace_end_mono: float | None = None


class Decisions:
    """Decisions by UID."""

    def __init__(self, folder: Path) -> None:
        self._records = RecordFolder(folder, kind=DecisionRecord)

    def load(self) -> list[Decision]:
        return [_decision(uid, record) for uid, record in self._records.load().items()]

    def put(self, decision: Decision) -> None:
        """Stored when this returns."""
        self._records.put(decision.uid, _record(decision))

    def delete(self, uid: str) -> None:
        self._records.delete(uid)


def _record(decision: Decision) -> DecisionRecord:
    ending = decision.ending
    override = ending.override
    return DecisionRecord(
        full_name=decision.full_name,
        static=decision.static,
        pod=decision.pod,
        reached=decision.reached,
        since_mono=ending.since_mono,
        grace_s=ending.grace_s,
        passed=ending.passed,
        evicted=ending.evicted,
        deleted=ending.deleted,
        dropped=ending.dropped,
        override=OverrideRecord(override.phase, override.reason, override.message, override.disruption_message)
        if override is not None
        else None,
        grace_end_mono=ending.grace_end_mono,
    )


def _decision(uid: str, record: DecisionRecord) -> Decision:
    kept = record.override
    override = StatusOverride(kept.phase, kept.reason, kept.message, kept.disruption_message) if kept else None
    ending = Ending(
        since_mono=record.since_mono,
        grace_s=record.grace_s,
        passed=record.passed,
        evicted=record.evicted,
        deleted=record.deleted,
        dropped=record.dropped,
        override=override,
        grace_end_mono=record.grace_end_mono,
    )
    return Decision(uid, record.full_name, record.static, record.pod, ending, record.reached)
