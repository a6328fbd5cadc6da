"""What is imported before the fork must not start anything."""

import json
import subprocess
import sys

import pytest

from shared.messages.base import Service
from shared.supervision.preload import DAEMONS, MODULES

LOOK = """
import gc, json, os, threading
before = set(os.listdir("/proc/self/fd"))
from shared.supervision.preload import preload
reports = []
preload(reports.append)
import asyncio
print(json.dumps({
    "reports": reports,
    "threads": len(os.listdir("/proc/self/task")),
    "opened": [os.readlink(f"/proc/self/fd/{fd}") for fd in set(os.listdir("/proc/self/fd")) - before
               if os.path.exists(f"/proc/self/fd/{fd}")],
    "frozen": gc.get_freeze_count(),
}))
"""


@pytest.mark.slow
def test_preloading_imports_everything_and_starts_no_thread_and_opens_no_file() -> None:
    result = subprocess.run([sys.executable, "-c", LOOK], capture_output=True, text=True, check=True)
    seen = json.loads(result.stdout)
    assert seen["reports"] == []
    assert seen["threads"] == 1
    assert seen["opened"] == []
    assert seen["frozen"] > 10_000


def test_every_daemon_is_preloaded() -> None:
    assert {name.split(".")[1] for name in DAEMONS} == {service.value for service in Service}
    assert len(set(MODULES)) == len(MODULES)
