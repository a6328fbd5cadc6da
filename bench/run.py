"""`make bench`: octolet beside upstream's kubelet on one machine in one run, and how fast killed daemons are back.

    python -m bench.run [--no-peer] [--runtime installed|peer] [--rounds N]

Prints one table. Figures of one run may be compared with each other, not with those of another machine or day.
"""

import argparse
import os
import secrets
import shutil
import statistics
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from bench.kills import measure_kills
from bench.node import Measured, Running, measure
from deploy.peers import PEERS, containerd_dir, is_built, peers_dir
from deploy.runtime.containerd import find_program
from deploy.test_machine.machine import TestMachine

OCTOLET = str(Path(sys.executable).with_name("octolet"))


@contextmanager
def started(machine: TestMachine, label: str, command: list[str]) -> Iterator[Running]:
    """That agent on the machine; ended afterwards, its pods removed."""
    directory = machine.layout.lasting / label
    agent = Running(
        command, directory, machine.netns, machine.node_ip, machine.socket, f"{machine.cgroup_root}/{label}"
    )
    for hierarchy in Path("/sys/fs/cgroup").iterdir():
        parent = hierarchy / machine.cgroup_root.lstrip("/")
        if parent.is_dir():
            _make_group(parent / label)
    try:
        agent.start()
        yield agent
    finally:
        agent.stop()
        machine.remove_pods()


def _make_group(path: Path) -> None:
    """A cgroup; a v1 cpuset must say which CPUs and nodes before anything may live below it."""
    path.mkdir(exist_ok=True)
    for name in ("cpuset.cpus", "cpuset.mems"):
        ours, theirs = path / name, path.parent / name
        if ours.exists() and theirs.exists() and not ours.read_text().strip():
            ours.write_text(theirs.read_text())


def print_table(mine: Measured, peer: Measured | None) -> None:
    print(f"\n{'':44}{'octolet':>10}{'kubelet':>10}{'ratio':>8}")
    theirs = peer.rows() if peer is not None else {}
    for name, value in mine.rows().items():
        other = theirs.get(name)
        tail = f"{other:10.2f}{value / other:8.2f}" if other else f"{'-':>10}{'-':>8}"
        print(f"{name:44}{value:10.2f}{tail}")
    print(f"\n{'killed with 30 pods: seconds until ready again':50}{'p50':>8}{'p99':>8}{'max':>8}")
    for name, values in mine.kills.items():
        ordered = sorted(values)
        p99 = ordered[min(len(ordered) - 1, round(0.99 * (len(ordered) - 1)))]
        print(f"  {name:48}{statistics.median(values):8.3f}{p99:8.3f}{ordered[-1]:8.3f}")


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.run", description=__doc__.partition("\n")[0])
    parser.add_argument("--no-peer", action="store_true", help="octolet alone")
    parser.add_argument("--runtime", choices=["installed", "peer"], default="installed")
    parser.add_argument("--rounds", type=int, default=10, help="kills of each daemon")
    arguments = parser.parse_args()
    if os.geteuid() != 0:
        sys.exit("the bench starts a container runtime: run it as root")
    program = find_program(containerd_dir() if arguments.runtime == "peer" else None)
    if program is None:
        sys.exit("no containerd: deploy/install-packages.sh test")
    kubelet = peers_dir() / "kubelet"
    with TestMachine(f"bench-{secrets.token_hex(2)}", program) as machine:
        peer = None
        if not arguments.no_peer and is_built(PEERS["kubelet"]):
            with started(machine, "kubelet", [str(kubelet)]) as agent:
                peer = measure(agent)
        elif not arguments.no_peer:
            print("upstream's kubelet is not built (python -m deploy.peers kubelet): octolet alone", file=sys.stderr)
        run_dir = machine.layout.volatile / "run"
        with started(machine, "octolet", [OCTOLET, "run", "--run-dir", str(run_dir)]) as agent:
            mine = measure(agent)
            mine.kills = measure_kills(run_dir, rounds=arguments.rounds)
        print_table(mine, peer)
        shutil.rmtree(run_dir, ignore_errors=True)


if __name__ == "__main__":
    main()
