"""One HTTP GET for a lifecycle hook, over asyncio streams.

Upstream `pkg/kubelet/lifecycle`, runHTTPHandler: any status is success, TLS is not verified, redirects are followed
only on the same host, at most ten; a server that answers https with plain http is asked again in plain http.
"""

import asyncio
import os
import socket
import ssl
from dataclasses import dataclass, replace
from typing import Final
from urllib.parse import urljoin, urlsplit

import h11

from shared.errors import Transient

USER_AGENT: Final = "kube-lifecycle/1.37"
_MAX_REDIRECTS: Final = 10
_MAX_BODY: Final = 10 * 1024
_CHUNK: Final = 16 * 1024
_PLAIN_HTTP_REASONS: Final = ("WRONG_VERSION_NUMBER", "HTTP_REQUEST", "UNSUPPORTED_PROTOCOL")


class _PlainHttpAnswer(Exception):
    """The server does not speak TLS."""


@dataclass(frozen=True, kw_only=True)
class HookRequest:
    """What to get. `headers` as given by the user; a `Host` among them replaces the address in the request."""

    scheme: str
    host: str
    port: int
    path: str
    headers: tuple[tuple[str, str], ...] = ()

    @property
    def authority(self) -> str:
        """Host and port as in a URL."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{host}:{self.port}"

    @property
    def url(self) -> str:
        """The whole URL."""
        return f"{self.scheme}://{self.authority}/{self.path.removeprefix('/')}"


async def run_http_hook(request: HookRequest) -> bool:
    """Get it. True when https was asked and plain http had to do. Raises OSError or Transient when nobody answers."""
    try:
        await _follow(request)
        return False
    except _PlainHttpAnswer:
        kept = tuple(header for header in request.headers if header[0].lower() != "authorization")
        await _follow(replace(request, scheme="http", headers=kept))
        return True


async def _follow(request: HookRequest) -> None:
    for _ in range(_MAX_REDIRECTS + 1):
        location = await _exchange(request)
        if location is None:
            return
        target = urlsplit(urljoin(request.url, location))
        if target.hostname != request.host or target.scheme not in ("http", "https"):
            return  # another host is not followed; the answer itself is success
        default_port = 443 if target.scheme == "https" else 80
        path = target.path + (f"?{target.query}" if target.query else "")
        request = replace(request, scheme=target.scheme, port=target.port or default_port, path=path)
    raise Transient(f'Get "{request.url}": stopped after {_MAX_REDIRECTS} redirects')


async def _exchange(request: HookRequest) -> str | None:
    """One request and its answer; the target when that is a redirect."""
    try:
        reader, writer = await asyncio.open_connection(request.host, request.port, ssl=_tls(request.scheme))
    except ssl.SSLError as error:
        if error.reason in _PLAIN_HTTP_REASONS:
            raise _PlainHttpAnswer from error
        raise Transient(f'Get "{request.url}": {error}') from error
    except OSError as error:
        raise Transient(f'Get "{request.url}": {_dial_text(request, error)}') from error
    try:
        return await _answer(reader, writer, request)
    except (h11.RemoteProtocolError, ConnectionError, ssl.SSLError) as error:
        raise Transient(f'Get "{request.url}": {error or "EOF"}') from error
    finally:
        writer.close()


async def _answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, request: HookRequest) -> str | None:
    connection = h11.Connection(h11.CLIENT, max_incomplete_event_size=64 * 1024)
    target = "/" + request.path.removeprefix("/")
    head = connection.send(h11.Request(method="GET", target=target, headers=_headers(request)))
    writer.write((head or b"") + (connection.send(h11.EndOfMessage()) or b""))
    await writer.drain()
    location: str | None = None
    seen = 0
    while True:
        event = connection.next_event()
        if event is h11.NEED_DATA:
            connection.receive_data(await reader.read(_CHUNK))
        elif isinstance(event, h11.Response):
            if event.status_code in (301, 302, 303, 307, 308):
                found = dict(event.headers).get(b"location")
                location = found.decode("latin-1") if found else None
        elif isinstance(event, h11.Data):
            seen += len(event.data)
            if seen >= _MAX_BODY:
                return location
        elif isinstance(event, (h11.EndOfMessage, h11.ConnectionClosed)):
            return location


def _dial_text(request: HookRequest, error: OSError) -> str:
    """Why nobody answered, as Go's client puts it."""
    if isinstance(error, socket.gaierror):
        return f"dial tcp: lookup {request.host}: no such host"
    reason = os.strerror(error.errno).lower() if error.errno else str(error)
    return f"dial tcp {request.authority}: connect: {reason}"


def _headers(request: HookRequest) -> list[tuple[str, str]]:
    given = {name.lower() for name, _ in request.headers}
    defaults = [("Host", request.authority), ("User-Agent", USER_AGENT), ("Accept", "*/*"), ("Connection", "close")]
    return [*(pair for pair in defaults if pair[0].lower() not in given), *request.headers]


def _tls(scheme: str) -> ssl.SSLContext | None:
    if scheme != "https":
        return None
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False  # hooks are for the pod's own servers, whose certificates nobody vouches for
    context.verify_mode = ssl.CERT_NONE
    return context
