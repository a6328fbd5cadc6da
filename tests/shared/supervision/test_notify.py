"""What systemd hears. A real datagram socket stands for it."""

import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from shared.supervision.notify import Notifier, WatchdogTooShort, without_notification


@pytest.fixture
def manager(tmp_path: Path) -> Iterator[socket.socket]:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as receiver:
        receiver.bind(str(tmp_path / "notify"))
        receiver.setblocking(False)
        yield receiver


def heard(manager: socket.socket) -> list[str]:
    texts = []
    while True:
        try:
            texts.append(manager.recv(100).decode())
        except BlockingIOError:
            return texts


def test_readiness_and_stop_are_said_once(manager: socket.socket) -> None:
    notifier = Notifier({"NOTIFY_SOCKET": manager.getsockname()}, pid=7)
    for _ in range(3):
        notifier.ready()
        notifier.stopping()
        notifier.beat(1.0)
    assert heard(manager) == ["READY=1", "STOPPING=1"]
    assert notifier.next_mono is None


def test_the_watchdog_hears_a_beat_each_half_period(manager: socket.socket) -> None:
    variables = {"NOTIFY_SOCKET": manager.getsockname(), "WATCHDOG_USEC": "4000000", "WATCHDOG_PID": "7"}
    notifier = Notifier(variables, pid=7)
    for now in (100.0, 101.0, 101.9, 102.0, 103.5, 104.0):
        notifier.beat(now)
    assert heard(manager) == ["WATCHDOG=1"] * 3
    assert notifier.next_mono == 106.0


def test_a_watchdog_meant_for_another_process_is_not_fed(manager: socket.socket) -> None:
    variables = {"NOTIFY_SOCKET": manager.getsockname(), "WATCHDOG_USEC": "4000000", "WATCHDOG_PID": "8"}
    Notifier(variables, pid=7).beat(1.0)
    assert heard(manager) == []


def test_a_watchdog_of_a_second_or_less_is_refused() -> None:
    with pytest.raises(WatchdogTooShort, match="configure watchdog timeout too small"):
        Notifier({"WATCHDOG_USEC": "1000000"}, pid=7)


def test_without_a_service_manager_nothing_happens() -> None:
    notifier = Notifier({}, pid=7)
    notifier.ready()
    notifier.beat(1.0)
    Notifier({"NOTIFY_SOCKET": "/nowhere/at/all"}, pid=7).ready()


def test_children_cannot_speak_for_the_unit() -> None:
    assert without_notification({"NOTIFY_SOCKET": "/x", "WATCHDOG_USEC": "1", "WATCHDOG_PID": "2", "A": "b"}) == {
        "A": "b"
    }
