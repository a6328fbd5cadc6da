"""Does a pod fit? Pure. Source: upstream `lifecycle` (predicates), scheduler's noderesources fit."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from shared.kube.pods import effective_requests
from shared.kube.quantity import milli, value
from shared.kube.types import Pod

STORAGE: Final = "ephemeral-storage"
ORDER: Final = ("cpu", "memory", STORAGE)
"""checked in this order, then all others by name"""


@dataclass(frozen=True)
class Insufficient:
    """One resource that is short. `cpu` in millicores, all else in whole units."""

    resource: str
    requested: int
    used: int
    capacity: int

    @property
    def reason(self) -> str:
        return f"OutOf{self.resource}"

    @property
    def message(self) -> str:
        return (
            f"Node didn't have enough resource: {self.resource}, requested: {self.requested}, "
            f"used: {self.used}, capacity: {self.capacity}"
        )


def requests_of(pod: Pod) -> dict[str, int]:
    """What a pod takes away, overhead and pod-level requests included; nothing for resources it does not name."""
    return {name: milli(text) if name == "cpu" else value(text) for name, text in effective_requests(pod).items()}


def find_shortages(
    wanted: Mapping[str, int], others: Iterable[Mapping[str, int]], allocatable: Mapping[str, int]
) -> list[Insufficient]:
    """Every resource of which there is not enough, in upstream's order. `others` are the pods that are there.

    Not checked when the node does not have it: an extended resource (`vendor/name`), which something else provides, and
    ephemeral storage, which the node has once its file system could be read.
    """
    used, count = _total(others)
    shortages = []
    if count + 1 > allocatable.get("pods", 0):
        shortages.append(Insufficient("pods", 1, count, allocatable.get("pods", 0)))
    known = [*ORDER, *sorted(name for name in wanted if name not in ORDER and name != "pods")]
    for name in known:
        amount = wanted.get(name, 0)
        have = allocatable.get(name)
        if have is None and ("/" in name or name == STORAGE):
            continue
        if amount > 0 and amount > (have or 0) - used.get(name, 0):
            shortages.append(Insufficient(name, amount, used.get(name, 0), have or 0))
    return shortages


def _total(others: Iterable[Mapping[str, int]]) -> tuple[dict[str, int], int]:
    total: dict[str, int] = {}
    count = 0
    for other in others:
        count += 1
        for name, amount in other.items():
            total[name] = total.get(name, 0) + amount
    return total, count
