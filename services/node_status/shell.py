"""Hears the other daemons, computes the Node and publishes it; makes sure there is a serving certificate."""

import asyncio
import contextlib
import time
from datetime import UTC, datetime
from pathlib import Path

from services.node_status.certificates.serving import describe, ensure_serving_pair
from services.node_status.images import ImageList
from services.node_status.node import addresses, machine
from services.node_status.node.core import compute_node
from services.node_status.node.model import Clock, Identity, NodeEvent, Observed
from services.node_status.settings import NodeStatusSettings
from shared.bus import TableView
from shared.checkpoint import Checkpoint
from shared.errors import Fatal, Transient
from shared.kube.types import Node
from shared.messages.base import Service
from shared.messages.container_manager import NODE_RESOURCES
from shared.messages.daemon import DAEMON, DaemonState, ObjectReference
from shared.messages.eviction import NODE_PRESSURE
from shared.messages.node_status import CREDENTIALS, NODE, NodeEntry
from shared.messages.pleg import RUNTIME_HEALTH, RuntimeHealth
from shared.messages.volume_manager import VOLUMES_IN_USE
from shared.service import Context

CERTIFICATE_RETRY_S = 2.0
"""a pair that the disk did not let us make is tried again after this"""
CERTIFICATE_CHECK_S = 60.0
"""upstream `dynamiccertificates`: files are read again at least this often"""
KEY = "node"


async def serve(ctx: Context[NodeStatusSettings]) -> None:
    """Runs until `ctx.stopping`."""
    daemon = NodeStatus(ctx)
    daemon.follow()
    ctx.spawn("certificates", daemon.keep_credentials())
    ctx.spawn("images", daemon.images.keep())
    ctx.spawn("node", daemon.keep_node())
    await ctx.stopping.wait()


class NodeStatus:
    """The daemon's tasks and what it last published."""

    def __init__(self, ctx: Context[NodeStatusSettings]) -> None:
        self.ctx = ctx
        self.settings = ctx.settings
        self.identity = identify(ctx.settings)
        self.node_ips = addresses.parse_node_ips(ctx.settings.node_ip)
        self.images = ImageList(ctx, on_change=self.wake)
        self.started_mono = time.monotonic()
        self.checkpoint = Checkpoint(ctx.run_dir / "state" / "node_status", version=1, kind=Node)
        self.previous: Node | None = self.checkpoint.load()
        self.is_kept = True
        """whether the checkpoint has what was last published, as far as the next life needs it"""
        self.dirty = asyncio.Event()
        self.seen_mono: dict[str, float] = {}

    def follow(self) -> None:
        bus = self.ctx.bus
        self.node_table = bus.own(NODE)
        self.resources = bus.follow(NODE_RESOURCES)
        self.pressure = bus.follow(NODE_PRESSURE)
        self.runtime = bus.follow(RUNTIME_HEALTH)
        self.volumes = bus.follow(VOLUMES_IN_USE)
        for view in (self.resources, self.pressure, self.volumes):
            view.on_change(lambda _change: self.wake())
        # The runtime's row moves with every relist: only a changed condition may wake us before the next period.
        self.runtime.on_change(lambda change: self.wake() if _conditions_differ(change.old, change.new) else None)
        self.peers: dict[str, TableView[DaemonState]] = {
            name: bus.follow(DAEMON, owner=name) for name in Service if name != Service.NODE_STATUS
        }

    def wake(self) -> None:
        self.dirty.set()

    async def keep_node(self) -> None:
        """Computes at every change and every `node_status_update_frequency_s`."""
        if self.previous is not None:
            self.node_table.put(KEY, NodeEntry(node=self.previous))
            self.node_table.mark(complete=True)
        self.ctx.ready()  # what this daemon keeps is rebuilt; peers that are away are no reason to wait
        await self._settle()
        while True:
            self.dirty.clear()
            self._compute()
            self.node_table.mark(complete=True)
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(self.settings.node_status_update_frequency_s):
                    await self.dirty.wait()

    async def _settle(self) -> None:
        """Waits until everything that a condition depends on was heard, at most `settle_s`.

        A Node from before the restart stays as it is meanwhile; without one, a first Node that is not Ready yet is the truth.
        """
        deadline = self.started_mono + self.settings.settle_s
        views = (self.resources, self.pressure, self.runtime)
        while not all(len(view) for view in views) and (left := deadline - time.monotonic()) > 0:
            self.dirty.clear()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(left):
                    await self.dirty.wait()

    def _compute(self) -> None:
        now = time.monotonic()
        clock = Clock(wall=datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"), mono=now)
        node, events = compute_node(
            self.identity, self._observe(now), self.previous, clock, daemon_grace_s=self.settings.daemon_grace_s
        )
        self.node_table.put(KEY, NodeEntry(node=node))
        if not self.is_kept or self.previous is None or node.status.conditions != self.previous.status.conditions:
            self._keep(node)
        self.previous = node
        for event in events:
            self._emit(event)

    def _keep(self, node: Node) -> None:
        """For the next life. A disk that is full or away is tried again at the next update."""
        try:
            self.checkpoint.save(node)
        except OSError as error:
            self.is_kept = False
            self.ctx.degraded("checkpoint", f"write {self.checkpoint.path}: {(error.strerror or str(error)).lower()}")
        else:
            self.is_kept = True
            self.ctx.degraded("checkpoint", None)

    def _observe(self, now: float) -> Observed:
        for name, view in self.peers.items():
            row = view.get(name)
            if view.connected and row is not None and row.ready:
                self.seen_mono[name] = now
        silent = {name: now - self.seen_mono.get(name, self.started_mono) for name in self.peers}
        volumes = self.volumes.get(KEY)
        return Observed(
            addresses=self._addresses(),
            resources=self.resources.get(KEY),
            pressure=self.pressure.get(KEY),
            runtime=self.runtime.get("runtime"),
            images=self.images.latest,
            volumes_in_use=tuple(volumes.names) if volumes else None,
            silent=silent,
        )

    def _addresses(self) -> tuple[tuple[str, str], ...] | None:
        try:
            found = addresses.find_addresses(self.identity.name, self.node_ips)
        except Transient as error:
            self.ctx.degraded("addresses", str(error))
            return None
        self.ctx.degraded("addresses", None)
        return found

    def _emit(self, event: NodeEvent) -> None:
        name = self.identity.name
        self.ctx.log.info("node.condition_changed", node=name, reason=event.reason)
        self.ctx.event(ObjectReference(kind="Node", name=name, uid=name), "Normal", event.reason, event.message)

    async def _publish_credentials(self) -> None:
        """The serving pair is made (a moment of RSA) off the loop, so that the bus is answered meanwhile."""
        self.credentials = self.ctx.bus.own(CREDENTIALS)
        settings = self.settings
        while True:
            try:
                paths = await asyncio.to_thread(
                    ensure_serving_pair,
                    Path(settings.cert_dir),
                    self.identity.name,
                    settings.tls_cert_file,
                    settings.tls_private_key_file,
                )
                break
            except OSError as error:
                reason = (error.strerror or str(error)).lower()
                self.ctx.degraded("certificate", f"make serving certificate in {settings.cert_dir}: {reason}")
                await asyncio.sleep(CERTIFICATE_RETRY_S)
        self.ctx.degraded("certificate", None)
        self.credentials.put("serving", paths)
        self.credentials.mark(complete=True)

    async def keep_credentials(self) -> None:
        """Makes the pair, then looks at it again each minute; one that became unreadable is logged, the last one stays."""
        await self._publish_credentials()
        while True:
            await asyncio.sleep(CERTIFICATE_CHECK_S)
            row = self.credentials.get("serving")
            if row is None:
                continue
            try:
                self.credentials.put("serving", describe(Path(row.certificate_path), Path(row.key_path)))
            except Fatal as error:
                self.ctx.log.warning("certificate.check_failed", error=str(error))


def identify(settings: NodeStatusSettings) -> Identity:
    """This node, as far as it does not change while the daemon runs."""
    return Identity(
        name=machine.node_name(settings.node_name),
        port=settings.port,
        kernel_version=machine.kernel_version(),
        os_image=machine.os_image(),
        operating_system="linux",
        architecture=machine.architecture(),
        labels=settings.node_labels,
        taints=tuple(settings.register_with_taints),
        provider_id=settings.provider_id,
        controller_attach_detach=settings.enable_controller_attach_detach,
        local_storage=settings.local_storage_capacity_isolation,
        max_images=settings.node_status_max_images,
    )


def _conditions_differ(old: RuntimeHealth | None, new: RuntimeHealth | None) -> bool:
    if old is None or new is None:
        return old is not new
    first = not old.last_relist_mono and bool(new.last_relist_mono)
    identity = (old.name, old.version, old.conditions, old.handlers) != (
        new.name,
        new.version,
        new.conditions,
        new.handlers,
    )
    return first or identity
