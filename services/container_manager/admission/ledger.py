"""What was granted to pods, until the `pods` table shows them: kept in a file, so that a repeat gets the same answer."""

import asyncio
from collections.abc import Iterable, Mapping
from pathlib import Path

import msgspec

from shared.checkpoint import Checkpoint


class Grants(msgspec.Struct, frozen=True):
    """Requests by pod UID. `cpu` in millicores, all else in whole units."""

    pods: dict[str, dict[str, int]] = {}


class Ledger:
    """Grants by pod UID. The file is in the run folder: after a reboot every pod is admitted anew."""

    def __init__(self, path: Path) -> None:
        self._checkpoint = Checkpoint(path, version=1, kind=Grants)
        found = self._checkpoint.load()
        self._grants: dict[str, dict[str, int]] = dict(found.pods) if found is not None else {}

    def get(self, uid: str) -> Mapping[str, int] | None:
        """What that pod was granted; None: nothing is known."""
        return self._grants.get(uid)

    async def grant(self, uid: str, requests: Mapping[str, int], *, active: Iterable[str]) -> None:
        """Record before it is answered. Grants of pods that are not `active` any more are dropped."""
        wanted = {*active, uid}
        grants = {u: g for u, g in self._grants.items() if u in wanted}
        self._grants = grants | {uid: dict(requests)}
        await self._save()

    async def drop(self, uid: str) -> None:
        """The pod holds nothing any more; a repeat changes nothing."""
        if self._grants.pop(uid, None) is not None:
            await self._save()

    async def _save(self) -> None:
        await asyncio.to_thread(self._checkpoint.save, Grants(dict(self._grants)))
