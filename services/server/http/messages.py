"""Requests and responses of the HTTP layer."""

from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from urllib.parse import parse_qsl, unquote


@dataclass(frozen=True)
class Request:
    """One request with its body read (at most `connection.MAX_BODY_BYTES`).

    `client_certificate` is the peer's certificate in DER form as presented, not yet verified; None without one.
    """

    method: str
    target: str
    headers: tuple[tuple[str, str], ...]
    body: bytes = b""
    client_certificate: bytes | None = None
    remote: str = ""

    @property
    def path(self) -> str:
        """The decoded path, without the query."""
        return unquote(self.target.partition("?")[0])

    @property
    def query(self) -> list[tuple[str, str]]:
        """The query's pairs in order; keys without `=` have an empty value."""
        return parse_qsl(self.target.partition("?")[2], keep_blank_values=True)

    def header(self, name: str) -> str | None:
        """The first header of that (lower-case) name."""
        return next((value for key, value in self.headers if key == name), None)


@dataclass(frozen=True)
class Response:
    """An answer. A `stream` body is sent chunked, each piece flushed; it is closed when the client goes away."""

    status: int = 200
    body: bytes = b""
    headers: tuple[tuple[str, str], ...] = ()
    stream: AsyncIterator[bytes] | None = field(default=None, compare=False)


def text(status: int, body: str, *headers: tuple[str, str]) -> Response:
    """Plain text as upstream's handlers write it, without a newline of ours."""
    return Response(status, body.encode(), (("content-type", "text/plain; charset=utf-8"), *headers))


def helper_error(status: int, body: str) -> Response:
    """An error in the form of Go's `http.Error`: with a newline, and not to be sniffed."""
    return text(status, f"{body}\n", ("x-content-type-options", "nosniff"))


def json(body: bytes, *headers: tuple[str, str]) -> Response:
    """A JSON document."""
    return Response(200, body, (("content-type", "application/json"), *headers))
