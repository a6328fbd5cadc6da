import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

import pytest
from structlog import get_logger
from structlog.testing import capture_logs

from services.pod_sync.sources import fetch as fetching
from services.pod_sync.sources.fetch import fetch
from services.pod_sync.sources.http import HttpSettings, watch_url
from shared.errors import Transient
from shared.kube.types import Pod


def manifest(*names: str) -> bytes:
    pods = [
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": name},
            "spec": {"containers": [{"name": "c", "image": "i"}]},
        }
        for name in names
    ]
    return json.dumps(pods[0] if len(pods) == 1 else {"apiVersion": "v1", "kind": "PodList", "items": pods}).encode()


def ok(body: bytes) -> bytes:
    return b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body)


class Server:
    """Answers each connection with the next of some raw answers, the last one again and again."""

    def __init__(self, *answers: bytes) -> None:
        self.answers = list(answers)
        self.requests: list[bytes] = []
        self.url = ""

    async def __call__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            self.requests.append(await reader.readuntil(b"\r\n\r\n"))
            writer.write(self.answers.pop(0) if len(self.answers) > 1 else self.answers[0])
            await writer.drain()
        finally:
            writer.close()


@asynccontextmanager
async def serving(*answers: bytes) -> AsyncIterator[Server]:
    server = Server(*answers)
    listener = await asyncio.start_server(server, "127.0.0.1", 0)
    server.url = f"http://127.0.0.1:{listener.sockets[0].getsockname()[1]}/pods?x=1"
    async with listener:
        yield server


async def delivered(server: Server, count: int) -> tuple[list[list[str]], list[Any]]:
    """Asks `count` times; what was delivered, what was logged."""
    lists: list[list[str]] = []

    def deliver(pods: Sequence[Pod]) -> None:
        lists.append([p.metadata.name for p in pods])

    settings = HttpSettings(url=server.url, node_name="n", period_s=0.01)
    with capture_logs() as logs:
        task = asyncio.create_task(watch_url(settings, deliver, get_logger()))
        async with asyncio.timeout(5):
            while len(server.requests) < count + 1:
                await asyncio.sleep(0.005)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
    return lists, [e for e in logs if e["log_level"] != "debug"]


def test_one_pod_or_a_list_is_delivered_when_the_body_changes() -> None:
    async def run() -> None:
        one, two = ok(manifest("web")), ok(manifest("web", "db"))
        async with serving(one, one, two, two) as server:
            lists, logs = await delivered(server, 4)
        assert lists == [["web-n"], ["web-n", "db-n"]]
        assert logs == []
        assert server.requests[0].startswith(b"GET /pods?x=1 HTTP/1.1\r\n")

    asyncio.run(run())


def test_the_uid_follows_from_the_url() -> None:
    async def run() -> None:
        uids: list[str] = []
        async with serving(ok(manifest("web"))) as server:
            settings = HttpSettings(url=server.url, node_name="n", period_s=10)

            def deliver(pods: Sequence[Pod]) -> None:
                uids.append(pods[0].metadata.uid)

            task = asyncio.create_task(watch_url(settings, deliver, get_logger()))
            async with asyncio.timeout(5):
                while not uids:
                    await asyncio.sleep(0.005)
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
        assert len(uids[0]) == 32

    asyncio.run(run())


def test_an_empty_body_removes_the_pods_and_the_same_manifest_afterwards_is_ignored() -> None:
    async def run() -> None:
        one = ok(manifest("web"))
        async with serving(one, ok(b""), one) as server:
            lists, logs = await delivered(server, 3)
        assert lists == [["web-n"], []]
        assert [e["error"] for e in logs] == [f"{server.url}: zero-length data received"]

    asyncio.run(run())


def test_a_bad_body_is_told_once_and_changes_nothing() -> None:
    async def run() -> None:
        bad = ok(b'{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "x"}}')
        async with serving(ok(manifest("web")), bad, bad, bad) as server:
            lists, logs = await delivered(server, 4)
        assert lists == [["web-n"]]
        assert [e["error"] for e in logs] == [f"{server.url}: invalid pod: spec.containers: Required value"]

    asyncio.run(run())


def test_failures_are_told_three_times_then_once_more_then_no_more() -> None:
    async def run() -> None:
        gone = b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"
        async with serving(gone) as server:
            lists, logs = await delivered(server, 8)
        assert lists == []
        text = f"{server.url}: 404 Not Found"
        assert [e["error"] for e in logs] == [text] * 3 + [f"{text} (further failures are logged at debug)"]

    asyncio.run(run())


async def failure(url: str) -> str:
    with pytest.raises(Transient) as caught:
        await fetch(url, {})
    text = str(caught.value)
    assert text.startswith(f"{url}: ")
    return text.removeprefix(f"{url}: ")


@pytest.mark.parametrize(
    "answer",
    [
        b"",
        b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nshort",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nabc",
        b"SSH-2.0-OpenSSH\r\n\r\n",
        b"\x00\xff" * 50,
    ],
)
def test_an_answer_that_is_cut_off_or_no_http_is_a_failure_that_passes(answer: bytes) -> None:
    async def run() -> None:
        async with serving(answer) as server:
            assert await failure(server.url)

    asyncio.run(run())


def test_headers_are_sent_with_all_their_values() -> None:
    async def run() -> None:
        async with serving(ok(b"x")) as server:
            assert await fetch(server.url, {"X-Token": ["a", "b"]}) == b"x"
        assert b"X-Token: a\r\nX-Token: b\r\n" in server.requests[0]

    asyncio.run(run())


def test_redirects_are_followed_but_headers_stay_with_their_host() -> None:
    async def run() -> None:
        async with serving(ok(b"there")) as other:
            redirect = b"HTTP/1.1 302 Found\r\nLocation: %s\r\nContent-Length: 0\r\n\r\n" % other.url.encode()
            async with serving(redirect) as server:
                assert await fetch(server.url, {"X-Token": ["secret"]}) == b"there"
        assert b"secret" in server.requests[0]
        assert b"secret" not in other.requests[0]

    asyncio.run(run())


def test_redirects_in_a_circle_end() -> None:
    async def run() -> None:
        async with serving(b"HTTP/1.1 302 Found\r\nLocation: /again\r\nContent-Length: 0\r\n\r\n") as server:
            with pytest.raises(Transient, match="stopped after 10 redirects"):
                await fetch(server.url, {})
        assert len(server.requests) == 11

    asyncio.run(run())


def test_a_server_that_never_answers_is_left_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fetching, "TIMEOUT_S", 0.1)

    async def silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await reader.read()
        finally:
            writer.close()

    async def run() -> None:
        async with await asyncio.start_server(silent, "127.0.0.1", 0) as listener:
            url = f"http://127.0.0.1:{listener.sockets[0].getsockname()[1]}/"
            assert await failure(url) == "no answer within 0.1 s"

    asyncio.run(run())


@pytest.mark.parametrize(
    "url", ["file:///etc/passwd", "ftp://127.0.0.1/x", "nonsense", "http://", "http://127.0.0.1:99999/"]
)
def test_only_http_urls_are_fetched(url: str) -> None:
    async def run() -> None:
        assert await failure(url)

    asyncio.run(run())


def test_a_refused_connection_is_a_failure_that_passes() -> None:
    async def run() -> None:
        async with serving(b"") as server:
            url = server.url
        assert "onnect" in await failure(url)

    asyncio.run(run())


def test_more_than_a_manifest_may_have_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fetching, "MAX_BYTES", 100)

    async def run() -> None:
        async with serving(ok(b"x" * 101)) as server:
            assert await failure(server.url) == "larger than 100 bytes"

    asyncio.run(run())
