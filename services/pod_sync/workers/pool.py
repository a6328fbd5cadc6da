"""All workers together: events go to the worker of their UID, and static pods of one full name take turns.

At most one started worker per static full name; the others wait in the order they came, and the next one gets its turn
the moment the holder has finished (upstream `allowPodStart` looks again every 10 s instead).
"""

from collections.abc import Iterable, Mapping

from services.pod_sync.workers.core import RESYNC_S, first_sight, step
from services.pod_sync.workers.model import (
    Action,
    Asked,
    Decision,
    Event,
    Finished,
    Recalled,
    Terminating,
    TurnGiven,
    Waiting,
    Worker,
)

UidAction = tuple[str, Action]


class Turns:
    """Who holds each static full name, and who waits for it, first come first served."""

    def __init__(self) -> None:
        self._holder: dict[str, str] = {}
        self._waiting: dict[str, list[str]] = {}

    def take(self, full_name: str, uid: str) -> bool:
        """Whether `uid` holds the name now; if not it waits in line (once)."""
        if self._holder.setdefault(full_name, uid) == uid:
            return True
        line = self._waiting.setdefault(full_name, [])
        if uid not in line:
            line.append(uid)
        return False

    def leave(self, full_name: str, uid: str) -> str | None:
        """`uid` needs the name no more. Returns who holds it from now on, if that changed."""
        line = self._waiting.get(full_name, [])
        if uid in line:
            line.remove(uid)
        following = None
        if self._holder.get(full_name) == uid:
            del self._holder[full_name]
            if line:
                following = line.pop(0)
                self._holder[full_name] = following
        if not line:
            self._waiting.pop(full_name, None)
        return following

    def holder(self, full_name: str) -> str | None:
        return self._holder.get(full_name)


class Pool:
    """The workers by UID. No I/O and no clock: `feed` returns what is to be done.

    `resync_s` is `syncFrequency`; `since_mono` is when this process began.
    """

    def __init__(self, resync_s: float = RESYNC_S, since_mono: float = 0.0) -> None:
        self._workers: dict[str, Worker] = {}
        self._turns = Turns()
        self._ended: dict[str, float] = {}
        self._resync_s = resync_s
        self._since_mono = since_mono

    @property
    def workers(self) -> Mapping[str, Worker]:
        return self._workers

    def get(self, uid: str) -> Worker | None:
        return self._workers.get(uid)

    def feed(self, uid: str, event: Event, now: float) -> list[UidAction]:
        """Give `event` to the worker of `uid`, which is made if the event can be its first (see `first_sight`)."""
        old = self._workers.get(uid)
        new: Worker | None
        if old is None:
            new, actions = first_sight(uid, event, now, self._since_mono)
        else:
            new, actions = step(old, event, now, self._resync_s)
        if new is not None:
            self._workers[uid] = new
        out = [(uid, action) for action in actions]
        if new is None:
            return out + self.forget(uid, now)
        return out + self._take_turns(old, new, now)

    def recall(self, decisions: Iterable[Decision], now: float) -> list[UidAction]:
        """Restore recorded decisions; before any source is heard, so that they hold their names."""
        return [item for decision in decisions for item in self.feed(decision.uid, Recalled(decision), now)]

    def forget(self, uid: str, now: float) -> list[UidAction]:
        """Drop the record of a worker. The name it held goes to the next in line."""
        worker = self._workers.pop(uid, None)
        if worker is None:
            return []
        self._ended[uid] = now
        return self._leave(worker, now)

    def ended(self, listed: Iterable[str]) -> Mapping[str, float]:
        """When workers were forgotten, of those pods that are still listed."""
        self._ended = {uid: at for uid, at in self._ended.items() if uid in listed}
        return self._ended

    def is_static_terminating(self, full_name: str) -> bool:
        """A static pod of that full name is ending but has not stopped (its mirror must stay until then)."""
        holder = self._turns.holder(full_name)
        worker = self._workers.get(holder) if holder is not None else None
        return worker is not None and isinstance(worker.life, Asked | Terminating)

    def _take_turns(self, old: Worker | None, new: Worker, now: float) -> list[UidAction]:
        if not new.static:
            return []
        if isinstance(new.life, Finished):
            return [] if old is not None and isinstance(old.life, Finished) else self._leave(new, now)
        if old is None:
            given = self._turns.take(new.full_name, new.uid)
            if given and isinstance(new.life, Waiting):
                return self.feed(new.uid, TurnGiven(), now)
        return []

    def _leave(self, worker: Worker, now: float) -> list[UidAction]:
        if not worker.static:
            return []
        following = self._turns.leave(worker.full_name, worker.uid)
        return self.feed(following, TurnGiven(), now) if following is not None else []
