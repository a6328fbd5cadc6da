"""Claims the pods' group, publishes what the node has, and answers what pods ask for."""

import asyncio
import contextlib
import socket
from functools import partial
from pathlib import Path
from typing import Final

from services.container_manager import kernel
from services.container_manager.admission.desk import AdmissionDesk
from services.container_manager.admission.ledger import Ledger
from services.container_manager.capacity.core import compute_shares, format_resources
from services.container_manager.capacity.machine import parse_cpu_list, read_machine
from services.container_manager.capacity.model import Machine, Reservations, Shares
from services.container_manager.cgroups.cgroupfs import CgroupFs
from services.container_manager.cgroups.claim import GroupClaim
from services.container_manager.cgroups.core import hugetlb_size, kubepods_limits
from services.container_manager.cgroups.keeper import PodGroupKeeper
from services.container_manager.cgroups.model import Limits, MemoryReservation, Policy
from services.container_manager.cgroups.none import NoGroups
from services.container_manager.cgroups.reserved import reserved_groups
from services.container_manager.metrics import ManagerMetrics
from services.container_manager.ports import Groups
from services.container_manager.settings import ContainerManagerSettings
from services.container_manager.usage.desk import UsageDesk, system_groups
from shared.bus import Call, OwnedTable
from shared.cgroups.mounts import Hierarchies, find_hierarchies
from shared.cgroups.names import CgroupName, Driver, PodGroups, QosClass, parse_configured, parse_root
from shared.errors import Fatal, Invalid, Transient
from shared.kube.eviction_thresholds import merged_hard
from shared.messages.container_manager import (
    ADMIT,
    NODE_RESOURCES,
    POD_RESOURCES,
    PREPARE_CONTAINER,
    PREPARE_POD,
    UNPREPARE_POD,
    USAGE,
    ContainerExtras,
    NodeResources,
    PodResources,
    PrepareContainer,
    PreparePod,
    Usage,
    UsageReply,
)
from shared.messages.daemon import ObjectReference
from shared.messages.pleg import RUNTIME_HEALTH, RUNTIME_PODS
from shared.messages.pod_sync import PODS
from shared.messages.volume_manager import POD_VOLUMES
from shared.service import Context

ENFORCE_RETRY_S: Final = 60.0
"""upstream `cm`: pause after the pods' group could not be limited"""
CGROUP_V1_TEXT: Final = (
    "cgroup v1 detected. cgroup v1 support is deprecated and will be removed in a future release. "
    "Please migrate to cgroup v2."
)
KEY: Final = "node"


async def serve(ctx: Context[ContainerManagerSettings]) -> None:
    """Runs until `ctx.stopping`. Raises Fatal when another agent has the pods' group, Invalid for wrong settings."""
    settings = ctx.settings
    policy = make_policy(settings)
    hierarchies = find_hierarchies(policy.driver)
    if missing := hierarchies.missing():
        raise Fatal(f"system validation failed - Following Cgroup subsystem not mounted: {missing}")
    set_kernel_flags(ctx)
    machine = read_machine(Path(settings.root_dir))
    shares = compute_shares(machine, reservations(settings), enforce_pods="pods" in settings.enforce_node_allocatable)
    metrics = ManagerMetrics(ctx.registry)
    metrics.cgroup_version.set(hierarchies.version)
    daemon = ContainerManager(ctx, policy, hierarchies, (machine, shares), metrics)
    daemon.answer()  # before anything is waited for: a request that finds no handler is refused for good
    try:
        await daemon.start()
        await ctx.stopping.wait()
    finally:
        daemon.release()


def set_kernel_flags(ctx: Context[ContainerManagerSettings]) -> None:
    """See `kernel`. Flags that cannot be written make the daemon degraded: pods run without them, if less well."""
    if ctx.settings.protect_kernel_defaults:
        kernel.protect()
    elif not parse_root(ctx.settings.cgroup_root).parts:
        try:
            kernel.tune()
        except Transient as error:
            ctx.degraded("kernel", str(error))


class ContainerManager:
    """The daemon's parts and what ties them together."""

    def __init__(
        self,
        ctx: Context[ContainerManagerSettings],
        policy: Policy,
        hierarchies: Hierarchies,
        node: tuple[Machine, Shares],
        metrics: ManagerMetrics,
    ) -> None:
        self.ctx = ctx
        self.policy = policy
        self.hierarchies = hierarchies
        self.machine, self.shares = node
        sizes = [hugetlb_size(f"hugepages-{size}") for size in self.machine.hugepages]
        self.groups: Groups = CgroupFs(hierarchies, sizes) if policy.per_qos else NoGroups()
        self.pods = ctx.bus.follow(PODS)
        settings = ctx.settings
        self.cpuset = self.machine.online_cpus if settings.cpu_manager_policy == "none" else None
        self.reserved = reserved_groups(
            settings.enforce_node_allocatable,
            {"system-reserved": settings.system_reserved_cgroup, "kube-reserved": settings.kube_reserved_cgroup},
            {"system-reserved": settings.system_reserved, "kube-reserved": settings.kube_reserved},
            cpus=self.cpuset,
        )
        self.table = ctx.bus.own(POD_RESOURCES)
        self.keeper = PodGroupKeeper(
            self.groups,
            policy,
            self.table,
            views=(self.pods, ctx.bus.follow(POD_VOLUMES)),
            spawn=ctx.tasks.create_task,
            observers=(metrics, ctx.log),
        )
        self._started = asyncio.Event()
        self._claim: GroupClaim | None = None
        self.ledger = Ledger(
            ctx.run_dir / "state" / "container_manager",
            self.machine.boot_id,
            failed=lambda text: ctx.degraded("checkpoint", text),
        )
        self.admission = AdmissionDesk(self.shares.allocatable, self.ledger, self.pods, metrics)
        self.usage = self._usage_desk(metrics)

    def answer(self) -> None:
        """Take requests; those that need to know which groups there are wait until that was seen."""
        bus = self.ctx.bus
        bus.answer(ADMIT, self.admission.handle_admit)
        bus.answer(UNPREPARE_POD, self.admission.handle_unprepare)
        bus.answer(PREPARE_POD, self._handle_prepare_pod)
        bus.answer(PREPARE_CONTAINER, self._handle_prepare_container)
        bus.answer(USAGE, self._handle_usage)

    async def start(self) -> None:
        """Everything up to ready. What takes the longest, the values of the pods' group, is written afterwards."""
        bus = self.ctx.bus
        resources: OwnedTable[NodeResources] = bus.own(NODE_RESOURCES)
        resources.put(KEY, self.describe())
        resources.mark(complete=True)
        await self._take_over()
        await self.keeper.start()
        self.table.mark(complete=True)
        self._started.set()
        self._watch_driver()
        self.ctx.spawn("allocatable", self._enforce())
        self.ctx.spawn("refresh", self._refresh_for_ever())
        if self.hierarchies.version == 1:
            self._node_event("Warning", "CgroupV1", CGROUP_V1_TEXT)
        self.ctx.ready()

    def describe(self) -> NodeResources:
        """The machine's row."""
        machine, shares = self.machine, self.shares
        return NodeResources(
            capacity=format_resources(shares.capacity),
            allocatable=format_resources(shares.allocatable),
            cpus=machine.cpus,
            memory_bytes=machine.memory_bytes,
            machine_id=machine.machine_id,
            system_uuid=machine.system_uuid,
            boot_id=machine.boot_id,
            cgroup_version=self.hierarchies.version,
            cgroup_driver=self.policy.driver,
            pods_cgroup=self.policy.groups.kubepods.path(self.policy.driver),
            reserved=format_resources(shares.reserved),
            swap_bytes=machine.swap_bytes,
            hugepages_bytes=sum(size * pages for size, pages in machine.hugepages.items()),
        )

    def release(self) -> None:
        """Let another life have the pods' group (the end of the process does the same)."""
        if self._claim is not None:
            self._claim.release()

    async def _take_over(self) -> None:
        """The pods' group exists and is ours. A tree that cannot be written is waited for, and said so."""
        kubepods = self.policy.groups.kubepods
        while self.policy.per_qos:
            try:
                await self.keeper.run(lambda: self.groups.create(kubepods, Limits()))
                if self._claim is None:
                    self._claim = GroupClaim(self.hierarchies.directory(kubepods, "memory"))
                for tier in (self.policy.groups.tier(qos) for qos in QosClass):
                    await self.keeper.run(partial(self.groups.create, tier, Limits()))
            except Transient as error:
                self.ctx.degraded("cgroups", f"make the groups of pods: {error}")
                await asyncio.sleep(1.0)
                continue
            self.ctx.degraded("cgroups", None)
            return

    async def _enforce(self) -> None:
        """Limit the pods' group to what pods may have, and those of the system's daemons to what is reserved for them.

        Again each minute while that fails.
        """
        limits = kubepods_limits(self.shares.enforced, cpus=self.cpuset, sizes=self.groups.sizes)
        kubepods = self.policy.groups.kubepods
        failed, done = "Failed to update Node Allocatable Limits", "Updated Node Allocatable limit across pods"
        await self._enforce_one(kubepods, limits, failed=f"{failed} {kubepods}", done=done)
        for group in self.reserved:
            name = parse_configured(group.path, self.policy.driver)
            failed = f'Failed to enforce {group.title} Cgroup Limits on "{group.path}"'
            done = f"Updated limits on {group.title.lower()} cgroup {group.path}"
            await self._enforce_one(name, group.limits, failed=failed, done=done)
        await self.ctx.stopping.wait()

    async def _enforce_one(self, name: CgroupName, limits: Limits, *, failed: str, done: str) -> None:
        while errors := await self.keeper.run(lambda: self.groups.update(name, limits)):
            text = f"{failed}: {'; '.join(errors)}"
            self.ctx.degraded("allocatable", text)
            self._node_event("Warning", "FailedNodeAllocatableEnforcement", text)
            await asyncio.sleep(ENFORCE_RETRY_S)
        self.ctx.degraded("allocatable", None)
        self._node_event("Normal", "NodeAllocatableEnforced", done)

    async def _refresh_for_ever(self) -> None:
        while True:
            await asyncio.sleep(self.ctx.settings.refresh_period_s)
            await self.keeper.refresh()

    async def _handle_prepare_pod(self, question: PreparePod, call: Call) -> PodResources:
        await self._started.wait()
        return await self.keeper.prepare(question.pod)

    async def _handle_usage(self, question: Usage, call: Call) -> UsageReply:
        await self._started.wait()
        return await self.usage.handle_usage(question, call)

    async def _handle_prepare_container(self, question: PrepareContainer, call: Call) -> ContainerExtras:
        """Nothing is added: with CPU policy `none`, and without devices and claims, no manager has anything to say."""
        return ContainerExtras()

    def _usage_desk(self, metrics: ManagerMetrics) -> UsageDesk:
        settings = self.ctx.settings
        return UsageDesk(
            self.hierarchies,
            self.machine,
            self.policy,
            pod_names=self.keeper.names,
            runtime=self.ctx.bus.follow(RUNTIME_PODS),
            system=system_groups(
                self.hierarchies,
                kubelet=settings.kubelet_cgroups,
                runtime=settings.runtime_cgroups,
                system=settings.system_cgroups,
            ),
            metrics=metrics,
        )

    def _watch_driver(self) -> None:
        """Say so when the runtime manages groups in another way than this daemon: its containers would be elsewhere."""
        health = self.ctx.bus.follow(RUNTIME_HEALTH)

        def look() -> None:
            row = health.get("runtime")
            other = row.cgroup_driver if row is not None else ""
            wrong = other and other != self.policy.driver
            text = f"the runtime uses cgroup driver {other}, this node {self.policy.driver}" if wrong else None
            self.ctx.degraded("cgroup_driver", text)

        health.on_change(lambda _: look())
        look()

    def _node_event(self, type: str, reason: str, message: str) -> None:
        name = self.ctx.settings.node_name or socket.gethostname().strip().lower()
        self.ctx.event(ObjectReference(kind="Node", name=name, uid=name), type, reason, message)


def make_policy(settings: ContainerManagerSettings) -> Policy:
    """The settings that group values depend on. Raises Invalid."""
    with contextlib.suppress(ValueError):
        return Policy(
            groups=PodGroups(parse_root(settings.cgroup_root)),
            driver=Driver(settings.cgroup_driver),
            per_qos=settings.cgroups_per_qos,
            cpu_cfs_quota=settings.cpu_cfs_quota,
            period_us=round(settings.cpu_cfs_quota_period_s * 1_000_000),
            pod_pids_limit=settings.pod_pids_limit,
            memory_reservation=MemoryReservation(settings.memory_reservation_policy),
        )
    raise Invalid(
        f"cgroupDriver {settings.cgroup_driver!r} or memoryReservationPolicy {settings.memory_reservation_policy!r} "
        "is not known"
    )


def reservations(settings: ContainerManagerSettings) -> Reservations:
    """The settings that are taken off what the machine has. Raises Invalid."""
    try:
        reserved = parse_cpu_list(settings.reserved_system_cpus)
    except ValueError as error:
        raise Invalid(f"reservedSystemCPUs {settings.reserved_system_cpus!r}: {error}") from error
    return Reservations(
        system=settings.system_reserved,
        kube=settings.kube_reserved,
        eviction_hard=merged_hard(settings.eviction_hard, merge_defaults=settings.merge_default_eviction_settings),
        max_pods=settings.max_pods,
        pods_per_core=settings.pods_per_core,
        reserved_cpus=len(reserved) if settings.reserved_system_cpus else None,
    )
