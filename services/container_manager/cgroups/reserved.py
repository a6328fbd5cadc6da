"""Groups of the system's own daemons that are limited to what is reserved for them. Pure.

`enforceNodeAllocatable` names them: `system-reserved` and `kube-reserved` are limited in everything, the `-compressible`
ones in CPU alone. Source: upstream `cm` (enforceNodeAllocatableCgroups). The groups are the administrator's: they must
exist, and nothing but these values is changed.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Final

from services.container_manager.cgroups.model import Limits
from shared.cgroups import formulas
from shared.errors import Invalid
from shared.kube.quantity import milli, value

_COMPRESSIBLE: Final = "-compressible"
_TITLES: Final = {"system-reserved": "System Reserved", "kube-reserved": "Kube Reserved"}


@dataclass(frozen=True)
class ReservedGroup:
    """One group and its values. `title` is how upstream's events call it, `path` is as configured."""

    path: str
    title: str
    limits: Limits


def reserved_groups(
    enforced: Collection[str],
    paths: Mapping[str, str],
    amounts: Mapping[str, Mapping[str, str]],
    *,
    cpus: str | None,
) -> list[ReservedGroup]:
    """What to enforce; `paths` and `amounts` are by family (`system-reserved`). Raises Invalid for a family without group.

    `cpus` None: the groups get no CPU set.
    """
    found = []
    for key in enforced:
        family = key.removesuffix(_COMPRESSIBLE)
        if family not in _TITLES:
            continue
        if not paths.get(family):
            raise Invalid(f"enforceNodeAllocatable {key!r}: its cgroup is not configured")
        limits = _limits(amounts.get(family, {}), whole=family == key, cpus=cpus)
        found.append(ReservedGroup(paths[family], _TITLES[family], limits))
    return found


def _limits(amounts: Mapping[str, str], *, whole: bool, cpus: str | None) -> Limits:
    shares = formulas.shares(milli(amounts["cpu"])) if "cpu" in amounts else None
    if not whole:
        return Limits(cpu_shares=shares, cpuset_cpus=cpus)
    memory = value(amounts.get("memory", "0")) or None
    return Limits(
        cpu_shares=shares,
        memory_bytes=memory,
        pids=value(amounts["pid"]) if "pid" in amounts else None,
        cpuset_cpus=cpus,
        unified={"memory.min": memory} if memory else {},
    )
