"""One octolet under test: started with `octolet run` beside a runtime, watched only from outside.

What a test asserts comes from the CRI socket, /proc, cgroupfs and port 10250, never from octolet's own tables.
"""

import asyncio
import json
import os
import re
import secrets
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from shared.cri import api
from shared.cri.client import RuntimeClient
from tests.node.surroundings import Surroundings

DAEMONS = ("pod_sync", "pleg", "volume_manager", "container_manager", "eviction", "prober", "node_status", "server")
OCTOLET = [sys.executable, "-m", "shared.cli.main"]
IMAGE = "docker.io/library/busybox:1.36"


@dataclass(frozen=True)
class Instance:
    """One container or sandbox as the runtime lists it."""

    id: str
    pod_uid: str
    pod: str
    name: str
    attempt: int
    running: bool


@dataclass
class Agent:
    """`directory` holds everything of this octolet; `socket` is the runtime's, `netns` the namespace it runs in."""

    directory: Path
    socket: Path
    netns: str
    node_ip: str
    cgroup_root: str
    extra_config: dict[str, Any] = field(default_factory=dict)
    process: subprocess.Popen[bytes] | None = None

    @property
    def manifests(self) -> Path:
        return self.directory / "manifests"

    @property
    def run_dir(self) -> Path:
        return self.directory / "run"

    def start(self, timeout_s: float = 60.0) -> None:
        """Returns when all eight daemons are ready; raises with the log's end when they are not in time."""
        self.manifests.mkdir(parents=True, exist_ok=True)
        config = self.directory / "config.yaml"
        config.write_text(json.dumps(self._config()))
        command = [
            "nsenter", f"--net=/run/netns/{self.netns}", *OCTOLET, "run", "--config", str(config),
            "--root-dir", str(self.directory / "root"), "--cert-dir", str(self.directory / "certs"),
            "--hostname-override", "node1", "--node-ip", self.node_ip, "--run-dir", str(self.run_dir),
        ]  # fmt: skip
        with (self.directory / "octolet.log").open("ab") as log:
            self.process = subprocess.Popen(command, stdout=log, stderr=log, start_new_session=True)
        self.wait(lambda: self.owns_daemons() and self.is_ready(), timeout_s, "all daemons ready")

    def owns_daemons(self) -> bool:
        """Whether all eight are children of the supervisord that was started last, not of one that has died."""
        assert self.process is not None
        parents = set()
        for pid in self.pids().values():
            try:
                parents.add(int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1]))
            except FileNotFoundError:
                return False
        return len(self.pids()) == len(DAEMONS) and parents == {self.process.pid}

    def _config(self) -> dict[str, Any]:
        return {
            "apiVersion": "kubelet.config.k8s.io/v1beta1",
            "kind": "KubeletConfiguration",
            "staticPodPath": str(self.manifests),
            "failCgroupV1": False,
            "failSwapOn": False,
            "cgroupDriver": "cgroupfs",
            "cgroupRoot": self.cgroup_root,
            "containerRuntimeEndpoint": f"unix://{self.socket}",
            "authentication": {"anonymous": {"enabled": True}, "webhook": {"enabled": False}},
            "authorization": {"mode": "AlwaysAllow"},
            "podLogsDir": str(self.directory / "podlogs"),
            "evictionHard": {"memory.available": "50Mi", "nodefs.available": "1%", "nodefs.inodesFree": "1%"},
            **self.extra_config,
        }

    def stop(self) -> None:
        """SIGTERM and a clean end; containers stay."""
        if self.process is not None and self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(30)
            except subprocess.TimeoutExpired:
                os.killpg(self.process.pid, signal.SIGKILL)
                raise
        self.process = None

    def wait(self, condition: Callable[[], Any], timeout_s: float, what: str) -> Any:
        """The first true value of `condition`; AssertionError with the log's end when there is none in time."""
        deadline = time.monotonic() + timeout_s
        while True:
            if found := condition():
                return found
            if self.process is not None and self.process.poll() is not None:
                raise AssertionError(f"octolet ended with {self.process.returncode}: {self.log_tail()}")
            if time.monotonic() > deadline:
                raise AssertionError(f"not in {timeout_s} s: {what}\n{self.log_tail()}")
            time.sleep(0.05)

    def log_tail(self, lines: int = 40) -> str:
        log = self.directory / "octolet.log"
        return "\n".join(log.read_text(errors="replace").splitlines()[-lines:]) if log.exists() else "(no log)"

    def is_ready(self, name: str = "") -> bool:
        command = [*OCTOLET, "ready", *([name] if name else []), "--run-dir", str(self.run_dir)]
        return subprocess.run(command, capture_output=True).returncode == 0

    def pids(self) -> dict[str, int]:
        """Pids of this octolet's daemons, found by their working folder's locks, not by asking them."""
        found = {}
        for name in DAEMONS:
            text = (self.run_dir / f"{name}.lock").read_text() if (self.run_dir / f"{name}.lock").exists() else ""
            match = re.match(r"\d+", text)
            if match and Path(f"/proc/{match[0]}").exists():
                found[name] = int(match[0])
        return found

    def kill(self, *names: str) -> dict[str, int]:
        """SIGKILL to those daemons at once; returns the pids of all from before."""
        before = self.pids()
        for name in names:
            os.kill(before[name], signal.SIGKILL)
        return before

    def get(self, path: str) -> bytes:
        """GET from 10250, from inside the namespace."""
        command = ["nsenter", f"--net=/run/netns/{self.netns}", "curl", "-sk", "--max-time", "20"]
        return subprocess.run([*command, f"https://127.0.0.1:10250{path}"], capture_output=True, check=True).stdout

    def pods(self) -> dict[str, dict[str, Any]]:
        """Pods by name without the node's suffix."""
        try:
            items = json.loads(self.get("/pods"))["items"] or []
        except subprocess.CalledProcessError:
            return {}
        return {p["metadata"]["name"].removesuffix("-node1"): p for p in items}

    def is_running(self, name: str) -> bool:
        status = self.pods().get(name, {}).get("status", {})
        ready = {c["type"]: c["status"] for c in status.get("conditions", [])}
        return status.get("phase") == "Running" and ready.get("Ready") == "True"

    def add(self, name: str, command: str = "exec sleep 100000", **changes: Any) -> None:
        """Drops a manifest; `changes` go over the container, `spec` inside them over the pod's spec."""
        spec = changes.pop("spec", {})
        container = {"name": "c", "image": IMAGE, "command": ["sh", "-c", command], **changes}
        manifest = {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": name},
            "spec": {"terminationGracePeriodSeconds": 1, "containers": [container], **spec},
        }
        hidden = self.manifests / f".{name}.json"
        hidden.write_text(json.dumps(manifest))
        hidden.rename(self.manifests / f"{name}.json")

    def remove(self, name: str) -> None:
        (self.manifests / f"{name}.json").unlink()

    def sandboxes(self) -> list[Instance]:
        answer = cri(self.socket, lambda c: c.list_pod_sandbox(api.ListPodSandboxRequest()))
        return [
            Instance(s.id, s.metadata.uid, s.metadata.name.removesuffix("-node1"), "", s.metadata.attempt, s.state == 0)
            for s in answer.items
        ]

    def containers(self) -> list[Instance]:
        answer = cri(self.socket, lambda c: c.list_containers(api.ListContainersRequest()))
        return [
            Instance(
                c.id,
                c.labels["io.kubernetes.pod.uid"],
                c.labels["io.kubernetes.pod.name"].removesuffix("-node1"),
                c.metadata.name,
                c.metadata.attempt,
                c.state == api.CONTAINER_RUNNING,
            )
            for c in answer.containers
        ]

    def of(self, pod: str) -> list[Instance]:
        return [c for c in self.containers() if c.pod == pod]


def cri(socket: Path, call: Callable[[RuntimeClient], Any]) -> Any:
    """One call on a client of its own."""

    async def run() -> Any:
        async with RuntimeClient(f"unix://{socket}") as client:
            return await call(client)

    return asyncio.run(run())


@contextmanager
def agent_on(machine: Surroundings, **config: Any) -> Iterator[Agent]:
    """An octolet started on that machine with these settings on top; ended afterwards, and its pods removed."""
    directory = machine.layout.lasting / f"agent-{secrets.token_hex(3)}"
    directory.mkdir(parents=True)
    agent = Agent(directory, machine.socket, machine.netns, machine.node_ip, machine.cgroup_root, config)
    try:
        agent.start()
        yield agent
    finally:
        agent.stop()
        machine.remove_pods()
