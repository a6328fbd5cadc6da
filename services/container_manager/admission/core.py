"""Does a pod fit? Pure. Source: upstream `lifecycle` (predicates), the scheduler's noderesources and nodeports."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from shared.kube.pods import effective_requests, is_restartable_init
from shared.kube.quantity import milli, value
from shared.kube.types import Pod

STORAGE: Final = "ephemeral-storage"
ORDER: Final = ("cpu", "memory", STORAGE)
"""checked in this order, then all others by name"""
NODE_PORTS: Final = "NodePorts"
NODE_PORTS_MESSAGE: Final = "Predicate NodePorts failed: node(s) didn't have free ports for the requested pod ports"
ANY_ADDRESS: Final = "0.0.0.0"

HostPort = tuple[str, str, int]
"""address, protocol and number of a port that a pod has on the node"""


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


def host_ports_of(pod: Pod) -> list[HostPort]:
    """Ports on the node of containers that run side by side; with the host's network each port is one."""
    sidecars = [c for c in pod.spec.init_containers if is_restartable_init(c)]
    return [
        (port.host_ip or ANY_ADDRESS, port.protocol or "TCP", port.host_port)
        for container in (*pod.spec.containers, *sidecars)
        for port in container.ports
        if port.host_port
    ]


def is_port_taken(wanted: Iterable[HostPort], others: Iterable[HostPort]) -> bool:
    """Whether a wanted port is another pod's, on the same address or where one of them is every address."""
    taken = list(others)
    return any(
        (protocol, number) == (other_protocol, other_number) and (address == other or ANY_ADDRESS in (address, other))
        for address, protocol, number in wanted
        for other, other_protocol, other_number in taken
    )


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
