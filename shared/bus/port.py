"""One ZeroMQ socket in the event loop, never blocking.

ZMQ_FD is edge-triggered: it says that *something* happened inside, not that a message is there, and a send may consume
that hint. So the socket is drained until ZMQ_EVENTS says it is empty, and looked at again after every send
(zmq_getsockopt(3), ZMQ_FD). Measured for a 300-byte echo over ipc this costs a third of `zmq.asyncio`.
"""

import asyncio
from collections.abc import Callable, Sequence
from enum import Enum, auto
from typing import Final

import zmq

MAX_BATCH: Final = 200
"""messages taken in one turn of the loop, so that a flood does not starve timers and other sockets"""
MAX_FRAME_BYTES: Final = 64 * 1024 * 1024
"""a peer that sends a larger frame is cut off by ZeroMQ; snapshots come in frames of about 1 MiB"""
HIGH_WATER_MARK: Final = 4096
"""messages queued per peer and socket before ZeroMQ drops (publisher, router) or refuses (dealer): a burst of 1,000 pods
with two writes each fits, and a frozen reader of 4 kB rows costs the owner 16 MB at most. What is dropped is found by
its number and fetched again."""
RECONNECT_FIRST_MS: Final = 10
RECONNECT_MAX_MS: Final = 200
"""an owner that is back is found within this time; a connect to a dead ipc path costs some 20 microseconds"""


_NOBLOCK: Final = int(zmq.NOBLOCK)
_POLLIN: Final = int(zmq.POLLIN)
# plain numbers: operations on zmq's enumerations take longer than the calls they are made for


class Sent(Enum):
    """What became of a message handed to a socket."""

    QUEUED = auto()
    FULL = auto()
    """no peer is connected, or its queue is at the high-water mark"""
    UNROUTABLE = auto()
    """the peer it is addressed to has gone"""


class Port:
    """A socket drained from the loop. Belongs to the task or callbacks of one owner; use in the loop's thread only.

    `on_message(frames)` is called for each message, `on_turn()` after each look at the socket (it may be writable
    again). An exception from either goes to `on_failure` and ends the port's reading.
    """

    def __init__(
        self,
        socket: zmq.Socket[bytes],
        on_message: Callable[[list[bytes]], None],
        *,
        on_failure: Callable[[BaseException], None],
        on_turn: Callable[[], None] | None = None,
    ) -> None:
        self.socket = socket
        self._on_message = on_message
        self._on_failure = on_failure
        self._on_turn = on_turn
        self._loop = asyncio.get_running_loop()
        self._look_scheduled = False
        self._closed = False
        self._fd: int = socket.getsockopt(zmq.FD)  # type: ignore[assignment]
        self._loop.add_reader(self._fd, self._look)
        self.look_soon()

    def send(self, frames: Sequence[bytes]) -> Sent:
        """Hand over one message, or say why not. Never waits."""
        try:
            self.socket.send_multipart(frames, _NOBLOCK)
        except zmq.Again:
            return Sent.FULL
        except zmq.ZMQError as error:
            if error.errno != zmq.EHOSTUNREACH:
                raise
            return Sent.UNROUTABLE
        finally:
            self.look_soon()
        return Sent.QUEUED

    def look_soon(self) -> None:
        """Look at the socket in the next turn of the loop."""
        if not self._look_scheduled and not self._closed:
            self._look_scheduled = True
            self._loop.call_soon(self._look)

    def close(self) -> None:
        """Stop reading and close the socket; what is queued is thrown away. Safe to repeat."""
        if not self._closed:
            self._closed = True
            self._loop.remove_reader(self._fd)
            self.socket.close(linger=0)

    def _look(self) -> None:
        self._look_scheduled = False
        if self._closed:
            return
        try:
            self._drain()
            if self._on_turn is not None and not self._closed:
                self._on_turn()
        except Exception as error:  # the boundary between the loop and our code: the bus ends with this error
            self.close()
            self._on_failure(error)

    def _drain(self) -> None:
        for _ in range(MAX_BATCH):
            if not int(self.socket.getsockopt(zmq.EVENTS)) & _POLLIN:
                return
            try:
                frames = self.socket.recv_multipart(_NOBLOCK)
            except zmq.Again:
                return
            self._on_message(frames)
            if self._closed:
                return
        self.look_soon()  # more may be there, and the descriptor will not say so again


def configure(socket: zmq.Socket[bytes]) -> None:
    """The options that all sockets share: bounded queues, nothing kept back at close, peers found again quickly."""
    socket.setsockopt(zmq.SNDHWM, HIGH_WATER_MARK)
    socket.setsockopt(zmq.RCVHWM, HIGH_WATER_MARK)
    socket.setsockopt(zmq.LINGER, 0)
    socket.setsockopt(zmq.IMMEDIATE, 1)
    socket.setsockopt(zmq.MAXMSGSIZE, MAX_FRAME_BYTES)
    socket.setsockopt(zmq.RECONNECT_IVL, RECONNECT_FIRST_MS)
    socket.setsockopt(zmq.RECONNECT_IVL_MAX, RECONNECT_MAX_MS)
