"""Supervision by itself, over a container runtime in memory: how soon killed daemons are ready again, and what nine processes
weigh, with the modules loaded once and shared, and with an interpreter for each.

    python -m bench.restart [--rounds N]

The node touches nothing of the machine: own folders, loopback ports, no cgroups.
"""

import argparse
import os
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from bench.kills import measure_kills
from shared.cli.readiness import SERVICES, wait_ready
from shared.service.lock import ServiceLock
from shared.supervision.layout import lock_path
from shared.supervision.locks import holder
from tests.process.runtime import served_runtime

READY_S = 60.0
SETTLE_S = 5.0
"""start-up work is over before memory is read"""


def free_port() -> int:
    """A loopback port that nobody uses at this moment."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def node(folder: Path, *options: str) -> Iterator[tuple[Path, int, float]]:
    """A node over a runtime in memory: its run directory, its supervisor's pid, and the seconds until all were ready."""
    run_dir, manifests = folder / "run", folder / "manifests"
    manifests.mkdir(parents=True)
    command = [
        *(sys.executable, "-m", "shared.cli.main", "run", f"--run-dir={run_dir}", *options),
        *("--hostname-override=bench", f"--root-dir={folder}/root", f"--cert-dir={folder}/pki"),
        *(f"--pod-manifest-path={manifests}", f"--container-runtime-endpoint=unix://{folder}/runtime.sock"),
        *("--address=127.0.0.1", f"--port={free_port()}", f"--healthz-port={free_port()}", "--read-only-port=0"),
        *("--cgroups-per-qos=false", "--enforce-node-allocatable=", "--make-iptables-util-chains=false"),
        *("--fail-cgroupv1=false", "--fail-swap-on=false"),
    ]
    began = time.monotonic()
    with (
        served_runtime(folder / "runtime.sock"),
        (folder / "output").open("wb") as output,
        subprocess.Popen(command, stdout=output, stderr=output) as process,
    ):
        try:
            answers = wait_ready(run_dir, SERVICES, wait_s=READY_S)
            late = [answer.service for answer in answers.values() if not answer.ready]
            if late:
                raise TimeoutError(f"not ready after {READY_S:g} s: {', '.join(late)}; see {folder / 'output'}")
            yield run_dir, process.pid, time.monotonic() - began
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait()
            for line in reversed(Path("/proc/self/mountinfo").read_text().splitlines()):
                if line.split()[4].startswith(f"{folder}/"):  # the root directory is mounted onto itself
                    subprocess.run(["umount", "--lazy", line.split()[4]], check=False)


def proportional_mib(pids: list[int]) -> float:
    """The sum of PSS, in MiB: memory that n processes share counts as one n-th for each."""
    total = 0
    for pid in pids:
        for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
            if line.startswith("Pss:"):
                total += int(line.split()[1])
    return total / 1024


def pids_of(run_dir: Path) -> list[int]:
    """The daemons' pids."""
    return [pid for name in SERVICES if (pid := holder(lock_path(run_dir, name))) is not None]


def main() -> None:
    """Print both settings side by side."""
    parser = argparse.ArgumentParser(prog="python -m bench.restart", description=__doc__.partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=5, help="kills of each daemon")
    rounds = parser.parse_args().rounds
    if os.geteuid() != 0:
        sys.exit("octolet runs as root")
    print(f"{'':28}{'all ready':>10}{'9 processes':>13}{'killed -> ready p50':>21}{'max':>7}")
    for label, options in (("shared (the default)", ()), ("an interpreter each", ("--no-preload",))):
        with tempfile.TemporaryDirectory(prefix="octolet-") as folder, node(Path(folder), *options) as started:
            run_dir, supervisor, ready_s = started
            time.sleep(SETTLE_S)
            mib = proportional_mib([supervisor, *pids_of(run_dir)])
            with ServiceLock(run_dir / "bench.lock"):
                took = [one for values in measure_kills(run_dir, rounds=rounds).values() for one in values]
            print(f"{label:28}{ready_s:8.2f} s{mib:9.1f} MiB{statistics.median(took):19.3f} s{max(took):6.2f}")


if __name__ == "__main__":
    main()
