"""Measures the bus between real processes over ipc: `python -m bench.bus`.

Round trips, requests and table operations per second, the snapshot of a table of 1,000 pods, and what eight idle daemons
cost. Figures depend on the machine; the ratios say where the time goes.
"""

import argparse
import asyncio
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, Final

import msgspec

from shared.bus import Bus, Call, Change
from shared.bus.core_owner import OwnerTable
from shared.kube.types import Pod
from shared.messages.base import Message, Request, Service, Table
from shared.messages.daemon import DAEMON
from shared.messages.pod_sync import PODS, PodEntry, PodPhase
from shared.service import open_context
from shared.telemetry.log import configure

PODS_ON_NODE: Final = 1000
FOLLOWED: Final[dict[str, set[str]]] = {
    "pod_sync": {"pleg", "volume_manager", "container_manager", "prober", "node_status"},
    "pleg": set(),
    "volume_manager": {"pod_sync", "pleg", "node_status"},
    "container_manager": {"pod_sync", "pleg"},
    "eviction": {"pod_sync", "pleg", "container_manager"},
    "prober": {"pod_sync", "pleg"},
    "node_status": set(Service),
    "server": set(Service),
}
"""whose tables each daemon reads"""
CLOCK_TICKS: Final = os.sysconf("SC_CLK_TCK")
REPOSITORY: Final = Path(__file__).parents[1]


class Echo(Message, frozen=True):
    """300 bytes there and back; `at_mono` is when it was sent."""

    at_mono: float = 0.0
    text: str = "x" * 280


ECHO: Final = Request("echo", request=Echo, reply=Echo, owner="pod_sync", callers=frozenset({"server"}))
ECHOES: Final = Table("echoes", key="number", value=Echo, owner="pod_sync")


def pod(number: int) -> PodEntry:
    """A pod of some 4 kB, as a web service with a sidecar has it."""
    container = {
        "name": "web",
        "image": f"registry.example.com/team/web-server:v1.{number}.0",
        "args": ["--listen=0.0.0.0:8080", "--log-level=info", f"--shard={number}"],
        "env": [{"name": f"SETTING_{i}", "value": f"value of setting {i} of pod {number}"} for i in range(14)]
        + [{"name": "POD_IP", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}}],
        "ports": [{"name": "http", "containerPort": 8080, "protocol": "TCP"}],
        "resources": {"requests": {"cpu": "100m", "memory": "128Mi"}, "limits": {"cpu": "1", "memory": "512Mi"}},
        "livenessProbe": {"httpGet": {"path": "/healthz", "port": "http"}, "periodSeconds": 10, "failureThreshold": 3},
        "readinessProbe": {"httpGet": {"path": "/ready", "port": "http"}, "periodSeconds": 5, "failureThreshold": 3},
        "volumeMounts": [
            {"name": "config", "mountPath": "/etc/web"},
            {"name": "kube-api-access", "mountPath": "/var/run/secrets/kubernetes.io/serviceaccount", "readOnly": True},
        ],
        "terminationMessagePath": "/dev/termination-log",
        "terminationMessagePolicy": "File",
        "imagePullPolicy": "IfNotPresent",
        "securityContext": {"runAsNonRoot": True, "capabilities": {"drop": ["ALL"]}, "allowPrivilegeEscalation": False},
    }
    manifest = {
        "metadata": {
            "name": f"web-{number:04d}",
            "namespace": "default",
            "uid": f"00000000-0000-4000-8000-{number:012d}",
            "resourceVersion": str(number),
            "labels": {"app": "web", "pod-template-hash": "6d4cf56db6", "shard": str(number)},
            "annotations": {"prometheus.io/scrape": "true", "checksum/config": "a" * 64},
            "ownerReferences": [
                {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web-6d4cf56db6", "uid": "u" * 36}
            ],
        },
        "spec": {
            "nodeName": "node-1",
            "serviceAccountName": "web",
            "containers": [container, {**container, "name": "sidecar"}],
            "volumes": [{"name": "config", "configMap": {"name": "web"}}, {"name": "scratch", "emptyDir": {}}],
            "tolerations": [{"key": "node.kubernetes.io/not-ready", "operator": "Exists", "tolerationSeconds": 300}],
        },
    }
    return PodEntry(pod=msgspec.convert(manifest, Pod), source="api", phase=PodPhase.SYNC)


# the other processes


async def be_owner(run_dir: Path, how: dict[str, Any]) -> None:
    """Answer echoes, own pods, and write echoes when asked to."""
    async with Bus("pod_sync", run_dir) as bus:
        echoes = bus.own(ECHOES)
        pods = bus.own(PODS)
        echoes.mark(complete=True)
        for number in range(how["pods"]):
            pods.put(str(number), pod(number))
        pods.mark(complete=True)

        async def answer(question: Echo, call: Call) -> Echo:
            return question

        bus.answer(ECHO, answer)
        print("ready", flush=True)
        while line := await asyncio.to_thread(sys.stdin.readline):
            await write(echoes, **json.loads(line))


async def write(echoes: Any, *, count: int, per_second: int) -> None:
    """Put rows, as fast as possible or paced."""
    started = time.monotonic()
    for number in range(count):
        echoes.put(str(number % 1000), Echo(at_mono=time.monotonic()))
        if per_second:
            await asyncio.sleep(max(0.0, started + number / per_second - time.monotonic()))
        elif number % 100 == 99:
            await asyncio.sleep(0)
    echoes.mark(as_of_mono=time.monotonic())


async def be_daemon(run_dir: Path, how: dict[str, Any]) -> None:
    """An idle daemon: the scaffold, and the state of those it reads followed."""
    configure(log_format="json", level="error", file=None)
    async with open_context(how["name"], None, run_dir) as context:
        for service in FOLLOWED[how["name"]]:
            context.bus.follow(DAEMON, owner=service)
        context.ready()
        print("ready", flush=True)
        await asyncio.sleep(3600)


# measuring


@contextmanager
def process(role: str, run_dir: Path, **how: Any) -> Iterator[subprocess.Popen[str]]:
    """One process of this file, ready; killed at the end of the block."""
    command = [sys.executable, "-m", "bench.bus", "--role", role, "--run-dir", str(run_dir), "--how", json.dumps(how)]
    with subprocess.Popen(
        command, cwd=REPOSITORY, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as started:
        try:
            assert started.stdout is not None
            assert started.stdout.readline() == "ready\n", f"{role} did not start"
            yield started
        finally:
            started.kill()


def spread(seconds: Sequence[float]) -> str:
    """Median, 99th percentile and worst, in milliseconds."""
    ordered = sorted(seconds)
    p99 = ordered[int(len(ordered) * 0.99)]
    return f"{statistics.median(ordered) * 1e3:.2f} ms (p99 {p99 * 1e3:.2f}, max {ordered[-1] * 1e3:.2f})"


def tell(owner: subprocess.Popen[str], **command: int) -> None:
    assert owner.stdin is not None
    owner.stdin.write(json.dumps(command) + "\n")
    owner.stdin.flush()


async def measure_calls(bus: Bus) -> Iterator[tuple[str, str]]:
    await bus.call(ECHO, Echo())
    took = []
    for _ in range(3000):
        started = time.monotonic()
        await bus.call(ECHO, Echo())
        took.append(time.monotonic() - started)
    count, lanes = 10_000, 50
    started = time.monotonic()

    async def lane() -> None:
        for _ in range(count // lanes):
            await bus.call(ECHO, Echo())

    await asyncio.gather(*(lane() for _ in range(lanes)))
    rate = count / (time.monotonic() - started)
    return iter(
        [
            ("request of 300 bytes and its reply, one at a time", spread(took)),
            (f"the same, {lanes} at a time", f"{rate:,.0f} /s"),
        ]
    )


async def measure_deltas(bus: Bus, owner: subprocess.Popen[str]) -> Iterator[tuple[str, str]]:
    view = bus.follow(ECHOES)
    await view.wait(lambda v: v.complete)
    late: list[float] = []

    def on_change(change: Change[Echo]) -> None:
        if change.new is not None:
            late.append(time.monotonic() - change.new.at_mono)

    view.on_change(on_change)
    before = view.as_of_mono
    tell(owner, count=2000, per_second=500)
    await view.wait(lambda v: v.as_of_mono > before)
    paced = spread(late)
    late.clear()
    before, fetched = view.as_of_mono, bus.stats.fetched["pod_sync", "echoes"]
    started, count = time.monotonic(), 50_000
    tell(owner, count=count, per_second=0)
    await view.wait(lambda v: v.as_of_mono > before)
    rate = count / (time.monotonic() - started)
    again = bus.stats.fetched["pod_sync", "echoes"] - fetched
    return iter(
        [
            ("a row of 300 bytes, put to seen, 500 /s", paced),
            (
                "rows, put as fast as they go, to a reader that has them all",
                f"{rate:,.0f} /s ({again} snapshots in between)",
            ),
        ]
    )


async def measure_snapshot(run_dir: Path) -> Iterator[tuple[str, str]]:
    took = []
    size = 0
    for _ in range(5):
        async with Bus("server", run_dir) as bus:
            started = time.monotonic()
            view = bus.follow(PODS)
            assert await view.wait(lambda v: v.complete, 30)
            took.append(time.monotonic() - started)
            size = len(view)
    table = OwnerTable(PODS)
    pods = [pod(number) for number in range(PODS_ON_NODE)]
    started = time.monotonic()
    for number, entry in enumerate(pods):
        table.put(str(number), entry)
    put_s = time.monotonic() - started
    started = time.monotonic()
    chunks = table.chunks()
    chunk_s = time.monotonic() - started
    started = time.monotonic()
    decoder = msgspec.msgpack.Decoder(PODS.value)
    for chunk in chunks:
        for _, row in msgspec.msgpack.decode(chunk, type=list[tuple[str, msgspec.Raw]]):
            decoder.decode(row)
    decode_s = time.monotonic() - started
    total = sum(map(len, chunks))
    assert size == PODS_ON_NODE
    return iter(
        [
            (f"{PODS_ON_NODE:,} pods ({total / PODS_ON_NODE:,.0f} bytes each), follow to complete", spread(took)),
            ("  of it: put them all (once)", f"{put_s * 1e3:.1f} ms"),
            ("  of it: join the encoded rows", f"{chunk_s * 1e3:.1f} ms for {total / 1e6:.1f} MB"),
            ("  of it: decode them", f"{decode_s * 1e3:.1f} ms"),
        ]
    )


def cpu_s(pid: int) -> float:
    """User and system time of a process so far."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / CLOCK_TICKS


def pss_kib(pid: int) -> int:
    lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("Pss:"))


def measure_idle(run_dir: Path, seconds: float) -> Iterator[tuple[str, str]]:
    with ExitStack() as stack:
        pids = [stack.enter_context(process("daemon", run_dir, name=service)).pid for service in Service]
        time.sleep(3.0)
        before, started = sum(map(cpu_s, pids)), time.monotonic()
        time.sleep(seconds)
        percent = 100 * (sum(map(cpu_s, pids)) - before) / (time.monotonic() - started)
        yield "eight idle daemons with their heartbeats, CPU together", f"{percent:.2f} % of one core"
        yield "  their memory (each started by exec), PSS together", f"{sum(map(pss_kib, pids)) / 1024:.0f} MiB"


async def measure_traffic(run_dir: Path) -> list[tuple[str, str]]:
    with process("owner", run_dir, pods=PODS_ON_NODE) as owner:
        async with Bus("server", run_dir) as bus:
            rows = [*await measure_calls(bus), *await measure_deltas(bus, owner)]
        return [*rows, *await measure_snapshot(run_dir)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--role", choices=("owner", "daemon"), help=argparse.SUPPRESS)
    parser.add_argument("--run-dir", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--how", type=json.loads, default={}, help=argparse.SUPPRESS)
    parser.add_argument("--idle-s", type=float, default=20.0, help="how long to watch eight idle daemons (default: 20)")
    given = parser.parse_args()
    if given.role is not None:
        asyncio.run({"owner": be_owner, "daemon": be_daemon}[given.role](given.run_dir, given.how))
        return
    rows: list[tuple[str, str]] = []
    with tempfile.TemporaryDirectory() as folder:
        rows += asyncio.run(measure_traffic(Path(folder) / "traffic"))
        rows += measure_idle(Path(folder) / "idle", given.idle_s)
    width = max(len(name) for name, _ in rows)
    print(f"| {'what':{width}} | measured |\n| {'-' * width} | --- |")
    for name, value in rows:
        print(f"| {name:{width}} | {value} |")


if __name__ == "__main__":
    main()
