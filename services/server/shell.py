"""Binds the ports and wires handlers to tables."""

import asyncio
import socket
import ssl
import time
from contextlib import AsyncExitStack

from services.server.auth.authentication import Authentication
from services.server.auth.authorization import Authorization
from services.server.handlers import Handlers
from services.server.health import Health
from services.server.http.listener import Listener, Tls
from services.server.http.messages import Request, Response, helper_error, text
from services.server.pods import Pods
from services.server.routes import Router
from services.server.settings import ServerSettings
from services.server.stats.collector import StatsCollector
from shared.bus import TableView
from shared.cri.client import RuntimeClient
from shared.errors import Fatal
from shared.messages.base import Service
from shared.messages.daemon import DAEMON, DaemonState
from shared.messages.node_status import CREDENTIALS, CredentialPaths
from shared.messages.pleg import RUNTIME_PODS
from shared.messages.pod_sync import POD_STATUS, PODS
from shared.messages.volume_manager import VOLUME_USAGE
from shared.service import Context


async def serve(ctx: Context[ServerSettings]) -> None:
    """Runs until `ctx.stopping`; open streams are ended then."""
    async with AsyncExitStack() as stack:
        settings = ctx.settings
        cri = await stack.enter_async_context(RuntimeClient(settings.runtime_endpoint))
        handlers = _handlers(ctx, cri)
        ctx.spawn("health", _watch_health(handlers.health))
        # A task of its own: it may wait for the serving certificate, and a stop must not wait with it.
        opening = ctx.tasks.create_task(_open_ports(ctx, stack, handlers))
        await ctx.stopping.wait()
        opening.cancel()
        await asyncio.gather(opening, return_exceptions=True)


async def _open_ports(ctx: Context[ServerSettings], stack: AsyncExitStack, handlers: Handlers) -> None:
    settings = ctx.settings
    if settings.healthz_port:
        health = Listener("healthz", answer_ping, ctx.log)
        stack.push_async_callback(health.close)
        await health.bind(settings.healthz_bind_address, settings.healthz_port)
    if settings.enable_server:
        await _serve_pods(ctx, stack, handlers)
    ctx.ready()


def _handlers(ctx: Context[ServerSettings], cri: RuntimeClient) -> Handlers:
    bus, settings = ctx.bus, ctx.settings
    runtime = bus.follow(RUNTIME_PODS)
    name = (settings.node_name or socket.gethostname()).strip().lower()
    stats = StatsCollector(bus, cri, runtime, bus.follow(VOLUME_USAGE), node_name=name, root_dir=settings.root_dir)
    pods = Pods(bus.follow(PODS), bus.follow(POD_STATUS), runtime)
    peers: dict[str, TableView[DaemonState]] = {
        peer: bus.follow(DAEMON, owner=peer) for peer in Service if peer != Service.SERVER
    }
    return Handlers(bus, pods, Health(peers, {}), stats, settings.kubelet_configuration)


async def _serve_pods(ctx: Context[ServerSettings], stack: AsyncExitStack, handlers: Handlers) -> None:
    """10250 and the read-only port."""
    settings = ctx.settings
    authentication, authorization = access(settings)
    routes, debugging = handlers.routes(), settings.enable_debugging_handlers
    if settings.read_only_port:
        open_router = Router(routes, False, None, None)
        read_only = Listener("read-only", open_router.handle, ctx.log)
        stack.push_async_callback(read_only.close)
        await read_only.bind(settings.address, settings.read_only_port)
    router = Router(routes, debugging, authentication, authorization)
    secure = Listener("server", router.handle, ctx.log)
    stack.push_async_callback(secure.close)
    context = await _tls_context(ctx, settings)
    await secure.bind(settings.address, settings.port, context)


async def _tls_context(ctx: Context[ServerSettings], settings: ServerSettings) -> ssl.SSLContext:
    """A context with the serving pair that node_status names; a renewed pair is loaded into it as it appears."""
    view = ctx.bus.follow(CREDENTIALS)
    while (row := view.get("serving")) is None:
        ctx.degraded("credentials", "waiting for the serving certificate from node_status")
        await view.wait(lambda v: v.get("serving") is not None, timeout_s=60.0)
    ctx.degraded("credentials", None)
    client_ca = settings.authentication.get("x509", {}).get("clientCAFile", "")
    tls = Tls(
        certificate_path=row.certificate_path,
        key_path=row.key_path,
        client_ca_path=str(client_ca),
        min_version=settings.tls_min_version,
        cipher_suites=tuple(settings.tls_cipher_suites),
    )
    context = tls.context()

    def reload(renewed: CredentialPaths | None) -> None:
        if renewed is None:
            return
        try:
            context.load_cert_chain(renewed.certificate_path, renewed.key_path)
        except (OSError, ssl.SSLError) as error:
            ctx.log.warning("certificate.reload_failed", path=renewed.certificate_path, error=str(error))
        else:
            ctx.log.info("certificate.reloaded", path=renewed.certificate_path, serial=renewed.serial)

    view.on_change(lambda change: reload(change.new))
    return context


def access(settings: ServerSettings) -> tuple[Authentication, Authorization]:
    """Who may ask, from the settings. Raises Fatal with upstream's words for what is impossible without an API server."""
    given = settings.authentication
    webhook = bool(given.get("webhook", {}).get("enabled", True))
    mode = settings.authorization.get("mode") or "Webhook"
    if not settings.kubeconfig and webhook and given:
        raise Fatal("authentication.webhook: no client provided, cannot use webhook authentication")
    if not settings.kubeconfig and mode == "Webhook" and settings.authorization:
        raise Fatal("authorization.mode: no client provided, cannot use webhook authorization")
    authentication = Authentication(
        anonymous=bool(given.get("anonymous", {}).get("enabled", False)),
        client_ca=bool(given.get("x509", {}).get("clientCAFile", "")),
        webhook=webhook,
    )
    return authentication, Authorization(always_allow=mode == "AlwaysAllow")


async def answer_ping(request: Request) -> Response:
    """The health port: it answers, so this process lives (upstream's 10248 has the ping check only)."""
    if request.path not in ("/healthz", "/healthz/ping"):
        return helper_error(404, "404 page not found")
    return text(200, "ok")


async def _watch_health(health: Health) -> None:
    """Notes each second who is there, so that an answer can say how long one was away."""
    while True:
        started = time.monotonic()
        health.note()
        await asyncio.sleep(max(0.0, 1.0 - (time.monotonic() - started)))
