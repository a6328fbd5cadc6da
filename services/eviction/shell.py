"""Wires pressure, garbage and log rotation to the bus and the runtime."""

import asyncio
import contextlib

from services.eviction.containers.collector import Collector
from services.eviction.containers.folders import Folders
from services.eviction.containers.model import Policy as ContainerPolicy
from services.eviction.events import Events
from services.eviction.garbage import Garbage
from services.eviction.images.collector import ImageCollector
from services.eviction.images.model import Policy as ImagePolicy
from services.eviction.logs.rotator import LogRotator
from services.eviction.metrics import EvictionMetrics
from services.eviction.pressure.core import with_allocatable
from services.eviction.pressure.evictor import Evictor
from services.eviction.pressure.figures import Figures
from services.eviction.pressure.model import State
from services.eviction.pressure.observe import SignalReader
from services.eviction.pressure.passes import Options, Parts, Passes
from services.eviction.pressure.watch import PressureWatch
from services.eviction.settings import EvictionSettings
from shared.checkpoint import Checkpoint
from shared.cri import api
from shared.cri.client import RuntimeClient
from shared.cri.metrics import RuntimeMetrics
from shared.errors import Invalid
from shared.kube.duration import parse_go_duration
from shared.kube.eviction_thresholds import Threshold, merged_hard, parse_thresholds
from shared.kube.quantity import InvalidQuantity, value
from shared.messages.eviction import NODE_PRESSURE, REMOVED_IMAGES
from shared.messages.pleg import RUNTIME_PODS
from shared.messages.pod_sync import PODS
from shared.messages.volume_manager import VOLUME_USAGE
from shared.service import Context


async def serve(ctx: Context[EvictionSettings]) -> None:
    """Runs until `ctx.stopping`. Ready after the first look at the node. Raises Invalid for wrong settings."""
    settings = ctx.settings
    thresholds = watched_thresholds(settings)
    async with RuntimeClient(
        settings.runtime_endpoint,
        image_endpoint=settings.image_service_endpoint,
        timeout_s=settings.runtime_request_timeout_s,
        observer=RuntimeMetrics(ctx.registry),
    ) as cri:
        daemon = Eviction(ctx, cri, thresholds)
        ctx.spawn("pressure", daemon.passes.run(ctx.ready))
        ctx.spawn("dead", daemon.garbage.collect_dead_for_ever())
        ctx.spawn("containers", daemon.garbage.collect_containers_for_ever(settings.container_gc_period_s))
        ctx.spawn("images", daemon.collect_images())
        ctx.spawn("logs", daemon.rotate_logs_for_ever())
        await ctx.stopping.wait()


class Eviction:
    """The daemon's parts."""

    def __init__(self, ctx: Context[EvictionSettings], cri: RuntimeClient, thresholds: list[Threshold]) -> None:
        self.ctx, self.settings, self.cri = ctx, ctx.settings, cri
        self.metrics = EvictionMetrics(ctx.registry)
        self.events = Events(ctx.event, self.settings.node_name)
        bus = ctx.bus
        self.pods, self.runtime = bus.follow(PODS), bus.follow(RUNTIME_PODS)
        self.garbage = self._make_garbage()
        self.garbage.watch(self.runtime)
        self.rotator = self._make_rotator()
        self.reader = SignalReader(bus, cri, self.settings.root_dir)
        self.passes = self._make_passes(thresholds)

    def _make_passes(self, thresholds: list[Threshold]) -> Passes:
        ctx, settings = self.ctx, self.settings
        watch = PressureWatch(
            thresholds,
            self.reader,
            ctx.bus.own(NODE_PRESSURE),
            Checkpoint(ctx.run_dir / "state" / "eviction", version=1, kind=State, durable=False),
            transition_s=settings.eviction_pressure_transition_period_s,
            failed=lambda text: ctx.degraded("checkpoint", text),
        )
        volumes = ctx.bus.follow(VOLUME_USAGE)
        parts = Parts(
            watch=watch,
            figures=Figures(ctx.bus, self.cri, self.pods, self.runtime, volumes),
            evictor=Evictor(ctx.bus, self.pods, self.events, self.metrics, ctx.log),
            events=self.events,
            reclaim=self._reclaim,
            pods=self.pods,
            degraded=ctx.degraded,
            log=ctx.log,
        )
        options = Options(
            period_s=settings.pressure_period_s,
            max_pod_grace_s=settings.eviction_max_pod_grace_period,
            local_storage=settings.local_storage_capacity_isolation,
        )
        return Passes(parts, options)

    async def _reclaim(self, signal: str) -> None:
        """With images on a disk of their own, neither they nor layers lie on the node's."""
        if not (self.reader.dedicated_imagefs and signal.startswith("nodefs.")):
            await self.garbage.reclaim(signal)

    def _make_garbage(self) -> Garbage:
        ctx, settings = self.ctx, self.settings
        containers = Collector(
            self.cri,
            self.pods,
            self.runtime,
            Folders(settings.pod_logs_dir, settings.container_log_links_dir),
            ContainerPolicy(
                min_age_s=parse_go_duration(settings.minimum_container_ttl_duration),
                max_per_container=settings.maximum_dead_containers_per_container,
                max_total=settings.maximum_dead_containers,
            ),
            observers=(self.metrics, ctx.log),
        )
        removed = ctx.bus.own(REMOVED_IMAGES)
        removed.mark(complete=True)
        policy = ImagePolicy(
            high_percent=settings.image_gc_high_threshold_percent,
            low_percent=settings.image_gc_low_threshold_percent,
            min_age_s=settings.image_minimum_gc_age_s,
            max_age_s=settings.image_maximum_gc_age_s,
        )
        images = ImageCollector(self.cri, self.pods, removed, policy, observers=(self.events, self.metrics, ctx.log))
        return Garbage(containers, images, self.pods, events=self.events, degraded=ctx.degraded, log=ctx.log)

    def _make_rotator(self) -> LogRotator:
        async def reopen(container_id: str) -> None:
            await self.cri.reopen_container_log(api.ReopenContainerLogRequest(container_id=container_id))

        try:
            size = value(self.settings.container_log_max_size)
        except InvalidQuantity as error:
            raise Invalid(f"containerLogMaxSize {self.settings.container_log_max_size!r}: {error}") from error
        return LogRotator(
            self.runtime,
            reopen,
            max_size_bytes=size,
            max_files=self.settings.container_log_max_files,
            observers=(self.metrics, self.ctx.log),
        )

    async def collect_images(self) -> None:
        """Images are listed in any case, so that their ages are known when a disk is short."""
        settings = self.settings
        enabled = settings.image_gc_high_threshold_percent < 100 or settings.image_maximum_gc_age_s > 0
        await self.garbage.collect_images_for_ever(settings.image_gc_period_s, enabled=enabled)

    async def rotate_logs_for_ever(self) -> None:
        """A look at all logs each `container_log_monitor_interval_s`."""
        while True:
            await self.rotator.rotate_all(self.settings.container_log_max_workers)
            await asyncio.sleep(self.settings.container_log_monitor_interval_s)


def watched_thresholds(settings: EvictionSettings) -> list[Threshold]:
    """All thresholds of the settings. Raises Invalid."""
    grace_s: dict[str, float] = {}
    for signal, text in settings.eviction_soft_grace_period.items():
        with contextlib.suppress(ValueError):
            grace_s[signal] = parse_go_duration(text)
            continue
        raise Invalid(f"evictionSoftGracePeriod {signal}: {text!r} is no duration")
    hard = merged_hard(settings.eviction_hard, merge_defaults=settings.merge_default_eviction_settings)
    thresholds = parse_thresholds(
        hard, settings.eviction_soft, soft_grace_s=grace_s, min_reclaim=settings.eviction_minimum_reclaim
    )
    return with_allocatable(thresholds, pods_enforced="pods" in settings.enforce_node_allocatable)
