"""What each route answers."""

import asyncio
import time
from pathlib import Path

import msgspec

from services.server.health import Health
from services.server.http.messages import Request, Response, json, text
from services.server.logs.options import INVALID, UNDECODABLE, InvalidOptions, UndecodableQuery, parse_options
from services.server.logs.reader import read_log
from services.server.logs.selection import NoLog, has_container, select_container
from services.server.metrics.merge import merge_pages
from services.server.metrics.resource import resource_page
from services.server.pods import Pods, pod_list
from services.server.routes import Route
from services.server.stats.collector import StatsCollector
from services.server.stats.summary import build_summary
from shared.bus import Bus
from shared.errors import OctoletError
from shared.messages.base import Empty, Service
from shared.messages.daemon import METRICS

METRICS_TIMEOUT_S = 2.0
"""a daemon that does not answer in this time is missing from the page, not the page from Prometheus"""
_PROMETHEUS = ("content-type", "text/plain; version=0.0.4; charset=utf-8")
_GET = frozenset({"GET"})


class Handlers:
    """The route handlers; every one takes the request and the variable parts of its path."""

    def __init__(
        self, bus: Bus, pods: Pods, health: Health, stats: StatsCollector, configuration: dict[str, object]
    ) -> None:
        self.bus = bus
        self.pods = pods
        self.health = health
        self.stats = stats
        self.configuration = configuration

    def routes(self) -> tuple[Route, ...]:
        """All routes of 10250; the read-only port has the same without debugging handlers."""
        logs = ("containerLogs", None, None, None)
        return (
            Route(("healthz",), self.healthz),
            Route(("healthz", None), self.healthz),
            Route(("pods",), self.list_pods, _GET),
            Route(("runningpods",), self.list_running_pods, _GET, debugging=True),
            Route(("stats", "summary"), self.summary, frozenset({"GET", "POST"})),
            Route(("metrics",), self.metrics),
            Route(("metrics", "resource"), self.resource_metrics),
            Route(("configz",), self.configz, hidden=True),
            Route(logs, self.container_logs, _GET, debugging=True),
        )

    async def healthz(self, request: Request, _: tuple[str, ...]) -> Response:
        return self.health.answer(request.path, request.query)

    async def list_pods(self, request: Request, _: tuple[str, ...]) -> Response:
        return json(pod_list(self.pods.configured()))

    async def list_running_pods(self, request: Request, _: tuple[str, ...]) -> Response:
        return json(pod_list(self.pods.running()))

    async def summary(self, request: Request, _: tuple[str, ...]) -> Response:
        reduced = ("only_cpu_and_memory", "true") in request.query
        try:
            inputs = await self.stats.collect(reduced=reduced)
        except OctoletError as error:
            return text(500, f"Internal Error: {error}")
        document = await asyncio.to_thread(build_summary, inputs, only_cpu_and_memory=reduced)
        return json(msgspec.json.format(msgspec.json.encode(document), indent=1))

    async def resource_metrics(self, request: Request, _: tuple[str, ...]) -> Response:
        failed, page = 0, ""
        try:
            page = resource_page(await self.stats.collect(reduced=True))
        except OctoletError:
            failed = 1
        page += (
            "# HELP resource_scrape_error 1 if there was an error while getting container metrics, 0 otherwise\n"
            f"# TYPE resource_scrape_error gauge\nresource_scrape_error {failed}\n"
        )
        return Response(200, page.encode(), (_PROMETHEUS,))

    async def metrics(self, request: Request, _: tuple[str, ...]) -> Response:
        """Every daemon's page, asked for at once; who does not answer is counted in `octolet_daemon_up`."""
        answers = await asyncio.gather(*(self._page(name) for name in Service))
        pages: dict[str, str] = {name: page for name, page in zip(Service, answers, strict=True) if page is not None}
        up = "# HELP octolet_daemon_up Whether the daemon answered this scrape.\n# TYPE octolet_daemon_up gauge\n"
        up += "".join(f'octolet_daemon_up{{service="{name}"}} {int(name in pages)}\n' for name in Service)
        merged = await asyncio.to_thread(merge_pages, pages)
        return Response(200, (merged + up).encode(), (_PROMETHEUS,))

    async def _page(self, name: Service) -> str | None:
        try:
            reply = await self.bus.call(METRICS, Empty(), owner=name, timeout_s=METRICS_TIMEOUT_S)
        except OctoletError:
            return None
        return reply.text

    async def configz(self, request: Request, _: tuple[str, ...]) -> Response:
        """The effective configuration as `octolet run` resolved it; none when this daemon was started by hand."""
        if not self.configuration:
            return text(404, "404: Page Not Found")
        document = msgspec.json.encode({"kubeletconfig": self.configuration})
        return json(document, ("x-content-type-options", "nosniff"))

    async def container_logs(self, request: Request, path: tuple[str, ...]) -> Response:
        namespace, name, container = path
        try:
            options = parse_options(request.query, time.time_ns())
        except UndecodableQuery:
            return text(400, UNDECODABLE)
        except InvalidOptions:
            return text(422, INVALID)
        found = self.pods.find(namespace, name)
        if found is None:
            return text(404, f'pod "{name}" does not exist')
        uid, pod = found
        if not has_container(pod, container):
            return text(404, f'container "{container}" not found in pod "{name}"')
        if options.stream != "All":
            return text(
                400,
                f'unable to return the given log stream: "{options.stream}". '
                "Please enable PodLogsQuerySplitStreams feature gate in kubelet",
            )
        try:
            container_id = select_container(name, pod.status, container, previous=options.previous)
        except NoLog as error:
            return text(400, str(error))
        seen = self.pods.container(container_id, uid)
        if seen is None or not seen.log_path:
            return text(400, f"unable to retrieve container logs for {container_id}")

        def is_running() -> bool:
            now = self.pods.container(container_id, uid)
            return now is not None and now.state == "running"

        return Response(200, stream=read_log(Path(seen.log_path), options, is_running))
