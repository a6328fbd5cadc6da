"""supervisord's poller, woken by signals and by its own deadlines instead of once per second."""

import math
import os
import signal
import time
from collections.abc import Callable
from typing import Any, Final, Protocol

LONGEST_S: Final = 1.0


class Owner(Protocol):
    """What the poller asks its owner on each pass."""

    def extra_fds(self) -> list[int]:
        """Descriptors that wake the loop when readable, and nothing else."""

    def next_due(self) -> float | None:
        """The next monotonic time at which the owner has something to do."""

    def on_pass(self, now: float) -> None:
        """Called once per pass, after the wait."""

    def on_close(self) -> None:
        """Called once, when the loop has ended."""


class WakefulPoller:
    """Wraps supervisord's own poller; all other methods are passed through.

    A signal writes to a pipe that this one also waits on, so that `reap` runs the moment a child ends. supervisord's
    loop unregisters descriptors it does not know, so they are registered anew on each pass and never shown to it.
    """

    def __init__(self, inner: Any, *, owner: Owner, reap: Callable[[], None], is_known: Callable[[int], bool]) -> None:
        self._inner = inner
        self._owner = owner
        self._reap = reap
        self._is_known = is_known
        self._wake_r, self._wake_w = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
        self._closed = False
        self._first = True
        signal.set_wakeup_fd(self._wake_w, warn_on_full_buffer=False)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def poll(self, timeout: float) -> tuple[list[int], list[int]]:
        """Wait at most `timeout` seconds, less when something is due; children are reaped before it returns."""
        extra = [self._wake_r, *self._owner.extra_fds()]
        for fd in extra:
            self._inner.register_readable(fd)
        readable, writable = self._inner.poll(self._wait_s(timeout))
        for fd in extra:
            self._inner.unregister_readable(fd)
        if self._wake_r in readable:
            self._drain()
            self._reap()
        self._owner.on_pass(time.monotonic())
        return (
            [fd for fd in readable if fd not in extra and self._is_known(fd)],
            [fd for fd in writable if self._is_known(fd)],
        )

    def _wait_s(self, timeout: float) -> float:
        if self._first:
            self._first = False
            return 0.0  # supervisord starts its programs after the first wait
        due = self._owner.next_due()
        wait_s = min(timeout, LONGEST_S)
        if due is not None:
            wait_s = min(wait_s, max(0.0, due - time.monotonic()))
        return math.ceil(wait_s * 1000) / 1000  # poll(2) counts milliseconds; rounding down would spin

    def _drain(self) -> None:
        try:
            while os.read(self._wake_r, 4096):
                pass
        except BlockingIOError:
            pass

    def close(self) -> None:
        """supervisord ends or reloads: signals no longer write to the pipe, and it is closed."""
        if not self._closed:
            self._closed = True
            signal.set_wakeup_fd(-1)
            os.close(self._wake_r)
            os.close(self._wake_w)
            self._owner.on_close()
        self._inner.close()
