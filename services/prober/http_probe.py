"""httpGet: one GET with redirects, within one deadline (upstream `probe/http`).

Upstream sets SO_LINGER so that closed sockets do not pile up; here the server closes first (Connection: close), and a
lingering close would block the event loop.
"""

import asyncio
import ssl
from dataclasses import dataclass, replace
from typing import Final
from urllib.parse import urljoin, urlsplit

import h11

from services.prober.dial import dial_error
from services.prober.model import Verdict
from services.prober.ports import Finding
from services.prober.targets import HttpTarget, is_address, join_host_port, request_path

MAX_BODY_BYTES: Final = 10 * 1024
"""upstream `probe/http`: maxRespBodyLength; a longer body is cut, which is no failure"""
MAX_REDIRECTS: Final = 10
_REDIRECTS: Final = frozenset({301, 302, 303, 307, 308})
_READ_BYTES: Final = 16 * 1024
_WHILE_HEADERS: Final = "context deadline exceeded (Client.Timeout exceeded while awaiting headers)"
_WHILE_BODY: Final = "context deadline exceeded (Client.Timeout or context cancellation while reading body)"


@dataclass(frozen=True)
class _Answer:
    status: int
    location: str | None
    body: str


class _Failed(Exception):
    """No answer, in Go's words."""


class _BodyFailed(Exception):
    """The answer began and did not end."""


async def probe_http(target: HttpTarget, timeout_s: float) -> Finding:
    """Success for 200 to 299, a warning for a redirect that is not followed, failure for everything else."""
    progress = _Progress(target)
    try:
        async with asyncio.timeout(timeout_s):
            answer = await progress.follow()
    except TimeoutError:
        if progress.in_body:
            return Finding(Verdict.FAILURE, _WHILE_BODY, error=True)
        return Finding(Verdict.FAILURE, f'Get "{progress.target.url}": {_WHILE_HEADERS}')
    except _Failed as e:
        return Finding(Verdict.FAILURE, f'Get "{progress.target.url}": {e}')
    except _BodyFailed as e:
        return Finding(Verdict.FAILURE, str(e), error=True)
    if 200 <= answer.status < 300:
        return Finding(Verdict.SUCCESS, answer.body)
    if 300 <= answer.status < 400:
        return Finding(Verdict.WARNING, f"Probe terminated redirects, Response body: {answer.body}")
    return Finding(Verdict.FAILURE, f"HTTP probe failed with statuscode: {answer.status}")


class _Progress:
    """One probe under way: where it is now, so that a deadline can be put into words."""

    def __init__(self, target: HttpTarget) -> None:
        self.target = target
        self.in_body = False
        self._hostname = target.host

    async def follow(self) -> _Answer:
        """The final answer, after redirects within the same host name (upstream `RedirectChecker`)."""
        for _ in range(MAX_REDIRECTS):
            answer = await self._get()
            if answer.status not in _REDIRECTS:
                return answer
            if answer.location is None:
                raise _Failed(f"{answer.status} response missing Location header")
            following = self._following(answer.location)
            if following is None:
                return answer
            self.target = following
        raise _Failed(f"stopped after {MAX_REDIRECTS} redirects")

    def _following(self, location: str | None) -> HttpTarget | None:
        """Where a redirect leads, when it is to be followed."""
        if location is None:
            return None
        following = _redirected(self.target, location)
        return following if following.host == self._hostname.lower() else None

    async def _get(self) -> _Answer:
        self.in_body = False
        target = self.target
        secure = target.scheme == "https"
        try:
            reader, writer = await asyncio.open_connection(
                target.host,
                target.port,
                ssl=_unverified() if secure else None,
                server_hostname=target.host if secure and not is_address(target.host) else ("" if secure else None),
            )
        except (OSError, UnicodeError) as e:
            raise _Failed(dial_error(e, target.host, target.port)) from e
        try:
            return await self._talk(reader, writer)
        except (ConnectionError, ssl.SSLError) as e:
            if self.in_body:
                raise _BodyFailed(_read_error(e)) from e
            raise _Failed(_read_error(e)) from e
        finally:
            if secure:
                # A closing handshake would wait for the peer; nothing more is wanted from it.
                writer.transport.abort()
            writer.close()

    async def _talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> _Answer:
        connection = h11.Connection(h11.CLIENT, max_incomplete_event_size=1 << 20)
        try:
            writer.write(connection.send(self._request()) or b"")
            connection.send(h11.EndOfMessage())
        except h11.LocalProtocolError as e:
            raise _Failed(f"net/http: invalid header field: {e}") from e
        response: h11.Response | None = None
        body = bytearray()
        while len(body) < MAX_BODY_BYTES:
            try:
                event = connection.next_event()
                if event is h11.NEED_DATA:
                    data = await reader.read(_READ_BYTES)
                    if not data and response is None:
                        raise _Failed("EOF")
                    connection.receive_data(data)
                    continue
            except h11.RemoteProtocolError as e:
                if response is None:
                    raise _Failed(
                        f"net/http: HTTP/1.x transport connection broken: malformed HTTP response: {e}"
                    ) from e
                raise _BodyFailed("unexpected EOF") from e
            if isinstance(event, h11.Response):
                response, self.in_body = event, True
                if event.status_code in _REDIRECTS and self._following(_location(event)) is not None:
                    break
            elif isinstance(event, h11.Data):
                body += event.data
            elif isinstance(event, h11.EndOfMessage | h11.ConnectionClosed):
                break
        assert response is not None, "the loop ends only after a response, or with an exception"
        return _Answer(response.status_code, _location(response), bytes(body[:MAX_BODY_BYTES]).decode(errors="replace"))

    def _request(self) -> h11.Request:
        target = self.target
        default_port = target.port == (443 if target.scheme == "https" else 80)
        own = f"[{target.host}]" if default_port and ":" in target.host else target.host
        host = target.host_header or (own if default_port else join_host_port(target.host, target.port))
        headers = [("Host", host), *target.headers, ("Connection", "close")]
        return h11.Request(method="GET", target=target.path, headers=[(n.encode(), v.encode()) for n, v in headers])


def _location(response: h11.Response) -> str | None:
    return next((value.decode("latin-1") for name, value in response.headers if name == b"location"), None)


def _redirected(target: HttpTarget, location: str) -> HttpTarget:
    """Where a Location header leads. Raises _Failed for one that cannot be read."""
    try:
        parts = urlsplit(urljoin(target.url, location))
        port = parts.port or (443 if parts.scheme == "https" else 80)
    except ValueError as e:
        raise _Failed(f'failed to parse Location header "{location}": {e}') from e
    if parts.scheme not in ("http", "https"):
        raise _Failed(f'unsupported protocol scheme "{parts.scheme}"')
    path = request_path(f"{parts.path or '/'}{'?' + parts.query if parts.query else ''}")
    return replace(target, scheme=parts.scheme, host=parts.hostname or "", port=port, path=path)


def _unverified() -> ssl.SSLContext:
    """Probes take any certificate, old keys too: a probe asks for life, not for trust (upstream: InsecureSkipVerify)."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    context.set_ciphers("DEFAULT:@SECLEVEL=0")
    context.set_alpn_protocols(["http/1.1"])
    return context


def _read_error(error: Exception) -> str:
    if isinstance(error, ssl.SSLError):
        return f"tls: {error.reason or error}"
    if isinstance(error, ConnectionResetError):
        return "read: connection reset by peer"
    return str(error)
