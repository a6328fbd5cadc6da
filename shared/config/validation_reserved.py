"""Rules for what is kept back from pods: reservations, their enforcement, eviction thresholds."""

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from shared.kube.duration import parse_go_duration

_PREFIX: Final = "invalid configuration: "
_RESERVABLE: Final = ("cpu", "memory", "ephemeral-storage", "pid")
_QUANTITY: Final = re.compile(r"([+-]?)([0-9]+\.?[0-9]*|\.[0-9]+)([numkMGTPE]|[KMGTPE]i|[eE][+-]?[0-9]+)?")
_KINDS: Final = (
    "none",
    "pods",
    "system-reserved",
    "system-reserved-compressible",
    "kube-reserved",
    "kube-reserved-compressible",
)
_SIGNALS: Final = (
    "memory.available",
    "allocatableMemory.available",
    "nodefs.available",
    "nodefs.inodesFree",
    "imagefs.available",
    "imagefs.inodesFree",
    "containerfs.available",
    "containerfs.inodesFree",
    "pid.available",
)
_CPUSET: Final = re.compile(r"\d+(-\d+)?(,\d+(-\d+)?)*")


def check_reserved(values: Mapping[str, Any], gates: Mapping[str, bool]) -> Iterator[str]:
    """systemReserved, kubeReserved, reservedSystemCPUs, reservedMemory."""
    for path in ("systemReserved", "kubeReserved"):
        for resource, amount in (values.get(path) or {}).items():
            match = _QUANTITY.fullmatch(amount)
            if resource not in _RESERVABLE:
                yield f'{_PREFIX}{path}: cannot reserve "{resource}" resource'
            elif match is None:
                yield f'{_PREFIX}{path}: "{amount}" of {resource} is not a quantity'
            elif match.group(1) == "-":
                yield f'{_PREFIX}{path}: resource quantity for "{resource}" cannot be negative: {amount}'
    cpus = values.get("reservedSystemCPUs")
    if cpus:
        if values.get("systemReservedCgroup") or values.get("kubeReservedCgroup"):
            yield (
                f"{_PREFIX}can't use reservedSystemCPUs (--reserved-cpus) with systemReservedCgroup "
                "(--system-reserved-cgroup) or kubeReservedCgroup (--kube-reserved-cgroup)"
            )
        if not _CPUSET.fullmatch(cpus):
            yield f"{_PREFIX}unable to parse reservedSystemCPUs (--reserved-cpus) {cpus}"
    yield from _check_reserved_memory(values.get("reservedMemory") or [])


def _check_reserved_memory(entries: list[dict[str, Any]]) -> Iterator[str]:
    seen: set[tuple[int, str]] = set()
    for entry in entries:
        node = entry.get("numaNode", 0)
        for resource, amount in (entry.get("limits") or {}).items():
            if resource != "memory" and not resource.startswith("hugepages-"):
                yield f'{_PREFIX}the limit type "{resource}" for NUMA node {node} is not allowed'
            elif re.fullmatch(r"[+]?0*\.?0*[A-Za-z]*", amount):
                yield f'{_PREFIX}reserved memory may not be zero for NUMA node {node} and resource "{resource}"'
            if (node, resource) in seen:
                yield f'{_PREFIX}the reserved memory has a duplicate value for NUMA node {node} and resource "{resource}"'
            seen.add((node, resource))


def check_enforcement(values: Mapping[str, Any], gates: Mapping[str, bool]) -> Iterator[str]:
    """enforceNodeAllocatable and the cgroups that it needs."""
    kinds = values.get("enforceNodeAllocatable") or []
    field = "enforceNodeAllocatable (--enforce-node-allocatable)"
    for kind in kinds:
        if kind not in _KINDS:
            yield (
                f'{_PREFIX}option "{kind}" specified for {field}. Valid options are '
                + ", ".join(f'"{known}"' for known in _KINDS)
            )
    if len(set(kinds)) != len(kinds):
        yield f"{_PREFIX}duplicated enforcements in {field}"
    if "none" in kinds and len(kinds) > 1:
        yield f'{_PREFIX}{field} may not contain additional enforcements when "none" is specified'
    for owner in ("system", "kube"):
        plain, compressible = f"{owner}-reserved", f"{owner}-reserved-compressible"
        cgroup = f"{owner}ReservedCgroup"
        if plain in kinds and compressible in kinds:
            yield f"{_PREFIX}both {plain} and {compressible} specified in {field}"
        for kind in (plain, compressible):
            if kind in kinds and not values.get(cgroup):
                yield (
                    f"{_PREFIX}{cgroup} (--{owner}-reserved-cgroup) must be specified when {kind} contained in {field}"
                )
    if set(kinds) - {"none"} and not values["cgroupsPerQOS"]:
        yield f"{_PREFIX}{field} is not supported unless cgroupsPerQOS (--cgroups-per-qos) is set to true"


def check_evictions(values: Mapping[str, Any], gates: Mapping[str, bool]) -> Iterator[str]:
    """Eviction thresholds and their grace periods (upstream `eviction`, `ParseThresholdConfig`)."""
    for path in ("evictionHard", "evictionSoft", "evictionMinimumReclaim"):
        for signal, amount in (values.get(path) or {}).items():
            if signal not in _SIGNALS:
                yield f"{_PREFIX}{path}: unsupported eviction signal {signal}"
            elif not _is_threshold(amount):
                yield f'{_PREFIX}{path}: "{amount}" of {signal} is neither a quantity nor a percentage from 0% to 100%'
    grace = values.get("evictionSoftGracePeriod") or {}
    for signal in values.get("evictionSoft") or {}:
        if signal not in grace:
            yield f"{_PREFIX}grace period must be specified for the soft eviction threshold {signal}"
    for signal, text in grace.items():
        try:
            wrong = parse_go_duration(text) < 0
        except ValueError as error:
            yield f"{_PREFIX}evictionSoftGracePeriod: {signal}: {error}"
            continue
        if wrong:
            yield f"{_PREFIX}evictionSoftGracePeriod: invalid eviction grace period specified: {text}, must be a positive value"


def _is_threshold(text: str) -> bool:
    percent = re.fullmatch(r"([0-9]+\.?[0-9]*|\.[0-9]+)%", text)
    if percent:
        return float(percent.group(1)) <= 100
    match = _QUANTITY.fullmatch(text)
    return match is not None and match.group(1) != "-"
