"""Starts, shows and ends the demo node."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from rich.console import Console

from deploy.demo.runtime import LAYOUT, NoRuntime, ensure_images, ensure_runtime, remove_pods, stop_ours
from deploy.runtime.config import BRIDGE
from deploy.test_machine.cgroups import remove_cgroup
from shared.errors import OctoletError

STATE = LAYOUT.lasting
MANIFESTS = STATE / "manifests"
RUN_DIR = Path("/run/octolet")
LOG = STATE / "octolet.log"
PID = LAYOUT.volatile / "octolet.pid"
NODE = "octolet-demo"
POD = "hello"
URL = "https://127.0.0.1:10250"
READY_S = 60.0
RUNNING_S = 60.0
STOP_S = 45.0
OCTOLET = str(Path(sys.executable).with_name("octolet"))

MANIFEST = """\
apiVersion: v1
kind: Pod
metadata:
  name: hello
spec:
  terminationGracePeriodSeconds: 2
  containers:
  - name: hello
    image: docker.io/library/busybox:1.36
    command: [sh, -c, 'i=0; while :; do echo "hello $i from $(hostname)"; i=$((i+1)); sleep 2; done']
    readinessProbe:
      exec: {command: ["true"]}
      periodSeconds: 2
    volumeMounts:
    - {name: scratch, mountPath: /scratch}
  volumes:
  - {name: scratch, emptyDir: {}}
"""


class DemoFailed(Exception):
    """The demo cannot go on; the text is for people."""


def run() -> None:
    """Brings the node up, or finds it up, and shows the pod Running."""
    console = Console()
    try:
        with console.status("container runtime ..."):
            socket, said = ensure_runtime()
        console.print(f"[green]✓[/] container runtime: {said}")
        with console.status("images ..."):
            said = ensure_images(socket)
        console.print(f"[green]✓[/] images: {said}")
    except (NoRuntime, OctoletError) as error:
        raise DemoFailed(str(error)) from error
    with console.status("eight daemons ..."):
        took = _ensure_octolet(socket)
    console.print(f"[green]✓[/] octolet: all eight daemons ready{took}")
    with console.status("static pod ...") as status:
        pod = _ensure_pod(lambda text: status.update(f"static pod: {text}"))
    console.print(f"[green]✓[/] static pod {pod['metadata']['name']} is Running, address {pod['status']['podIP']}")
    _print_next_steps(console)


def _ensure_octolet(socket: Path) -> str:
    if _octolet_pid() is not None:
        _wait(_is_ready, READY_S, "octolet is running but not all daemons are ready")
        return " (they were running)"
    MANIFESTS.mkdir(parents=True, exist_ok=True)
    config = STATE / "config.yaml"
    config.write_text(json.dumps(_config(socket), indent=2))
    command = [
        OCTOLET, "run", "--config", str(config), "--root-dir", str(STATE / "kubelet"),
        "--cert-dir", str(STATE / "pki"), "--hostname-override", NODE, "--run-dir", str(RUN_DIR),
    ]  # fmt: skip
    started = time.monotonic()
    with LOG.open("wb") as log:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True)
    PID.write_text(str(process.pid))

    def ready() -> bool:
        if process.poll() is not None:
            PID.unlink(missing_ok=True)
            raise DemoFailed(f"octolet run ended: {_last_words()}")
        return _is_ready()

    _wait(ready, READY_S, f"the daemons did not become ready; see {LOG}")
    return f" after {time.monotonic() - started:.1f} s"


def _config(socket: Path) -> dict[str, Any]:
    return {
        "apiVersion": "kubelet.config.k8s.io/v1beta1",
        "kind": "KubeletConfiguration",
        "staticPodPath": str(MANIFESTS),
        "containerRuntimeEndpoint": f"unix://{socket}",
        "cgroupDriver": "cgroupfs",
        "cgroupRoot": f"/{NODE}",
        "failCgroupV1": False,
        "failSwapOn": False,
        "podLogsDir": str(STATE / "logs"),
        # Whoever can reach the port of this demo may ask everything: so it listens on loopback only.
        "address": "127.0.0.1",
        "authentication": {"anonymous": {"enabled": True}, "webhook": {"enabled": False}},
        "authorization": {"mode": "AlwaysAllow"},
    }


def _ensure_pod(tell: Callable[[str], None]) -> dict[str, Any]:
    hidden = MANIFESTS / f".{POD}.yaml"
    hidden.write_text(MANIFEST)
    hidden.rename(MANIFESTS / f"{POD}.yaml")
    found: dict[str, Any] = {}

    def running() -> bool:
        pods = [p for p in _pods() if p["metadata"]["name"] == f"{POD}-{NODE}"]
        if not pods:
            return False
        found.update(pods[0])
        status = found["status"]
        tell(_describe(status))
        ready = any(c["type"] == "Ready" and c["status"] == "True" for c in status.get("conditions", []))
        return bool(status.get("phase") == "Running" and ready and status.get("podIP"))

    _wait(running, RUNNING_S, f"the pod did not become Running; see `{OCTOLET} status` and {RUN_DIR}/log/pod_sync.log")
    return found


def _describe(status: dict[str, Any]) -> str:
    waiting = [c["state"]["waiting"] for c in status.get("containerStatuses", []) if "waiting" in c.get("state", {})]
    detail = waiting[0].get("reason", "") if waiting else ""
    return f"{status.get('phase', '')} {detail}".strip()


def stop() -> None:
    """Ends the pod, octolet and the runtime that was started here. Nothing there is success."""
    console = Console()
    runtime = json.loads((STATE / "config.yaml").read_text()) if (STATE / "config.yaml").exists() else None
    pid = _octolet_pid()
    if pid is not None:
        for manifest in MANIFESTS.glob("*"):
            manifest.unlink()
        with console.status("stopping the pods ..."):
            _wait(_no_pod_left, STOP_S, f"pods did not stop; see {RUN_DIR}/log/pod_sync.log")
        with console.status("stopping octolet ..."):
            os.kill(pid, signal.SIGTERM)
            _wait(lambda: _octolet_pid() is None, STOP_S, f"octolet (pid {pid}) did not stop; see {LOG}")
        console.print("[green]✓[/] pods and octolet stopped")
    PID.unlink(missing_ok=True)
    if runtime is not None:
        socket = Path(runtime["containerRuntimeEndpoint"].removeprefix("unix://"))
        if socket.is_socket():
            try:
                remove_pods(socket, {f"{POD}-{NODE}"})
            except OctoletError as error:
                console.print(f"the runtime did not remove what is left of the pod: {error}")
    if stop_ours():
        console.print("[green]✓[/] the containerd that was started here stopped")
    _unmount_root()
    if pid is None:
        console.print("octolet was not running")


def clean() -> None:
    """Removes what the demo keeps on disk, its cgroup and its bridge.

    Only after `stop`: a mounted volume must not be emptied.
    """
    if _octolet_pid() is not None:
        raise DemoFailed("octolet is still running: `make stop` first")
    mounts = [line.split()[1] for line in Path("/proc/self/mounts").read_text().splitlines()]
    ours = [m for m in mounts if m.startswith((f"{STATE}/", f"{LAYOUT.volatile}/"))]
    if ours:
        raise DemoFailed(f"still mounted, unmount first: {' '.join(ours)}")
    for folder in (STATE, LAYOUT.volatile, RUN_DIR):
        shutil.rmtree(folder, ignore_errors=True)
    remove_cgroup(NODE)
    if Path(f"/sys/class/net/{BRIDGE}").exists():
        subprocess.run(["ip", "link", "delete", BRIDGE], check=False)


def _unmount_root() -> None:
    """The root directory is mounted on itself, as the kubelet does it, and stays so while pods run on."""
    root = str(STATE / "kubelet")
    if any(line.split()[1] == root for line in Path("/proc/self/mounts").read_text().splitlines()):
        subprocess.run(["umount", root], check=False)


def _octolet_pid() -> int | None:
    """The pid of the demo's supervisord; a pid that now belongs to another program is not believed."""
    try:
        pid = int(PID.read_text())
        command = Path(f"/proc/{pid}/cmdline").read_bytes()
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (OSError, ValueError):
        return None
    return pid if state not in "ZX" and (b"octolet" in command or b"supervisord" in command) else None


def _is_ready() -> bool:
    return (
        subprocess.run([OCTOLET, "ready", "--run-dir", str(RUN_DIR)], capture_output=True, check=False).returncode == 0
    )


def _pods() -> list[dict[str, Any]]:
    answer = subprocess.run(["curl", "-sk", "--max-time", "5", f"{URL}/pods"], capture_output=True, check=False).stdout
    try:
        return json.loads(answer)["items"] or []
    except (ValueError, KeyError):
        return []


def _no_pod_left() -> bool:
    directory = STATE / "kubelet" / "pods"
    return not directory.exists() or not any(directory.iterdir())


def _last_words() -> str:
    lines = [line for line in LOG.read_text(errors="replace").splitlines() if line.strip()]
    return lines[-1] if lines else f"see {LOG}"


def _wait(condition: Callable[[], bool], timeout_s: float, failure: str) -> None:
    deadline = time.monotonic() + timeout_s
    while not condition():
        if time.monotonic() > deadline:
            raise DemoFailed(failure)
        time.sleep(0.1)


def _print_next_steps(console: Console) -> None:
    steps = (
        (".venv/bin/octolet status", "daemons and pods"),
        (f"curl -sk {URL}/containerLogs/default/{POD}-{NODE}/{POD}?follow=true", "the pod's log, as it grows"),
        ("kill -9 $(pgrep -f services.pod_sync); .venv/bin/octolet status", "kill a daemon: the pod does not notice"),
        (".venv/bin/octolet tap", "the bus, live"),
        (f"$EDITOR {MANIFESTS}/{POD}.yaml", "change the pod, or drop another manifest beside it"),
        ("make stop", "end it all; `make clean` removes every trace"),
    )
    console.print("\nWhat to try next:")
    for command, meaning in steps:
        console.print(f"  [bold]{command}[/]\n      {meaning}", highlight=False, soft_wrap=True)
