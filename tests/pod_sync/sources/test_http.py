"""The HTTP source against a real server on loopback."""

import asyncio
import json
import threading
from collections.abc import Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import structlog
from structlog.testing import capture_logs

from services.pod_sync.sources.http import HttpSettings, watch_url
from shared.kube.types import Pod


def pod(name: str) -> dict[str, object]:
    spec = {"containers": [{"name": "c", "image": "i"}]}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": spec}


def served(answers: list[tuple[int, bytes]], asked: list[str]) -> tuple[list[list[str]], list[str]]:
    """What was delivered and complained of while these answers were given, one per period, the last one for ever."""
    left = list(answers)
    served_all = threading.Event()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.headers.get("X-Key", ""))
            status, body = left.pop(0) if len(left) > 1 else left[0]
            if len(asked) > len(answers):
                served_all.set()
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            """Quiet."""

    delivered: list[list[str]] = []

    def deliver(pods: Sequence[Pod]) -> None:
        delivered.append([p.metadata.name for p in pods])

    async def run(url: str) -> None:
        settings = HttpSettings(url=url, node_name="n", headers={"X-Key": ["a", "b"]}, period_s=0.01)
        task = asyncio.create_task(watch_url(settings, deliver, structlog.get_logger()))
        async with asyncio.timeout(10):
            while not served_all.is_set():
                await asyncio.sleep(0.01)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server, capture_logs() as logs:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            asyncio.run(run(f"http://127.0.0.1:{server.server_port}/pods"))
        finally:
            server.shutdown()
            thread.join()
    return delivered, [str(entry.get("error")) for entry in logs if entry["log_level"] == "error"]


def test_a_changed_body_is_delivered_once_and_headers_are_sent() -> None:
    one = json.dumps(pod("a")).encode()
    both = json.dumps({"apiVersion": "v1", "kind": "PodList", "items": [pod("a"), pod("b")]}).encode()
    asked: list[str] = []
    delivered, errors = served([(200, one), (200, one), (200, both)], asked)
    assert delivered == [["a-n"], ["a-n", "b-n"]]
    assert errors == []
    assert set(asked) == {"a, b"}


def test_errors_and_bad_bodies_leave_the_pods_and_are_told() -> None:
    one = json.dumps(pod("a")).encode()
    delivered, errors = served([(200, one), (500, b"no"), (200, b"{"), (200, b"{")], [])
    assert delivered == [["a-n"]]
    assert "500" in errors[0]
    assert sum("couldn't parse as pod" in e for e in errors) == 1, "a bad body is told once"


def test_an_empty_body_ends_the_pods_and_is_not_remembered() -> None:
    one = json.dumps(pod("a")).encode()
    delivered, errors = served([(200, one), (200, b""), (200, one)], [])
    assert delivered == [["a-n"], []]
    assert any("zero-length data received" in e for e in errors)
