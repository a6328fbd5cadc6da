"""One HTTP/1.1 connection: h11 between an asyncio stream pair and a handler."""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from http import HTTPStatus

import h11

from services.server.http.messages import Request, Response, text

IDLE_TIMEOUT_S = 90.0
"""upstream's server: an idle keep-alive connection is closed after this"""
MAX_HEADER_BYTES = 1 << 20
"""upstream's server: 1 MiB of request line and headers"""
MAX_BODY_BYTES = 3 << 20
"""no route takes a larger body: exec and port-forward streams are tunnels, not bodies"""
READ_BYTES = 1 << 16

Handler = Callable[[Request], Awaitable[Response]]


class Connection:
    """Serves requests one after another until the peer closes, errs or idles."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, handler: Handler) -> None:
        self.reader = reader
        self.writer = writer
        self.handler = handler
        self.h11 = h11.Connection(h11.SERVER, max_incomplete_event_size=MAX_HEADER_BYTES)
        peer = writer.get_extra_info("peername")
        self.remote = f"{peer[0]}:{peer[1]}" if peer else ""
        tls = writer.get_extra_info("ssl_object")
        self.client_certificate = tls.getpeercert(binary_form=True) if tls is not None else None

    async def run(self) -> None:
        """Never raises for what a peer does; unexpected errors of handlers do come out."""
        try:
            while await self._serve_one():
                self.h11.start_next_cycle()
        except h11.RemoteProtocolError as error:
            await self._refuse(error)
        except (ConnectionError, TimeoutError, asyncio.IncompleteReadError):
            pass
        finally:
            self.writer.close()
            with contextlib.suppress(ConnectionError, TimeoutError, OSError):
                await self.writer.wait_closed()

    async def _serve_one(self) -> bool:
        head = await self._next_event(IDLE_TIMEOUT_S)
        if not isinstance(head, h11.Request):
            return False
        body = await self._body()
        if body is None:
            await self._send(text(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, "request body too large"))
            return False
        request = Request(
            method=head.method.decode(),
            target=head.target.decode("latin-1"),
            headers=tuple((k.decode().lower(), v.decode("latin-1")) for k, v in head.headers),
            body=body,
            client_certificate=self.client_certificate,
            remote=self.remote,
        )
        await self._send(await self.handler(request))
        return self.h11.our_state is h11.DONE and self.h11.their_state is h11.DONE

    async def _next_event(self, timeout_s: float) -> h11.Event | type[h11.PAUSED]:
        while True:
            event = self.h11.next_event()
            if event is not h11.NEED_DATA:
                return event  # type: ignore[return-value]
            if self.h11.they_are_waiting_for_100_continue:
                await self._write(self.h11.send(h11.InformationalResponse(status_code=100, headers=[])))
            async with asyncio.timeout(timeout_s):
                data = await self.reader.read(READ_BYTES)
            self.h11.receive_data(data)

    async def _body(self) -> bytes | None:
        """The whole body, or None when it is larger than any route takes."""
        parts: list[bytes] = []
        size = 0
        while True:
            event = await self._next_event(IDLE_TIMEOUT_S)
            if not isinstance(event, h11.Data):
                return b"".join(parts)
            size += len(event.data)
            if size > MAX_BODY_BYTES:
                return None
            parts.append(bytes(event.data))

    async def _send(self, response: Response) -> None:
        streaming = response.stream is not None
        framing = ("transfer-encoding", "chunked") if streaming else ("content-length", str(len(response.body)))
        head = h11.Response(status_code=response.status, headers=[*response.headers, framing])
        if streaming:
            await self._write(self.h11.send(head))
            await self._send_stream(response)
            return
        # One write for head and body: two would be two TLS records and, with Nagle, two round trips.
        pieces = [self.h11.send(head), self.h11.send(h11.Data(data=response.body)), self.h11.send(h11.EndOfMessage())]
        await self._write(b"".join(p for p in pieces if p))

    async def _send_stream(self, response: Response) -> None:
        """Copies the stream until it ends or the peer goes away, which only a read can tell."""
        sending = asyncio.create_task(self._copy(response))
        leaving = asyncio.create_task(self._peer_left())
        try:
            await asyncio.wait({sending, leaving}, return_when=asyncio.FIRST_COMPLETED)
            if not sending.done():
                raise ConnectionResetError("client went away")
            sending.result()
        finally:
            for task in (sending, leaving):
                task.cancel()
            await asyncio.gather(sending, leaving, return_exceptions=True)

    async def _copy(self, response: Response) -> None:
        assert response.stream is not None
        try:
            async for piece in response.stream:
                if piece:
                    await self._write(self.h11.send(h11.Data(data=piece)))
            await self._write(self.h11.send(h11.EndOfMessage()))
        finally:
            close = getattr(response.stream, "aclose", None)
            if close is not None:
                await close()

    async def _peer_left(self) -> None:
        while data := await self.reader.read(READ_BYTES):
            self.h11.receive_data(data)

    async def _write(self, data: bytes | None) -> None:
        if data:
            self.writer.write(data)
            await self.writer.drain()

    async def _refuse(self, error: h11.RemoteProtocolError) -> None:
        """Garbage gets the status that h11 proposes, when an answer can still be sent."""
        if self.h11.our_state in (h11.IDLE, h11.SEND_RESPONSE):
            with contextlib.suppress(h11.LocalProtocolError, ConnectionError, TimeoutError):
                status = HTTPStatus(error.error_status_hint)
                await self._send(text(status, f"{status.value} {status.phrase}", ("connection", "close")))
