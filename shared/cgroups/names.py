"""Names of control groups, for the cgroupfs and the systemd driver. Pure.

A name is a list of parts; the two drivers write the same list differently (upstream `cm`, `CgroupName`):

    parts      ("kubepods", "burstable", "pod12-ab")
    cgroupfs   /kubepods/burstable/pod12-ab
    systemd    /kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod12_ab.slice
"""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from shared.errors import Invalid

KUBEPODS: Final = "kubepods"
POD_PREFIX: Final = "pod"
_SLICE: Final = ".slice"


class Driver(StrEnum):
    """Who manages the tree (`cgroupDriver`)."""

    CGROUPFS = "cgroupfs"
    SYSTEMD = "systemd"


class QosClass(StrEnum):
    """Quality of service of a pod (API field `status.qosClass`)."""

    GUARANTEED = "Guaranteed"
    BURSTABLE = "Burstable"
    BEST_EFFORT = "BestEffort"


_TIERS: Final = {QosClass.GUARANTEED: "", QosClass.BURSTABLE: "burstable", QosClass.BEST_EFFORT: "besteffort"}


@dataclass(frozen=True, order=True)
class CgroupName:
    """A driver-neutral name; no parts is the root of the hierarchy."""

    parts: tuple[str, ...] = ()

    def child(self, *parts: str) -> "CgroupName":
        return CgroupName((*self.parts, *(p for p in parts if p)))

    def ancestors(self) -> Iterable["CgroupName"]:
        """From just below the root down to the name itself."""
        return (CgroupName(self.parts[: n + 1]) for n in range(len(self.parts)))

    def path(self, driver: Driver) -> str:
        """Absolute path below the hierarchy's root, as CRI wants it in `cgroup_parent`."""
        parts = self.parts if driver is Driver.CGROUPFS else systemd_slices(self.parts)
        return "/" + "/".join(parts)

    def __str__(self) -> str:
        """As upstream prints it in messages: the parts in brackets."""
        return f"[{' '.join(self.parts)}]"


def systemd_slices(parts: Iterable[str]) -> tuple[str, ...]:
    """The slice directories of a name: each unit is named after all parts so far, joined by `-`."""
    escaped = [p.replace("-", "_") for p in parts]
    return tuple("-".join(escaped[: n + 1]) + _SLICE for n in range(len(escaped)))


def from_systemd_unit(unit: str) -> CgroupName:
    """The name behind the last component of a slice path (upstream `ParseSystemdToCgroupName`)."""
    base = unit.rsplit("/", 1)[-1].removesuffix(_SLICE)
    return CgroupName(tuple(p.replace("_", "-") for p in base.split("-") if p))


def parse_root(text: str) -> CgroupName:
    """The `cgroupRoot` setting, a driver-neutral path. Raises Invalid when a part has characters a driver needs."""
    parts = tuple(p for p in text.split("/") if p)
    for part in parts:
        if "_" in part or part in (".", ".."):
            raise Invalid(f"invalid cgroup root {text!r}: {part!r} is not a valid component of a cgroup name")
    return CgroupName(parts)


def parse_configured(path: str, driver: Driver) -> CgroupName:
    """The name of a group that is configured by its path in the driver's form (`/system.slice`, `/daemons`)."""
    if driver is Driver.SYSTEMD:
        return from_systemd_unit(path.rstrip("/"))
    return CgroupName(tuple(p for p in path.split("/") if p))


@dataclass(frozen=True)
class PodGroups:
    """Where the groups of pods lie below one `cgroupRoot`."""

    root: CgroupName = CgroupName()

    @property
    def kubepods(self) -> CgroupName:
        return self.root.child(KUBEPODS)

    def tier(self, qos: QosClass) -> CgroupName:
        """The parent of pods of that class."""
        return self.kubepods.child(_TIERS[qos])

    def pod(self, uid: str, qos: QosClass) -> CgroupName:
        return self.tier(qos).child(POD_PREFIX + uid)

    def qos_of(self, name: CgroupName) -> QosClass:
        """The class of the tier that a pod's group lies in."""
        parent = CgroupName(name.parts[:-1])
        return next((qos for qos in QosClass if self.tier(qos) == parent), QosClass.GUARANTEED)


def pod_uid_of(directory: str, driver: Driver) -> str | None:
    """The pod whose group a directory below one of the tiers is; None: it is something else.

    Upstream (`cm`, pod container manager) recognises a last part of exactly one prefix `pod` with something behind it.
    """
    if driver is Driver.SYSTEMD:
        if not directory.endswith(_SLICE):
            return None
        parts = from_systemd_unit(directory).parts
        last = parts[-1] if parts else ""
    else:
        last = directory
    pieces = last.split(POD_PREFIX)
    return pieces[1] if len(pieces) == 2 and pieces[0] == "" and pieces[1] else None
