"""Wires the runtime to the bus: the periodic listing, the answer to `relist`, the runtime's health, its events."""

import asyncio
import random
import time

from services.pleg.backoff import Backoff
from services.pleg.health import HealthWatch
from services.pleg.hints import Hints
from services.pleg.metrics import PlegMetrics
from services.pleg.relister import Relister
from services.pleg.runtime import CriRuntime
from services.pleg.settings import PlegSettings
from shared.bus import Call
from shared.cri.client import RuntimeClient
from shared.cri.metrics import RuntimeMetrics
from shared.errors import OctoletError
from shared.messages.pleg import RELIST, RUNTIME_HEALTH, RUNTIME_PODS, Relist, Relisted
from shared.service import Context


async def serve(ctx: Context[PlegSettings]) -> None:
    """Runs until `ctx.stopping`. Ready after the first attempt to list, whether or not the runtime was there."""
    settings = ctx.settings
    table, health_table = ctx.bus.own(RUNTIME_PODS), ctx.bus.own(RUNTIME_HEALTH)
    metrics = PlegMetrics(ctx.registry, table, ctx.log)
    async with RuntimeClient(
        settings.runtime_endpoint,
        timeout_s=settings.runtime_request_timeout_s,
        observer=RuntimeMetrics(ctx.registry),
        stream_lists=settings.feature_gates.get("CRIListStreaming", False),
    ) as client:
        runtime = CriRuntime(client, settings)
        spawn = ctx.tasks.create_task
        relister = Relister(runtime, table, spawn, observer=metrics, inspect_at_once=settings.inspect_at_once)
        health = HealthWatch(
            runtime, health_table, settings, metrics=metrics, last_relist_mono=lambda: relister.as_of_mono
        )
        hints = Hints(runtime, relister, health, metrics=metrics, spawn=spawn, log=ctx.log)

        async def relist(request: Relist, call: Call) -> Relisted:
            return await relister.relist(request.pod_uid)

        ctx.bus.answer(RELIST, relist)
        ctx.spawn("relist", _relist_for_ever(ctx, relister))
        ctx.spawn("health", _check_for_ever(ctx, health))
        ctx.spawn("hints", hints.follow(Backoff(settings.retry_max_s, random.random)))
        await ctx.stopping.wait()


async def _relist_for_ever(ctx: Context[PlegSettings], relister: Relister) -> None:
    """A listing of everything, and again `relist_period_s` after it ended; while it fails, after a growing pause."""
    backoff = Backoff(ctx.settings.retry_max_s, random.random)
    ready = False
    while True:
        pause_s = ctx.settings.relist_period_s
        try:
            await relister.relist()
        except OctoletError as error:
            ctx.degraded("runtime", f"list pods: {error}")
            pause_s = backoff.next_s()
        else:
            ctx.degraded("runtime", None)
            backoff.reset()
        if not ready:
            ready = True
            ctx.ready()
        await asyncio.sleep(pause_s)


async def _check_for_ever(ctx: Context[PlegSettings], health: HealthWatch) -> None:
    """A look at the runtime itself each `status_period_s`, sooner while it fails."""
    backoff = Backoff(ctx.settings.retry_max_s, random.random)
    while True:
        started = time.monotonic()
        try:
            await health.check()
        except OctoletError as error:
            ctx.degraded("status", f"read runtime status: {error}")
            await asyncio.sleep(backoff.next_s())
        else:
            ctx.degraded("status", None)
            backoff.reset()
            await asyncio.sleep(max(0.0, started + ctx.settings.status_period_s - time.monotonic()))
