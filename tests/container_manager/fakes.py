"""A world of groups in memory, and tables without a bus."""

from collections.abc import Callable, ItemsView, KeysView, ValuesView
from typing import Generic, TypeVar

from services.container_manager.cgroups.model import Limits
from shared.bus import Change
from shared.cgroups.names import CgroupName, Driver, PodGroups, pod_uid_of
from shared.errors import Transient

V = TypeVar("V")


class Killed(Exception):
    """The daemon's process ended here."""


class FakeGroups:
    """`ports.Groups` over a dictionary. It outlives daemons, which die when `acts_left` is used up.

    A death comes before or in the middle of an act: a group that was to be made and set may be made only.
    """

    version = 2
    sizes: tuple[str, ...] = ()

    def __init__(self) -> None:
        self.made: dict[CgroupName, Limits | None] = {}
        self.acts_left: int | None = None
        self.fail_create = 0
        self.stuck: set[CgroupName] = set()
        self.destroyed: list[CgroupName] = []
        self.created: list[CgroupName] = []

    def _act(self) -> None:
        if self.acts_left is not None:
            if self.acts_left == 0:
                raise Killed
            self.acts_left -= 1

    def exists(self, name: CgroupName) -> bool:
        return name in self.made

    def create(self, name: CgroupName, limits: Limits) -> list[str]:
        self._act()
        if self.fail_create:
            self.fail_create -= 1
            raise Transient(f"failed to create container for {name} : no space")
        self.made.setdefault(name, None)
        self.created.append(name)
        return self.update(name, limits)

    def update(self, name: CgroupName, limits: Limits) -> list[str]:
        self._act()
        if name in self.made:
            self.made[name] = limits
        return []

    def finish(self, name: CgroupName, limits: Limits) -> list[str]:
        self._act()
        if name in self.made and self.made[name] is None:
            self.made[name] = limits
        return []

    def list_pods(self, groups: PodGroups) -> dict[str, CgroupName]:
        found = {}
        for name in self.made:
            uid = pod_uid_of(name.parts[-1], Driver.CGROUPFS)
            if uid is not None:
                found[uid] = name
        return found

    def destroy(self, name: CgroupName) -> None:
        self._act()
        if name in self.stuck:
            raise Transient(f"failed to kill all the processes attached to the {name} cgroups : [1]")
        self.made.pop(name, None)
        self.destroyed.append(name)


class FakeTable(Generic[V]):
    """One table, as its owner and as a reader see it. What a callback raises comes out of the change."""

    def __init__(self, *, complete: bool = False) -> None:
        self.rows: dict[str, V] = {}
        self.complete = complete
        self._on_change: list[Callable[[Change[V]], None]] = []
        self._on_mark: list[Callable[[], None]] = []

    def put(self, key: str, value: V) -> None:
        old = self.rows.get(key)
        if old != value:
            self.rows[key] = value
            self._tell(Change(key, old, value))

    def delete(self, key: str) -> None:
        old = self.rows.pop(key, None)
        if old is not None:
            self._tell(Change(key, old, None))

    def mark(self, *, complete: bool) -> None:
        self.complete = complete
        for callback in self._on_mark:
            callback()

    def _tell(self, change: Change[V]) -> None:
        for callback in self._on_change:
            callback(change)

    def on_change(self, callback: Callable[[Change[V]], None]) -> None:
        self._on_change.append(callback)

    def on_mark(self, callback: Callable[[], None]) -> None:
        self._on_mark.append(callback)

    def forget_readers(self) -> None:
        """The reader's process ended."""
        self._on_change.clear()
        self._on_mark.clear()

    def get(self, key: str) -> V | None:
        return self.rows.get(key)

    def keys(self) -> KeysView[str]:
        return self.rows.keys()

    def values(self) -> ValuesView[V]:
        return self.rows.values()

    def items(self) -> ItemsView[str, V]:
        return self.rows.items()

    def __contains__(self, key: str) -> bool:
        return key in self.rows

    def __len__(self) -> int:
        return len(self.rows)
