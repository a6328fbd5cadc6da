"""`octolet stop`: end the supervisor of a run directory and with it the daemons; containers go on."""

import argparse
import os
import select
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from shared.cli.options import RUN_DIR_HELP, default_run_dir
from shared.supervision.layout import supervisor_lock
from shared.supervision.locks import holder, is_held

WAIT_S: Final = 20.0
"""daemons that do not stop are killed after 5 s, so a healthy supervisor needs far less"""


def main(argv: Sequence[str]) -> int:
    """Stop it and wait until it has ended. Nothing running is success."""
    parser = argparse.ArgumentParser(prog="octolet stop", description=__doc__)
    parser.add_argument("--run-dir", type=Path, default=default_run_dir(), help=RUN_DIR_HELP)
    run_dir = parser.parse_args(argv).run_dir
    lock = supervisor_lock(run_dir)
    if not is_held(lock):
        print(f"nothing runs in {run_dir}")
        return 0
    pid = holder(lock)
    if pid is None:
        print(f"octolet stop: {lock} is locked by a process that cannot be told", file=sys.stderr)
        return 1
    pidfd = os.pidfd_open(pid)
    signal.pidfd_send_signal(pidfd, signal.SIGTERM)
    ended = bool(select.select([pidfd], [], [], WAIT_S)[0])
    print(f"stopped (pid {pid})" if ended else f"octolet stop: pid {pid} is still there after {WAIT_S:g} s")
    return 0 if ended else 1
