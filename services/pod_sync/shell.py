"""The process: joins the engine to the bus, the runtime and the sources."""

import asyncio
import contextlib
from collections.abc import Coroutine
from pathlib import Path
from typing import Any, Final

from services.pod_sync.containers.backoff import Limits
from services.pod_sync.engine import Engine, Surroundings
from services.pod_sync.environment.metadata import field_path
from services.pod_sync.environment.model import EnvObjects
from services.pod_sync.environment.variables import ObjectNames
from services.pod_sync.images.manager import ImageManager
from services.pod_sync.images.model import PullSettings
from services.pod_sync.kill_requests import KillRequests
from services.pod_sync.metrics import PodCounts, PodSyncMetrics
from services.pod_sync.node_facts import FactsOfNode, node_name_of
from services.pod_sync.observations import RELIST_TIMEOUT_S, Observations
from services.pod_sync.peers import RUNTIME_KEY, BusPeers
from services.pod_sync.records.allocations import Allocations
from services.pod_sync.records.backoff import BackoffFile
from services.pod_sync.records.decisions import Decisions
from services.pod_sync.records.progress import Progress
from services.pod_sync.runs.parts import Parts
from services.pod_sync.runtime.acts import Runtime
from services.pod_sync.runtime.host_files import HostFiles
from services.pod_sync.runtime.model import EventSink
from services.pod_sync.runtime.ports import Ports
from services.pod_sync.settings import PodSyncSettings
from services.pod_sync.source_desk import SourceDesk
from services.pod_sync.sources.files import FileSettings, watch_files
from services.pod_sync.sources.http import HttpSettings, watch_url
from services.pod_sync.sources.mux import Mux
from services.pod_sync.statuses import StatusBook, StatusSources
from shared.bus import Change
from shared.cri.client import RuntimeClient
from shared.cri.metrics import RuntimeMetrics
from shared.kube.types import Pod
from shared.messages.container_manager import NODE_RESOURCES
from shared.messages.daemon import ObjectReference
from shared.messages.pleg import RELIST, RUNTIME_PODS, Relist, Relisted, RuntimePod
from shared.messages.pod_sync import KILL_POD, POD_STATUS, PODS
from shared.messages.prober import ContainerProbes, ProbeOutcome
from shared.service import Context

READY_PATIENCE_S: Final = 3.0
"""how long to wait for the first listing of the runtime before being ready without it"""
REPORT_PERIOD_S: Final = 1.0
FILE: Final = "file"
HTTP: Final = "http"


async def serve(ctx: Context[PodSyncSettings]) -> None:
    """Runs until `ctx.stopping`. Ready when its records are read, its sources were read once, and its tables are out."""
    settings = ctx.settings
    async with RuntimeClient(
        settings.runtime_endpoint,
        image_endpoint=settings.image_service_endpoint,
        timeout_s=settings.runtime_request_timeout_s,
        observer=RuntimeMetrics(ctx.registry),
    ) as cri:
        process = PodSync(ctx, cri)
        process.start()
        await ctx.stopping.wait()
        process.close()


class PodSync:
    """Everything of one process, wired. `start` begins its tasks."""

    def __init__(self, ctx: Context[PodSyncSettings], cri: RuntimeClient) -> None:
        self._ctx = ctx
        settings = ctx.settings
        state = ctx.run_dir / "state" / "pod_sync"
        self._pods = ctx.bus.own(PODS)
        self._statuses = ctx.bus.own(POD_STATUS)
        self._runtime_pods = ctx.bus.follow(RUNTIME_PODS)
        self._synced = asyncio.Event()
        self._under_way: set[asyncio.Task[None]] = set()
        self._peers = BusPeers(ctx.bus, ctx.degraded)
        self._images = ImageManager(cri, _pull_settings(settings))
        facts = FactsOfNode(settings, self._peers, ctx.bus.follow(NODE_RESOURCES))
        runtime = Runtime(
            cri,
            self._images,
            ports=Ports(node=facts, prepare_container=self._peers.prepare_container, objects=no_objects),
            host=HostFiles(legacy_logs_dir=settings.container_logs_dir, resolver_path=settings.resolv_conf),
        )
        progress = Progress(state / "progress")
        self._book = StatusBook(
            self._statuses, progress, StatusSources(self._peers, self._runtime_name, runtime.termination_message)
        )
        backoff = BackoffFile(state / "backoff.record")
        backoff.load()
        allocations = Allocations(Path(settings.root_dir) / "allocated_pods_state")
        allocations.load()
        parts = Parts(
            observations=Observations(self._runtime_pods, self._relist, self._pleg_lost, progress.begun),
            runtime=runtime,
            peers=self._peers,
            statuses=self._book,
            backoff=backoff,
            progress=progress,
            events_of=self._events_of,
            log=ctx.log,
            watch=PodSyncMetrics(ctx.registry),
            limits=Limits.of(settings.crash_loop_back_off_max_container_restart_period_s),
            volumes_timeout_s=settings.volumes_timeout_s,
        )
        engine = self._engine = Engine(
            Surroundings(
                parts=parts,
                statuses=self._book,
                pods=self._pods,
                decisions=Decisions(state / "decisions"),
                allocations=allocations,
                admission=self._peers,
                runtime=lambda: dict(self._runtime_pods.items()),
                start=self._begin,
                resync_s=settings.sync_frequency_s,
            )
        )

        ctx.registry.register(PodCounts(engine.intake, engine.dispatcher.pool))
        self._sources = SourceDesk(Mux(registered_sources(settings)), engine.intake, self._events_of)

    def start(self) -> None:
        """Restore what was decided and published, then listen."""
        ctx, engine = self._ctx, self._engine
        self._book.restore()
        engine.boot()
        self._runtime_pods.on_change(self._on_runtime_pod)
        self._runtime_pods.on_mark(engine.intake.look)
        self._peers.probe_results.on_change(self._on_probes)
        kills = KillRequests(engine.dispatcher, self._events_of)
        ctx.bus.answer(KILL_POD, kills.handle)
        ctx.spawn("admit", self._admit())
        self._watch_sources()
        ctx.spawn("readiness", self._be_ready())
        ctx.spawn("keep house", engine.intake.keep_house_for_ever(self._is_synced, self._housekept))

    def _watch_sources(self) -> None:
        """One task per source."""
        settings, ctx, node_name = self._ctx.settings, self._ctx, node_name_of(self._ctx.settings)
        if settings.static_pod_path:
            path = Path(settings.static_pod_path)
            files = FileSettings(path=path, node_name=node_name, period_s=settings.file_check_frequency_s)
            ctx.spawn("manifest files", watch_files(files, self._sources.deliver_from(FILE), ctx.log))
        if settings.static_pod_url:
            http = HttpSettings(
                url=settings.static_pod_url,
                node_name=node_name,
                headers=settings.static_pod_url_header,
                period_s=settings.http_check_frequency_s,
            )
            ctx.spawn("manifest url", watch_url(http, self._sources.deliver_from(HTTP), ctx.log))

    def close(self) -> None:
        """What is under way is cut off, as a crash would cut it off: a pod's end may take minutes."""
        self._engine.dispatcher.close()
        for task in list(self._under_way):
            task.cancel()

    def _begin(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = self._ctx.tasks.create_task(work)
        self._under_way.add(task)
        task.add_done_callback(self._under_way.discard)
        return task

    async def _be_ready(self) -> None:
        """Ready when all is known; a peer that does not come does not keep this daemon from being ready."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(READY_PATIENCE_S):
                await self._synced.wait()
        self._ctx.ready()
        while True:
            self._peers.report()
            await asyncio.sleep(REPORT_PERIOD_S)

    async def _admit(self) -> None:
        """Nothing is admitted before the runtime was listed: what runs already is known by that."""
        await self._runtime_pods.wait(lambda view: view.complete)
        await self._engine.intake.admit_for_ever()

    def _is_synced(self) -> bool:
        """All sources were read and the runtime was listed: who is in neither is gone."""
        return self._sources.all_read and self._runtime_pods.complete

    def _housekept(self) -> None:
        """Every pod that belongs here or runs here has its row now."""
        self._pods.mark(complete=True)
        self._statuses.mark(complete=True)
        self._images.forget_expired()
        self._synced.set()

    def _on_runtime_pod(self, change: Change[RuntimePod]) -> None:
        self._engine.runtime_changed(change.key)

    def _on_probes(self, change: Change[ContainerProbes]) -> None:
        """A liveness result matters when it is a failure; startup and readiness show in the status.

        A startup probe that succeeds may also let the next init container start.
        """
        new, old = change.new, change.old
        if new is None:
            return
        acts = new.liveness is ProbeOutcome.FAILURE or (old.startup if old is not None else None) is not new.startup
        self._engine.probes_changed(new.pod_uid, acts=acts)

    def _runtime_name(self) -> str:
        health = self._peers.health.get(RUNTIME_KEY)
        return health.name if health is not None and health.name else "containerd"

    async def _relist(self, request: Relist) -> Relisted:
        return await self._ctx.bus.call(RELIST, request, RELIST_TIMEOUT_S)

    def _pleg_lost(self, text: str | None) -> None:
        self._ctx.degraded("pleg", text)

    def _events_of(self, pod: Pod) -> EventSink:
        meta = pod.metadata

        def event(container: str | None, type: str, reason: str, message: str) -> None:
            reference = ObjectReference(
                kind="Pod",
                name=meta.name,
                namespace=meta.namespace,
                uid=meta.uid,
                resource_version=meta.resource_version or "",
                field_path=field_path(pod, container) if container is not None else "",
            )
            self._ctx.event(reference, type, reason, message)

        return event


def registered_sources(settings: PodSyncSettings) -> frozenset[str]:
    """The sources that must be read before a pod that none of them has counts as gone."""
    sources = ((FILE, settings.static_pod_path), (HTTP, settings.static_pod_url))
    return frozenset(name for name, place in sources if place)


async def no_objects(pod: Pod, names: ObjectNames) -> EnvObjects:
    """Standalone there are no config maps and secrets; static pods may not refer to any."""
    return EnvObjects()


def _pull_settings(settings: PodSyncSettings) -> PullSettings:
    return PullSettings(
        serialize_pulls=settings.serialize_image_pulls,
        max_parallel_pulls=settings.max_parallel_image_pulls,
        registry_qps=settings.registry_pull_qps,
        registry_burst=settings.registry_burst,
    )
