"""What was granted to pods, until the `pods` table shows them: kept in a file, so that a repeat gets the same answer."""

import asyncio
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Final

import msgspec

from services.container_manager.admission.core import HostPort
from shared.checkpoint import Checkpoint

ON_ITS_WAY_S: Final = 60.0
"""pod_sync shows a pod within milliseconds of its admission; a pod that was dropped meanwhile is never shown"""


class Grants(msgspec.Struct, frozen=True):
    """Requests by pod UID. `cpu` in millicores, all else in whole units."""

    pods: dict[str, dict[str, int]] = {}
    ports: dict[str, list[HostPort]] = {}
    """ports on the node by pod UID, of pods that have some"""
    boot_id: str = ""
    """grants of another boot mean nothing: every pod is admitted anew"""


class Ledger:
    """Grants by pod UID, of this boot.

    A grant is *on its way* until the `pods` table shows its pod, for `ON_ITS_WAY_S` at most: pods that are admitted one
    after the other must each count for the next, whatever becomes known of them in between.
    """

    def __init__(self, path: Path, boot_id: str, failed: Callable[[str | None], None] = lambda _: None) -> None:
        """`failed` is told why grants cannot be stored, and None once they can."""
        self._failed = failed
        self._boot_id = boot_id
        self._checkpoint = Checkpoint(path, version=1, kind=Grants, durable=False)
        found = self._checkpoint.load()
        is_ours = found is not None and found.boot_id == boot_id
        self._grants: dict[str, dict[str, int]] = dict(found.pods) if found is not None and is_ours else {}
        self._ports: dict[str, list[HostPort]] = dict(found.ports) if found is not None and is_ours else {}
        self._on_their_way = dict.fromkeys(self._grants, time.monotonic())

    def get(self, uid: str) -> Mapping[str, int] | None:
        """What that pod was granted; None: nothing is known."""
        return self._grants.get(uid)

    def ports(self, uid: str) -> list[HostPort]:
        """The ports on the node that it was granted."""
        return self._ports.get(uid, [])

    def on_their_way(self) -> list[str]:
        """Pods that were granted something and that the `pods` table has not shown yet."""
        limit = time.monotonic() - ON_ITS_WAY_S
        self._on_their_way = {u: at for u, at in self._on_their_way.items() if at > limit and u in self._grants}
        return list(self._on_their_way)

    def shown(self, uid: str) -> None:
        """The `pods` table has it: from now on that decides whether it counts."""
        self._on_their_way.pop(uid, None)

    async def grant(
        self, uid: str, requests: Mapping[str, int], *, active: Iterable[str], ports: Iterable[HostPort] = ()
    ) -> None:
        """Record before it is answered; with a full disk memory has to do until the pod is shown.

        Grants of pods that are neither `active` nor on their way are dropped.
        """
        wanted = {*active, *self.on_their_way(), uid}
        grants = {u: g for u, g in self._grants.items() if u in wanted}
        self._grants = grants | {uid: dict(requests)}
        self._ports = {u: p for u, p in self._ports.items() if u in grants}
        if taken := list(ports):
            self._ports[uid] = taken
        self._on_their_way[uid] = time.monotonic()
        await self._save()

    async def drop(self, uid: str) -> None:
        """The pod holds nothing any more; a repeat changes nothing."""
        self._ports.pop(uid, None)
        if self._grants.pop(uid, None) is not None:
            await self._save()

    async def _save(self) -> None:
        grants = Grants(pods=dict(self._grants), ports=dict(self._ports), boot_id=self._boot_id)
        try:
            await asyncio.to_thread(self._checkpoint.save, grants)
        except OSError as error:
            self._failed(f"write {self._checkpoint.path}: {(error.strerror or str(error)).lower()}")
        else:
            self._failed(None)
