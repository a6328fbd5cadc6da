"""Decides what groups must be there and what is to be done about one pod's. Pure.

A pod's group through its life::

    (nothing) ─ pod may start ─► ready ─ nothing runs, volumes unmounted ─► released ─ pod forgotten ─► (nothing)

Groups without a pod (their pod went while no agent ran) are destroyed once the `pods` table is complete.
Source: upstream `cm` (ResourceConfigForPod, qosContainerManager, nodeAllocatable) and `kubelet_pods` (orphan clean-up).
"""

from collections.abc import Iterable, Mapping
from typing import Final

from services.container_manager.cgroups.model import (
    Destroy,
    Ensure,
    Forget,
    Limits,
    MemoryReservation,
    PodAction,
    PodSeen,
    PodShare,
    PodWant,
    Policy,
    Ready,
    Release,
    Throttle,
)
from shared.cgroups import formulas
from shared.cgroups.names import QosClass
from shared.kube.pods import effective_limits, effective_requests, qos_class
from shared.kube.quantity import InvalidQuantity, milli, value
from shared.kube.types import Container, Pod
from shared.messages.container_manager import PodCgroupPhase
from shared.messages.pod_sync import PodEntry, PodPhase
from shared.messages.volume_manager import VolumesPhase

HUGEPAGES: Final = "hugepages-"
RUNTIME_SOURCE: Final = "runtime"
"""source of a `pods` row whose pod is known to the runtime only: its spec is not known"""


def pod_want(uid: str, entry: PodEntry, policy: Policy) -> PodWant:
    """The part of a `pods` row that its group depends on."""
    qos = _class_of(entry.pod)
    known = knows_spec(entry)
    return PodWant(
        uid=uid,
        name=policy.groups.pod(uid, qos) if known else None,
        qos=qos,
        may_start=known and entry.admitted and entry.may_run and entry.phase is PodPhase.SYNC,
        removable=entry.runtime_removable,
    )


def prepared_want(pod: Pod, policy: Policy) -> PodWant:
    """The same for a pod that was asked for before the table named it."""
    qos, uid = _class_of(pod), pod.metadata.uid
    return PodWant(uid=uid, name=policy.groups.pod(uid, qos), qos=qos, may_start=True, removable=False)


def _class_of(pod: Pod) -> QosClass:
    """Its class; Burstable for a pod with a quantity that is none, whose values will be refused later."""
    try:
        return QosClass(qos_class(pod))
    except InvalidQuantity:
        return QosClass.BURSTABLE


def knows_spec(entry: PodEntry) -> bool:
    """Whether the row carries the pod's spec; of a pod that only the runtime knows it has names alone."""
    return entry.source != RUNTIME_SOURCE


def plan_pod(want: PodWant | None, seen: PodSeen, *, pods_complete: bool) -> PodAction | None:
    """The next step for one pod; None when all is as it should be or when something must be waited for.

    `want` None: the `pods` table has no such row, which means nothing until `pods_complete`.
    """
    if want is None:
        if not pods_complete:
            return None
        if seen.group is not None:
            return _end(seen)
        return Forget() if seen.row is not None else None
    if want.removable:
        if seen.group is not None:
            return _end(seen)
        return Release() if seen.row is not PodCgroupPhase.RELEASED else None
    if seen.group is not None:
        return Ready(seen.group, want.qos) if seen.row is not PodCgroupPhase.READY else None
    if want.may_start and want.name is not None:
        return Ensure(want.name, want.qos)
    return None


def _end(seen: PodSeen) -> PodAction | None:
    """Volumes first: what tmpfs volumes hold is charged to the group (upstream keeps it for the same reason)."""
    assert seen.group is not None
    if seen.volumes is VolumesPhase.UNMOUNTED or (seen.volumes is None and seen.volumes_known):
        return Destroy(seen.group)
    return None if seen.throttled else Throttle(seen.group)


def pod_limits(pod: Pod, policy: Policy) -> Limits:
    """Values of one pod's group. The CFS quota and the memory limit are set only where every container declares one.

    Raises InvalidQuantity.
    """
    requests, limits = effective_requests(pod), effective_limits(pod)
    qos = QosClass(qos_class(pod))
    hugetlb = {hugetlb_size(name): value(text) for name, text in limits.items() if name.startswith(HUGEPAGES)}
    pids = policy.pod_pids_limit if policy.pod_pids_limit > 0 else None
    if qos is QosClass.BEST_EFFORT:
        return Limits(cpu_shares=formulas.MIN_SHARES, pids=pids, hugetlb_bytes=hugetlb)
    guaranteed = qos is QosClass.GUARANTEED
    quota = formulas.quota(milli(limits.get("cpu", "0")), policy.period_us) if policy.cpu_cfs_quota else -1
    memory = value(limits.get("memory", "0"))
    return Limits(
        cpu_shares=formulas.shares(milli(requests.get("cpu", "0"))),
        quota_us=quota if quota and (guaranteed or declares_limit(pod, "cpu")) else None,
        period_us=policy.period_us,
        memory_bytes=memory if memory and (guaranteed or declares_limit(pod, "memory")) else None,
        pids=pids,
        hugetlb_bytes=hugetlb,
        unified=_pod_reservation(requests, qos, policy),
    )


def _pod_reservation(requests: Mapping[str, str], qos: QosClass, policy: Policy) -> dict[str, int | str]:
    requested = value(requests.get("memory", "0"))
    if policy.memory_reservation is not MemoryReservation.TIERED or not requested:
        return {}
    return {"memory.min" if qos is QosClass.GUARANTEED else "memory.low": requested}


def declares_limit(pod: Pod, resource: str) -> bool:
    """Whether the pod as a whole is limited: by its own limit, or by one of every container (init ones too)."""
    whole = pod.spec.resources
    if whole is not None and milli(whole.limits.get(resource, "0")):
        return True
    containers: list[Container] = [*pod.spec.init_containers, *pod.spec.containers]
    return all(c.resources is not None and milli(c.resources.limits.get(resource, "0")) for c in containers)


def pod_share(pod: Pod) -> PodShare:
    """What one active pod adds to its tier."""
    requests = effective_requests(pod)
    return PodShare(
        qos=QosClass(qos_class(pod)),
        cpu_millicores=milli(requests.get("cpu", "0")),
        memory_bytes=value(requests.get("memory", "0")),
    )


def tier_limits(active: Iterable[PodShare], policy: Policy, sizes: Iterable[str]) -> dict[QosClass, Limits]:
    """Values of `burstable` and `besteffort` for the active pods, and what changes of `kubepods` itself (Guaranteed)."""
    unbounded = dict.fromkeys(sizes, formulas.UNLIMITED_HUGETLB_BYTES)
    cpu, memory = 0, dict.fromkeys(QosClass, 0)
    for share in active:
        memory[share.qos] += share.memory_bytes
        if share.qos is QosClass.BURSTABLE:
            cpu += share.cpu_millicores
    low = least = 0
    if policy.memory_reservation is MemoryReservation.TIERED:
        low = memory[QosClass.BURSTABLE]
        least = low + memory[QosClass.GUARANTEED]
    return {
        QosClass.GUARANTEED: Limits(hugetlb_bytes=unbounded, unified={"memory.min": least, "memory.low": low}),
        QosClass.BURSTABLE: Limits(
            cpu_shares=formulas.shares(cpu), hugetlb_bytes=unbounded, unified={"memory.low": low}
        ),
        QosClass.BEST_EFFORT: Limits(cpu_shares=formulas.MIN_SHARES, hugetlb_bytes=unbounded),
    }


def kubepods_limits(allocatable: Mapping[str, int], *, cpus: str | None, sizes: Iterable[str]) -> Limits:
    """Values of `kubepods`. `allocatable` holds cpu (millicores), memory (bytes) and pid; `cpus` None: no CPU set.

    This is capacity less reservations; eviction thresholds are not taken off (upstream "absolute" allocatable). The
    CPU set names every online CPU so that systemd keeps the controller on.
    """
    return Limits(
        cpu_shares=formulas.shares(allocatable["cpu"]),
        memory_bytes=allocatable["memory"] or None,
        pids=allocatable.get("pid"),
        hugetlb_bytes=dict.fromkeys(sizes, formulas.UNLIMITED_HUGETLB_BYTES),
        cpuset_cpus=cpus,
    )


def hugetlb_size(resource: str) -> str:
    """The page size of a resource `hugepages-2Mi` as hugetlb files spell it: `2MB`."""
    size = value(resource.removeprefix(HUGEPAGES))
    for unit, name in ((1 << 30, "GB"), (1 << 20, "MB"), (1 << 10, "KB")):
        if size >= unit and size % unit == 0:
            return f"{size // unit}{name}"
    return f"{size}B"
