"""One GET over HTTP/1.1, with h11 over asyncio streams: cancellable at any moment, bounded in time and size."""

import asyncio
import ssl
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final
from urllib.parse import SplitResult, urljoin, urlsplit

import h11

from shared.errors import Transient
from shared.kube.manifest import MAX_BYTES

TIMEOUT_S: Final = 10.0
"""upstream: the client's time limit, redirects included"""
MAX_REDIRECTS: Final = 10
"""as Go's client"""
_REDIRECTS: Final = frozenset({301, 302, 303, 307, 308})
_CHUNK_BYTES: Final = 65536


@dataclass(frozen=True)
class _Answer:
    status: int
    reason: str
    location: str
    body: bytes


async def fetch(url: str, headers: Mapping[str, Sequence[str]]) -> bytes:
    """The whole body of a 200. Anything else raises Transient with the URL in its text."""
    try:
        async with asyncio.timeout(TIMEOUT_S):
            answer = await _follow(url, headers)
    except TimeoutError as error:
        raise Transient(f"{url}: no answer within {TIMEOUT_S:g} s") from error
    except (OSError, ValueError, h11.ProtocolError) as error:
        raise Transient(f"{url}: {error}") from error
    if answer.status != 200:
        raise Transient(f"{url}: {answer.status} {answer.reason}")
    return answer.body


async def _follow(url: str, headers: Mapping[str, Sequence[str]]) -> _Answer:
    at = url
    for _ in range(MAX_REDIRECTS + 1):
        target = urlsplit(at)
        # Headers may hold credentials: they go only to the host that they were configured for.
        own = headers if target.netloc == urlsplit(url).netloc else {}
        answer = await _get(target, own)
        if answer.status not in _REDIRECTS or not answer.location:
            return answer
        at = urljoin(at, answer.location)
    raise Transient(f"{url}: stopped after {MAX_REDIRECTS} redirects")


async def _get(target: SplitResult, headers: Mapping[str, Sequence[str]]) -> _Answer:
    if target.scheme not in ("http", "https") or not target.hostname:
        raise ValueError("only http and https URLs can be fetched")
    secure = target.scheme == "https"
    port = target.port or (443 if secure else 80)
    context = ssl.create_default_context() if secure else None
    reader, writer = await asyncio.open_connection(target.hostname, port, ssl=context)
    try:
        connection = h11.Connection(h11.CLIENT)
        request = h11.Request(method="GET", target=_path(target), headers=_headers(target, headers))
        writer.write(connection.send(request) or b"")
        writer.write(connection.send(h11.EndOfMessage()) or b"")
        await writer.drain()
        return await _answer(connection, reader)
    finally:
        writer.close()


def _path(target: SplitResult) -> str:
    return (target.path or "/") + (f"?{target.query}" if target.query else "")


def _headers(target: SplitResult, headers: Mapping[str, Sequence[str]]) -> list[tuple[str, str]]:
    own = [(name, value) for name, values in headers.items() for value in values]
    host = [] if any(name.lower() == "host" for name, _ in own) else [("Host", target.netloc.rpartition("@")[2])]
    return [*host, ("Accept", "*/*"), ("Connection", "close"), *own]


async def _answer(connection: h11.Connection, reader: asyncio.StreamReader) -> _Answer:
    """Raises h11.RemoteProtocolError when the body ends before its announced length."""
    response: h11.Response | None = None
    body = bytearray()
    while True:
        event = connection.next_event()
        if event is h11.NEED_DATA:
            connection.receive_data(await reader.read(_CHUNK_BYTES))
        elif isinstance(event, h11.Response):
            response = event
        elif isinstance(event, h11.Data):
            body += event.data
            if len(body) > MAX_BYTES:
                raise ValueError(f"larger than {MAX_BYTES} bytes")
        elif isinstance(event, h11.EndOfMessage) and response is not None:
            location = next((v.decode("latin-1") for k, v in response.headers if k == b"location"), "")
            return _Answer(response.status_code, response.reason.decode("latin-1"), location, bytes(body))
        elif isinstance(event, h11.ConnectionClosed):
            raise ValueError("the server closed the connection without an answer")
