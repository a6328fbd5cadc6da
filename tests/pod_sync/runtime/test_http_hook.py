"""HTTP hooks against real servers on loopback."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from services.pod_sync.runtime.hooks import HookError, HookPlace, HookRunner
from services.pod_sync.runtime.http_hook import HookRequest, run_http_hook
from shared.cri import api
from shared.errors import Transient
from shared.kube.types import HTTPGetAction, HTTPHeader, LifecycleHandler
from tests.pod_sync.runtime.fake_runtime import FakeRuntime, FakeSandbox
from tests.pod_sync.runtime.http_servers import answer, self_signed, serving


def request(port: int, **fields: Any) -> HookRequest:
    return HookRequest(**{"scheme": "http", "host": "127.0.0.1", "port": port, "path": "/bye?x=1", **fields})


def test_the_request_says_who_asks(tmp_path: Path) -> None:
    async def scenario() -> tuple[str, int]:
        async with serving(answer()) as server:
            assert await run_http_hook(request(server.port, headers=(("X-A", "1"), ("X-A", "2")))) is False
            return server.requests[0], server.port

    head, port = asyncio.run(scenario())
    assert head.splitlines()[0] == "GET /bye?x=1 HTTP/1.1"
    lowered = head.lower()
    assert f"host: 127.0.0.1:{port}" in lowered
    assert "user-agent: kube-lifecycle/1.37" in lowered
    assert lowered.count("x-a: ") == 2


def test_the_users_own_headers_replace_the_defaults() -> None:
    async def scenario() -> str:
        async with serving(answer()) as server:
            headers = (("Host", "shop.example"), ("User-Agent", "mine"))
            await run_http_hook(request(server.port, headers=headers))
            return server.requests[0].lower()

    head = asyncio.run(scenario())
    assert head.count("host: ") == head.count("user-agent: ") == 1
    assert "host: shop.example" in head


@pytest.mark.parametrize("status", ["200 OK", "404 Not Found", "500 Internal Server Error", "302 Found"])
def test_any_status_is_success(status: str) -> None:
    async def scenario() -> None:
        async with serving(answer(status, b"x" * 50_000)) as server:
            assert await run_http_hook(request(server.port)) is False

    asyncio.run(scenario())


def test_a_redirect_on_the_same_host_is_followed() -> None:
    async def scenario() -> list[str]:
        async with serving(answer("302 Found", Location="/there"), answer()) as server:
            await run_http_hook(request(server.port))
            return [head.splitlines()[0] for head in server.requests]

    assert asyncio.run(scenario()) == ["GET /bye?x=1 HTTP/1.1", "GET /there HTTP/1.1"]


def test_a_redirect_elsewhere_is_not_followed() -> None:
    async def scenario() -> int:
        async with serving(answer("302 Found", Location="http://192.0.2.1/there")) as server:
            await run_http_hook(request(server.port))
            return len(server.requests)

    assert asyncio.run(scenario()) == 1


def test_redirects_without_end_are_a_failure() -> None:
    async def scenario() -> None:
        async with serving(answer("302 Found", Location="/again")) as server:
            with pytest.raises(Transient, match="stopped after 10 redirects"):
                await run_http_hook(request(server.port))

    asyncio.run(scenario())


def test_a_certificate_that_nobody_vouches_for_will_do(tmp_path: Path) -> None:
    async def scenario() -> int:
        async with serving(answer(), tls=self_signed(tmp_path)) as server:
            assert await run_http_hook(request(server.port, scheme="https")) is False
            return len(server.requests)

    assert asyncio.run(scenario()) == 1


def test_plain_http_where_https_was_asked_is_asked_again_without_credentials() -> None:
    async def scenario() -> list[str]:
        bad_request = b"HTTP/1.0 400 Bad Request\r\n\r\nClient sent an HTTP request to an HTTPS server.\n"
        async with serving(answer()) as server:
            headers = (("Authorization", "Bearer secret"), ("X-A", "1"))
            port = server.port

            async def plain(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
                first = await reader.read(1)
                if first == b"\x16":  # a TLS handshake
                    writer.write(bad_request)
                    await writer.drain()
                    writer.close()
                    return
                server.requests.append((first + await reader.readuntil(b"\r\n\r\n")).decode())
                writer.write(answer())
                await writer.drain()
                writer.close()

            other = await asyncio.start_server(plain, "127.0.0.1", 0)
            port = other.sockets[0].getsockname()[1]
            async with other:
                assert await run_http_hook(request(port, scheme="https", headers=headers)) is True
            return server.requests

    (head,) = asyncio.run(scenario())
    assert "secret" not in head
    assert "x-a: 1" in head.lower()


def free_port() -> int:
    async def scenario() -> int:
        async with serving(answer()) as server:
            return server.port

    return asyncio.run(scenario())


def test_nobody_there_is_a_failure_that_names_the_address() -> None:
    port = free_port()
    with pytest.raises(Transient) as caught:
        asyncio.run(run_http_hook(request(port)))
    assert str(caught.value) == (
        f'Get "http://127.0.0.1:{port}/bye?x=1": dial tcp 127.0.0.1:{port}: connect: connection refused'
    )


@pytest.mark.parametrize("reply", [b"", b"nonsense\r\n\r\n", b"HTTP/1.1 200 OK\r\nContent-Le"])
def test_an_answer_that_is_none_is_a_failure(reply: bytes) -> None:
    async def scenario() -> None:
        async with serving(reply) as server:
            with pytest.raises(Transient):
                await run_http_hook(request(server.port))

    asyncio.run(scenario())


def test_addresses_of_both_families_make_a_url() -> None:
    assert request(80, host="fd00::1", path="bye").url == "http://[fd00::1]:80/bye"
    assert request(80).url == "http://127.0.0.1:80/bye?x=1"


def run_hook(action: HTTPGetAction, ips: tuple[str, ...] = ("127.0.0.1",)) -> list[Any]:
    cri = FakeRuntime()
    cri.sandboxes["s1"] = FakeSandbox("s1", api.PodSandboxConfig(), "", ips=ips)
    place = HookPlace(container_id="c1", container="app", pod="web_shop(u1)", sandbox_id="s1", ports={"http": 1})
    events: list[Any] = []
    handler = LifecycleHandler(http_get=action)
    asyncio.run(HookRunner(cri).run(handler, place, lambda *event: events.append(event)))
    return events


PREFIX = 'HTTP lifecycle hook (/bye) for Container "app" in Pod "web_shop(u1)" failed - error: '


@pytest.mark.parametrize(
    ("action", "ips", "text"),
    [
        (HTTPGetAction(path="/bye", port="none"), ("127.0.0.1",), "couldn't find port: none in container app"),
        (HTTPGetAction(path="/bye", port=0), ("127.0.0.1",), "invalid port number: 0"),
        (HTTPGetAction(path="/bye", port=80), (), "failed to find networking container: web_shop(u1)"),
        (
            HTTPGetAction(path="/bye", port="http"),
            ("127.0.0.1",),
            'Get "http://127.0.0.1:1/bye": dial tcp 127.0.0.1:1: connect: connection refused',
        ),
    ],
)
def test_a_hook_that_cannot_be_run_is_told(action: HTTPGetAction, ips: tuple[str, ...], text: str) -> None:
    with pytest.raises(HookError) as caught:
        run_hook(action, ips)
    assert str(caught.value) == PREFIX + text


def test_a_hook_is_sent_to_the_pods_address_and_its_fallback_is_told() -> None:
    cri = FakeRuntime()
    cri.sandboxes["s1"] = FakeSandbox("s1", api.PodSandboxConfig(), "", ips=("127.0.0.1",))

    async def scenario() -> tuple[list[Any], list[str], int]:
        async with serving(answer()) as server:
            place = HookPlace(
                container_id="c1",
                container="app",
                pod="web_shop(u1)",
                sandbox_id="s1",
                ports={"http": server.port},
            )
            events: list[Any] = []
            action = HTTPGetAction(port="http", path="bye", http_headers=[HTTPHeader(name="X", value="1")])
            handler = LifecycleHandler(http_get=action)
            await HookRunner(cri).run(handler, place, lambda *event: events.append(event))
            return events, server.requests, server.port

    events, requests, _ = asyncio.run(scenario())
    assert events == []
    assert requests[0].splitlines()[0] == "GET /bye HTTP/1.1"
