"""Real connections on loopback: requests one after another, streams, clients that leave, garbage."""

import asyncio
import socket
from collections.abc import AsyncIterator, Awaitable, Callable

import pytest
import structlog
from structlog.testing import capture_logs

from services.server.auth.authentication import Authentication
from services.server.auth.authorization import Authorization
from services.server.http.connection import MAX_BODY_BYTES
from services.server.http.listener import Listener
from services.server.http.messages import Request, Response, text
from services.server.routes import Route, Router

Client = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        return int(probe.getsockname()[1])


def talk(handler: Callable[[Request], Awaitable[Response]], client: Client) -> None:
    async def run() -> None:
        listener = Listener("test", handler, structlog.get_logger())
        port = free_port()
        await listener.bind("127.0.0.1", port)
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        try:
            await asyncio.wait_for(client(reader, writer), 10)
        finally:
            writer.close()
            await listener.close()

    asyncio.run(run())


async def echo(request: Request) -> Response:
    return text(200, f"{request.method} {request.path} {request.query} {len(request.body)}")


async def answer(reader: asyncio.StreamReader) -> tuple[int, dict[str, str], bytes]:
    status = int((await reader.readline()).split()[1])
    headers = {}
    while (line := await reader.readline()) not in (b"\r\n", b""):
        key, _, value = line.decode().partition(":")
        headers[key.lower()] = value.strip()
    return status, headers, await reader.readexactly(int(headers.get("content-length", 0)))


def test_one_connection_serves_many_requests() -> None:
    async def client(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        for number in range(3):
            writer.write(f"GET /a%20b?x={number}&y HTTP/1.1\r\nHost: n\r\n\r\n".encode())
            status, _, body = await answer(reader)
            assert (status, body.decode()) == (200, f"GET /a b [('x', '{number}'), ('y', '')] 0")

    talk(echo, client)


def test_a_body_is_read_after_100_continue() -> None:
    async def client(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"POST /x HTTP/1.1\r\nHost: n\r\nContent-Length: 5\r\nExpect: 100-continue\r\n\r\n")
        assert (await reader.readline()).startswith(b"HTTP/1.1 100")
        await reader.readline()
        writer.write(b"12345")
        assert (await answer(reader))[2] == b"POST /x [] 5"

    talk(echo, client)


def test_a_body_that_is_too_large_is_refused() -> None:
    async def client(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        size = MAX_BODY_BYTES + 1
        writer.write(b"POST /x HTTP/1.1\r\nHost: n\r\nContent-Length: %d\r\n\r\n" % size)
        writer.write(b"x" * size)
        assert (await answer(reader))[0] == 413

    talk(echo, client)


def test_garbage_gets_a_400_and_the_connection_ends() -> None:
    async def client(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"\x16\x03\x01 hello\r\n\r\n")
        assert (await answer(reader))[0] == 400
        assert await reader.read() == b""

    talk(echo, client)


def test_pieces_of_a_stream_arrive_as_they_are_made() -> None:
    step = asyncio.Event()

    async def pieces() -> AsyncIterator[bytes]:
        yield b""
        yield b"one"
        await step.wait()
        yield b"two"

    async def handler(_: Request) -> Response:
        return Response(200, stream=pieces())

    async def client(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"GET / HTTP/1.1\r\nHost: n\r\n\r\n")
        assert "chunked" in (await reader.readuntil(b"\r\n\r\n")).decode()
        assert await reader.readexactly(8) == b"3\r\none\r\n"
        step.set()
        assert await reader.readexactly(13) == b"3\r\ntwo\r\n0\r\n\r\n"

    talk(handler, client)


def test_a_stream_is_closed_when_its_client_leaves() -> None:
    closed = asyncio.Event()

    async def endless() -> AsyncIterator[bytes]:
        try:
            yield b"x"
            await asyncio.Event().wait()
        finally:
            closed.set()

    async def handler(_: Request) -> Response:
        return Response(200, stream=endless())

    async def client(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"GET / HTTP/1.1\r\nHost: n\r\n\r\n")
        await reader.readuntil(b"x\r\n")
        writer.close()
        await asyncio.wait_for(closed.wait(), 5)

    talk(handler, client)


def router(*, anonymous: bool = True, always_allow: bool = True, debugging: bool = True) -> Router:
    async def ok(request: Request, parts: tuple[str, ...]) -> Response:
        return text(200, "/".join(parts) or "ok")

    routes = (
        Route(("pods",), ok, frozenset({"GET"})),
        Route(("stats", "summary"), ok, frozenset({"GET", "POST"})),
        Route(("containerLogs", None, None, None), ok, frozenset({"GET"}), debugging=True),
        Route(("configz",), ok, hidden=True),
        Route(("runningpods",), ok, frozenset({"GET"}), debugging=True),
    )
    who = Authentication(anonymous=anonymous, client_ca=False)
    return Router(routes, debugging, who, Authorization(always_allow=always_allow))


def ask(routes: Router, target: str, method: str = "GET") -> tuple[int, str]:
    found = asyncio.run(routes.handle(Request(method=method, target=target, headers=())))
    return found.status, found.body.decode() or dict(found.headers).get("location", "")


def test_paths_are_answered_in_upstreams_order() -> None:
    routes = router()
    assert ask(routes, "/pods") == (200, "ok")
    assert ask(routes, "/containerLogs/ns/pod/c") == (200, "ns/pod/c")
    assert ask(routes, "/foo") == (404, "404 page not found\n")
    assert ask(routes, "/") == (404, "404 page not found\n")
    assert ask(routes, "/pods/more") == (404, "404: Page Not Found")
    assert ask(routes, "/pods", "POST") == (405, "405: Method Not Allowed")
    assert ask(routes, "//pods?x=1") == (307, "/pods?x=1")
    assert ask(routes, "/stats/../pods") == (307, "/pods")
    assert ask(routes, "/runningpods") == (307, "/runningpods/")
    assert ask(routes, "/runningpods/") == (200, "ok")


def test_unknown_paths_are_404_without_asking_who_asks() -> None:
    routes = router(anonymous=False)
    assert ask(routes, "/foo")[0] == 404
    assert ask(routes, "/pods/more") == (401, "Unauthorized")
    assert ask(routes, "/pods") == (401, "Unauthorized")


def test_a_refusal_names_user_verb_and_subresources() -> None:
    text_403 = "Forbidden (user=system:anonymous, verb=get, resource=nodes, subresource(s)=[pods proxy])\n"
    assert ask(router(always_allow=False), "/pods") == (403, text_403)


def test_debugging_handlers_can_be_switched_off() -> None:
    routes = router(debugging=False)
    assert ask(routes, "/containerLogs/ns/pod/c") == (405, "Debug endpoints are disabled.\n")
    assert ask(routes, "/configz") == (404, "404 page not found\n")
    assert ask(routes, "/pods") == (200, "ok")


def test_a_bearer_token_is_refused_even_where_anonymous_is_allowed() -> None:
    who = Authentication(anonymous=True, client_ca=False, webhook=True)
    request = Request(method="GET", target="/pods", headers=(("authorization", "Bearer x"),))
    assert who.authenticate(request) is None


def test_connections_above_the_bound_are_closed_and_those_below_go_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("services.server.http.listener.MAX_CONNECTIONS", 2)

    async def run() -> None:
        listener = Listener("test", echo, structlog.get_logger())
        port = free_port()
        await listener.bind("127.0.0.1", port)
        pairs = [await asyncio.open_connection("127.0.0.1", port) for _ in range(4)]
        try:
            ends = [asyncio.create_task(reader.read(1)) for reader, _ in pairs]
            refused, open_ones = await asyncio.wait(ends, timeout=0.2)
            assert (len(refused), len(open_ones)) == (2, 2)
            for task in open_ones:
                task.cancel()
            await asyncio.gather(*open_ones, return_exceptions=True)
            for task, (reader, writer) in zip(ends, pairs, strict=True):
                if task in open_ones:
                    writer.write(b"GET /x HTTP/1.1\r\nHost: n\r\n\r\n")
                    assert (await answer(reader))[0] == 200
        finally:
            for _, writer in pairs:
                writer.close()
            await listener.close()

    with capture_logs() as lines:
        asyncio.run(run())
    assert [(line["listener"], line["open"]) for line in lines if line["event"] == "connection.refused"] == [
        ("test", 2)
    ]
