"""Measures a node agent from outside: start latency, a burst of pods, memory and idle CPU. Any agent with the kubelet's flags.

Absolute figures mean little on a shared machine; the ratio of two agents measured one after the other does.
"""

import json
import os
import signal
import statistics
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

IMAGE = "docker.io/library/busybox:1.36"
POLL_S = 0.01
SETTLE_S = 10.0
"""start-up work is over after this; the same for both agents"""
CLOCK_TICKS = os.sysconf("SC_CLK_TCK")


@dataclass
class Measured:
    """What one agent took. Seconds, MiB, percent of one core."""

    start_s: list[float] = field(default_factory=list)
    burst_s: float = 0.0
    pss_mib: float = 0.0
    idle_cpu_percent: float = 0.0
    kills: dict[str, list[float]] = field(default_factory=dict)

    def rows(self) -> dict[str, float]:
        return {
            "one manifest to Running, median (s)": statistics.median(self.start_s),
            "one manifest to Running, max (s)": max(self.start_s),
            "burst of pods, all Running (s)": self.burst_s,
            "memory with these pods, PSS (MiB)": self.pss_mib,
            "idle CPU with these pods (% of a core)": self.idle_cpu_percent,
        }


@dataclass
class Running:
    """A started agent: `command` takes the kubelet's flags, `directory` is its own, everything runs inside `netns`."""

    command: list[str]
    directory: Path
    netns: str
    node_ip: str
    socket: Path
    cgroup_root: str
    process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        manifests = self.directory / "manifests"
        manifests.mkdir(parents=True)
        config = {
            "apiVersion": "kubelet.config.k8s.io/v1beta1",
            "kind": "KubeletConfiguration",
            "staticPodPath": str(manifests),
            "failCgroupV1": False,
            "failSwapOn": False,
            "cgroupDriver": "cgroupfs",
            "cgroupRoot": self.cgroup_root,
            "containerRuntimeEndpoint": f"unix://{self.socket}",
            "maxPods": 300,
            "podLogsDir": str(self.directory / "podlogs"),
            "authentication": {"anonymous": {"enabled": True}, "webhook": {"enabled": False}},
            "authorization": {"mode": "AlwaysAllow"},
            "evictionHard": {"memory.available": "100Mi", "nodefs.available": "1%", "imagefs.available": "1%"},
        }
        (self.directory / "config.yaml").write_text(json.dumps(config))
        flags = ["--config", str(self.directory / "config.yaml"), "--root-dir", str(self.directory / "root")]
        flags += [
            "--cert-dir",
            str(self.directory / "certs"),
            "--hostname-override",
            "node1",
            "--node-ip",
            self.node_ip,
        ]
        with (self.directory / "agent.log").open("wb") as log:
            self.process = subprocess.Popen(
                ["nsenter", f"--net=/run/netns/{self.netns}", *self.command, *flags],
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        wait(lambda: self.get("https://127.0.0.1:10250/healthz") == b"ok", 120, "healthz")
        time.sleep(SETTLE_S)

    def stop(self) -> None:
        if self.process is not None:
            self.process.send_signal(signal.SIGTERM)
            self.process.wait(60)

    def get(self, url: str) -> bytes:
        command = ["nsenter", f"--net=/run/netns/{self.netns}", "curl", "-sk", "--max-time", "10", url]
        return subprocess.run(command, capture_output=True, check=False).stdout

    def running_pods(self) -> set[str]:
        """Names of pods that are Running with an address, as port 10250 says."""
        try:
            items = json.loads(self.get("https://127.0.0.1:10250/pods"))["items"] or []
        except (ValueError, KeyError):
            return set()
        return {
            p["metadata"]["name"].removesuffix("-node1")
            for p in items
            if p["status"].get("phase") == "Running" and p["status"].get("podIP")
        }

    def add(self, name: str) -> None:
        container = {"name": "c", "image": IMAGE, "command": ["sh", "-c", "exec sleep 1000000"]}
        container["resources"] = {"requests": {"cpu": "5m", "memory": "8Mi"}}  # type: ignore[assignment]
        spec = {"terminationGracePeriodSeconds": 1, "containers": [container]}
        hidden = self.directory / "manifests" / f".{name}"
        hidden.write_text(json.dumps({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": spec}))
        hidden.rename(hidden.with_name(f"{name}.json"))

    def remove_all(self) -> None:
        for path in (self.directory / "manifests").glob("*.json"):
            path.unlink()
        wait(lambda: not self.running_pods(), 120, "pods gone")

    def tree(self) -> list[int]:
        """The agent's processes and their descendants; containers are not among them."""
        assert self.process is not None
        children: dict[int, list[int]] = {}
        for stat in Path("/proc").glob("[0-9]*/stat"):
            try:
                fields = stat.read_text().rpartition(")")[2].split()
            except OSError:
                continue
            children.setdefault(int(fields[1]), []).append(int(stat.parent.name))
        found, left = [], [self.process.pid]
        while left:
            pid = left.pop()
            found.append(pid)
            left += children.get(pid, [])
        return found

    def pss_mib(self) -> float:
        total = 0
        for pid in self.tree():
            try:
                lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
            except OSError:
                continue
            total += sum(int(line.split()[1]) for line in lines if line.startswith("Pss:"))
        return total / 1024

    def cpu_s(self) -> float:
        ticks = 0
        for pid in self.tree():
            try:
                fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            ticks += int(fields[11]) + int(fields[12])
        return ticks / CLOCK_TICKS


def wait(condition: Callable[[], bool], timeout_s: float, what: str) -> float:
    """Seconds until true; TimeoutError otherwise."""
    started = time.monotonic()
    while not condition():
        if time.monotonic() - started > timeout_s:
            raise TimeoutError(f"not in {timeout_s} s: {what}")
        time.sleep(POLL_S)
    return time.monotonic() - started


def measure(agent: Running, *, singles: int = 10, burst: int = 30, idle_s: float = 30.0) -> Measured:
    """The whole set of figures for a started agent; its pods of the burst are left running."""
    found = Measured()
    for number in range(singles):
        name = f"one{number}"
        agent.add(name)
        found.start_s.append(wait(lambda name=name: name in agent.running_pods(), 60, f"{name} Running"))  # type: ignore[misc]
    agent.remove_all()
    names = {f"many{number}" for number in range(burst)}
    for name in names:
        agent.add(name)
    found.burst_s = wait(lambda: names <= agent.running_pods(), 180, "the burst Running")
    time.sleep(SETTLE_S)
    before, started = agent.cpu_s(), time.monotonic()
    time.sleep(idle_s)
    found.idle_cpu_percent = 100 * (agent.cpu_s() - before) / (time.monotonic() - started)
    found.pss_mib = agent.pss_mib()
    return found
