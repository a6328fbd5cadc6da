"""Capacity and allocatable of the node. Pure. Source: upstream `cm` (node allocatable) and `nodestatus` (MachineInfo)."""

from collections.abc import Mapping
from typing import Final

from services.container_manager.capacity.model import Machine, Reservations, Shares
from shared.errors import Invalid
from shared.kube.eviction_thresholds import MEMORY_AVAILABLE, NODEFS_AVAILABLE, parse_thresholds
from shared.kube.quantity import InvalidQuantity, format_bytes, format_milli, milli, value

STORAGE: Final = "ephemeral-storage"
RESERVABLE: Final = ("cpu", "memory", STORAGE, "pid")
_EVICTION: Final = {MEMORY_AVAILABLE: "memory", NODEFS_AVAILABLE: STORAGE}
_HIDDEN: Final = "pid"


def compute_shares(machine: Machine, reservations: Reservations, *, enforce_pods: bool) -> Shares:
    """Raises Invalid for a reservation that cannot be read, or that is more than there is."""
    capacity = _capacity(machine, reservations)
    reserved = _reserved(reservations)
    thresholds = _thresholds(reservations.eviction_hard, capacity)
    held = {name: reserved.get(name, 0) + thresholds.get(name, 0) for name in RESERVABLE}
    _check(held, capacity)
    allocatable = {name: max(0, amount - held.get(name, 0)) for name, amount in capacity.items()}
    hugepages = sum(amount for name, amount in capacity.items() if name.startswith("hugepages-"))
    allocatable["memory"] = max(0, allocatable["memory"] - hugepages)
    enforced = {name: max(0, amount - reserved.get(name, 0)) for name, amount in capacity.items()}
    return Shares(capacity, allocatable, enforced if enforce_pods else capacity, reserved)


def _capacity(machine: Machine, reservations: Reservations) -> dict[str, int]:
    pods = reservations.max_pods
    if reservations.pods_per_core > 0:
        pods = min(machine.cpus * reservations.pods_per_core, pods)
    capacity = {"cpu": machine.cpus * 1000, "memory": machine.memory_bytes, "pods": pods, "pid": machine.pids_max}
    capacity |= {f"hugepages-{format_bytes(size)}": size * pages for size, pages in machine.hugepages.items()}
    if machine.storage_bytes is not None:
        capacity[STORAGE] = machine.storage_bytes
    return capacity


def _reserved(reservations: Reservations) -> dict[str, int]:
    system, kube = dict(reservations.system), dict(reservations.kube)
    if reservations.reserved_cpus is not None:
        system["cpu"] = str(reservations.reserved_cpus)
        kube.pop("cpu", None)
    total: dict[str, int] = {}
    for amounts in (system, kube):
        for name, text in amounts.items():
            if name not in RESERVABLE:
                raise Invalid(f'cannot reserve "{name}" resource')
            try:
                amount = milli(text) if name == "cpu" else value(text)
            except InvalidQuantity as error:
                raise Invalid(f'reserve "{name}": {text!r}: {error}') from error
            if amount < 0:
                raise Invalid(f"resource quantity for {name!r} cannot be negative: {text}")
            total[name] = total.get(name, 0) + amount
    return total


def _thresholds(hard: Mapping[str, str], capacity: Mapping[str, int]) -> dict[str, int]:
    """What hard eviction thresholds keep free, of the two resources that count here."""
    return {
        _EVICTION[t.signal]: t.value.of(capacity.get(_EVICTION[t.signal], 0))
        for t in parse_thresholds(hard)
        if t.signal in _EVICTION
    }


def _check(held: Mapping[str, int], capacity: Mapping[str, int]) -> None:
    wrong = [
        f'Resource "{name}" has a reservation of {_format(name, amount)} but capacity of '
        f"{_format(name, capacity[name])}. Expected capacity >= reservation."
        for name, amount in held.items()
        if name in capacity and amount > capacity[name]
    ]
    if wrong:
        raise Invalid(f"invalid Node Allocatable configuration. {' '.join(wrong)}")


def format_resources(amounts: Mapping[str, int]) -> dict[str, str]:
    """As quantities in canonical form, without what the Node does not show."""
    return {name: _format(name, amount) for name, amount in amounts.items() if name != _HIDDEN}


def _format(name: str, amount: int) -> str:
    if name == "cpu":
        return format_milli(amount)
    return format_milli(amount * 1000) if name in ("pods", "pid") else format_bytes(amount)
