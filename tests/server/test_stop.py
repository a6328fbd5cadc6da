"""The daemon as a process of its own: it must end when told to, whatever it is waiting for."""

import json
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

pytestmark = pytest.mark.process


def test_a_stop_does_not_wait_for_a_certificate_that_does_not_come(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    settings = tmp_path / "settings"
    settings.mkdir()
    (settings / "server.json").write_text(json.dumps({"port": port, "healthz_port": 0, "address": "127.0.0.1"}))
    command = [sys.executable, "-m", "services.server", "--run-dir", str(tmp_path)]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        log = tmp_path / "log" / "server.log"
        deadline = time.monotonic() + 20
        while not (log.exists() and "waiting for the serving certificate" in log.read_text()):
            assert time.monotonic() < deadline
            time.sleep(0.05)
        process.send_signal(signal.SIGTERM)
        assert process.wait(5) == 0
