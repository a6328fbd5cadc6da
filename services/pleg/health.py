"""Watches the runtime itself and publishes `runtime_health`."""

import asyncio
import time
from collections.abc import Callable

import msgspec

from services.pleg.metrics import PlegMetrics
from services.pleg.ports import Runtime, RuntimeStatus, RuntimeVersion
from services.pleg.settings import PlegSettings
from shared.bus import OwnedTable
from shared.errors import OctoletError, Unsupported
from shared.messages.pleg import RuntimeHealth

KEY = "runtime"
CRI_DRIVER_REQUIRED_IN = "1.38.0"
"""Release from which upstream needs RuntimeConfig (label of `kubelet_cri_losing_support`)."""


class HealthWatch:
    """The one writer of `runtime_health`."""

    def __init__(
        self,
        runtime: Runtime,
        table: OwnedTable[RuntimeHealth],
        settings: PlegSettings,
        *,
        metrics: PlegMetrics,
        last_relist_mono: Callable[[], float],
    ) -> None:
        self._runtime = runtime
        self._table = table
        self._settings = settings
        self._metrics = metrics
        self._last_relist_mono = last_relist_mono
        self._cgroup_driver: str | None = None
        self.event_stream = False
        self.changed = asyncio.Event()
        """Set when another runtime, or another version of it, answers than before."""

    async def check(self) -> None:
        """Read version, status and (once per runtime) its cgroup driver, and publish. Raises Transient or Invalid.

        A failure is published first: the last known state with the error.
        """
        started = time.monotonic()
        try:
            version = await self._runtime.read_version()
            self._compare(version)
            status = await self._runtime.read_status()
            if self._cgroup_driver is None:
                self._cgroup_driver = await self._read_cgroup_driver()
        except OctoletError as error:
            self._publish(msgspec.structs.replace(self.last, error=str(error)))
            raise
        self._publish(self._health(version, status, started))

    def republish(self) -> None:
        """Publish what may have changed between two checks."""
        self._publish(self.last)

    @property
    def last(self) -> RuntimeHealth:
        """The row as published; empty before the first."""
        return self._table.get(KEY) or RuntimeHealth()

    def _compare(self, version: RuntimeVersion) -> None:
        last = self.last
        if (last.name, last.version) != (version.name, version.version):
            self._cgroup_driver = None
            self.changed.set()

    async def _read_cgroup_driver(self) -> str:
        try:
            driver = await self._runtime.read_cgroup_driver()
        except Unsupported:
            self._metrics.losing_support.labels(CRI_DRIVER_REQUIRED_IN).set(1)
            return ""
        self._metrics.losing_support.clear()
        return driver

    def _health(self, version: RuntimeVersion, status: RuntimeStatus, started: float) -> RuntimeHealth:
        return RuntimeHealth(
            name=version.name,
            version=version.version,
            api_version=version.api_version,
            conditions=list(status.conditions),
            handlers=list(status.handlers),
            supplemental_groups_policy=status.supplemental_groups_policy,
            user_namespaces_host_network=status.user_namespaces_host_network,
            mount_options=status.mount_options,
            cgroup_driver=self._cgroup_driver or "",
            last_ok_mono=started,
        )

    def _publish(self, health: RuntimeHealth) -> None:
        health = msgspec.structs.replace(
            health, event_stream=self.event_stream, last_relist_mono=self._last_relist_mono()
        )
        self._table.put(KEY, health)
        self._table.mark(complete=True)
