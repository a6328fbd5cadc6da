"""The outcomes: published for pod_sync, and kept in RUN/state/prober so that a restart of this daemon forgets none.

The file is written when an outcome changes, not with each probe, and once for all changes of one pass of the loop. The
run folder is a tmpfs: after a reboot no container is the same, and there is nothing to know.
"""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Final, Protocol

from services.prober.model import Kind
from shared.checkpoint import Checkpoint
from shared.messages.base import Message
from shared.messages.prober import ContainerProbes, ProbeOutcome


class Outcomes(Message, frozen=True):
    """What is kept: the table as it was."""

    containers: dict[str, ContainerProbes] = {}


class Owned(Protocol):
    """What is done with the table (`shared.bus.OwnedTable`)."""

    def put(self, key: str, value: ContainerProbes) -> None: ...

    def delete(self, key: str) -> None: ...


class Results:
    """Outcomes by container id."""

    def __init__(self, table: Owned, run_dir: Path, *, failed: Callable[[str | None], None]) -> None:
        self._table = table
        self._checkpoint = Checkpoint(run_dir / "state" / "prober" / FILE, kind=Outcomes)
        self._failed = failed
        self._rows: dict[str, ContainerProbes] = {}
        self._save_soon: asyncio.Handle | None = None

    def restore(self) -> int:
        """Publish what an earlier run knew. Returns for how many containers."""
        try:
            kept = self._checkpoint.load()
        except OSError as e:
            self._failed(str(e))
            kept = None
        self._rows = dict(kept.containers) if kept is not None else {}
        for container_id, row in self._rows.items():
            self._table.put(container_id, row)
        return len(self._rows)

    def get(self, container_id: str, kind: Kind) -> ProbeOutcome | None:
        """What is known of one container, from this run or the one before."""
        row = self._rows.get(container_id)
        return None if row is None else _outcome(row, kind)

    def set(self, pod_uid: str, container: str, container_id: str, outcomes: dict[Kind, ProbeOutcome]) -> None:
        """Set some outcomes of a container; an older container of that name has none any more."""
        old = self._rows.get(container_id)
        known = {kind: _outcome(old, kind) for kind in Kind} if old is not None else dict.fromkeys(Kind)
        merged = {**known, **outcomes}
        row = ContainerProbes(
            pod_uid=pod_uid,
            container=container,
            startup=merged[Kind.STARTUP],
            liveness=merged[Kind.LIVENESS],
            readiness=merged[Kind.READINESS],
        )
        self.drop(lambda i, r: i != container_id and (r.pod_uid, r.container) == (pod_uid, container))
        if row != old:
            self._rows[container_id] = row
            self._table.put(container_id, row)
            self._changed()

    def drop(self, is_gone: Callable[[str, ContainerProbes], bool]) -> None:
        """Forget the containers for which that is so."""
        for container_id in [i for i, row in self._rows.items() if is_gone(i, row)]:
            del self._rows[container_id]
            self._table.delete(container_id)
            self._changed()

    def save(self) -> None:
        """Write the file now. A full disk is reported and does no other harm."""
        self._save_soon = None
        try:
            self._checkpoint.save(Outcomes(containers=self._rows))
        except OSError as e:
            self._failed(str(e))
        else:
            self._failed(None)

    def _changed(self) -> None:
        if self._save_soon is None:
            self._save_soon = asyncio.get_running_loop().call_soon(self.save)


FILE: Final = "outcomes"


def _outcome(row: ContainerProbes, kind: Kind) -> ProbeOutcome | None:
    match kind:
        case Kind.STARTUP:
            return row.startup
        case Kind.LIVENESS:
            return row.liveness
        case Kind.READINESS:
            return row.readiness
