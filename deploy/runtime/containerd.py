"""Starts and stops one containerd with a configuration of ours."""

import contextlib
import os
import re
import shutil
import signal
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from deploy.runtime.config import Layout, cni_plugins, containerd_toml, pod_network

START_S = 60.0
STOP_S = 20.0


class RuntimeFailed(Exception):
    """containerd did not do what was asked; the text ends with its log's last lines."""


@dataclass(frozen=True)
class Program:
    """An installed containerd. Its shim and `ctr` lie beside it."""

    path: Path
    version: str

    @property
    def major(self) -> int:
        return int(self.version.partition(".")[0])


def find_program(folder: Path | None = None) -> Program | None:
    """The containerd in that folder, or the one on the search path; None where there is none."""
    found = str(folder / "containerd") if folder is not None else shutil.which("containerd")
    if found is None or not os.access(found, os.X_OK):
        return None
    said = subprocess.run([found, "--version"], capture_output=True, text=True, check=True).stdout
    match = re.search(r"\bv?(\d+\.\d+\.\d+)", said)
    return None if match is None else Program(Path(found), match[1])


class Containerd:
    """One containerd. `netns` is the name of the network namespace it and its pods live in; None is the machine's own.

    It is started as a session of its own and outlives the process that started it; another object with the same layout
    can stop it.
    """

    def __init__(self, program: Program, layout: Layout, *, netns: str | None = None, masquerade: bool = False) -> None:
        self.program = program
        self.layout = layout
        self._netns = netns
        self._masquerade = masquerade
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Write the configuration, start, and return when it answers. Raises RuntimeFailed."""
        layout = self.layout
        for folder in (layout.state, layout.root, layout.networks, layout.registries):
            folder.mkdir(parents=True, exist_ok=True)
        snapshotter = _snapshotter(layout.root)
        settings = containerd_toml(layout, major=self.program.major, snapshotter=snapshotter, plugins=cni_plugins())
        layout.config.write_text(settings)
        addresses = layout.lasting / "addresses"
        network = pod_network(addresses, masquerade=self._masquerade)
        (layout.networks / "10-octolet.conflist").write_text(network)
        command = [str(self.program.path), "--config", str(layout.config)]
        with layout.log.open("ab") as log:
            self._process = process = subprocess.Popen(
                [*inside(self._netns), *command],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
                env={**os.environ, "PATH": f"{self.program.path.parent}:{os.environ['PATH']}:/usr/sbin:/sbin"},
            )
        layout.pid.write_text(str(process.pid))
        deadline = time.monotonic() + START_S
        while not self.answers():
            if process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeFailed(f"containerd {self.program.version} did not start:\n{self.log_tail()}")
            time.sleep(0.1)

    def answers(self) -> bool:
        """Whether it serves; asked through its own client, which needs no more than the socket."""
        return self.layout.socket.exists() and self._ctr("version", check=False).returncode == 0

    def load_images(self, archives: Sequence[Path]) -> None:
        """Import OCI archives for CRI. Raises RuntimeFailed."""
        for path in archives:
            done = self._ctr("-n", "k8s.io", "images", "import", str(path), check=False)
            if done.returncode != 0:
                raise RuntimeFailed(f"import {path.name}: {done.stderr.strip()}\n{self.log_tail()}")

    def stop(self) -> None:
        """TERM, then KILL. Containers and their shims live on, as they do when a runtime is upgraded."""
        pid = self.running_pid()
        if pid is not None:
            end_process(pid, timeout_s=STOP_S)
        self._forget()

    def kill(self) -> None:
        """KILL, as a crash would end it."""
        pid = self.running_pid()
        if pid is not None:
            os.kill(pid, signal.SIGKILL)
            wait_ended(pid, timeout_s=STOP_S)
        self._forget()

    def running_pid(self) -> int | None:
        """Its pid when it runs. A pid that now belongs to something else is not believed."""
        try:
            pid = int(self.layout.pid.read_text())
            command = Path(f"/proc/{pid}/cmdline").read_bytes()
        except (FileNotFoundError, ProcessLookupError, ValueError):
            return None
        return pid if str(self.layout.config).encode() in command else None

    def _forget(self) -> None:
        self.layout.pid.unlink(missing_ok=True)
        if self._process is not None:
            self._process.wait(STOP_S)
            self._process = None

    def log_tail(self, lines: int = 15) -> str:
        """The last lines of its log."""
        with contextlib.suppress(FileNotFoundError):
            return "\n".join(self.layout.log.read_text(errors="replace").splitlines()[-lines:])
        return "(no log)"

    def _ctr(self, *arguments: str, check: bool) -> subprocess.CompletedProcess[str]:
        beside = self.program.path.with_name("ctr")
        command = [str(beside), "--address", str(self.layout.socket), *arguments]
        return subprocess.run(command, capture_output=True, text=True, check=check, timeout=120)


def inside(netns: str | None) -> list[str]:
    """The start of a command line that runs in that network namespace.

    Not `ip netns exec`, which also mounts a new /sys and so hides the cgroups.
    """
    return [] if netns is None else ["nsenter", f"--net=/run/netns/{netns}"]


def end_process(pid: int, *, timeout_s: float) -> None:
    """TERM, after `timeout_s` KILL, and wait. A process that is gone is success."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, number)
        if wait_ended(pid, timeout_s=timeout_s):
            return


def wait_ended(pid: int, *, timeout_s: float) -> bool:
    """Wait for any process, child or not, to be gone (or a zombie that its parent has not read yet)."""
    deadline = time.monotonic() + timeout_s
    while _is_alive(pid):
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True


def _is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except (FileNotFoundError, ProcessLookupError):
        return False


def _snapshotter(folder: Path) -> str:
    """`overlayfs`, or `native` where the folder itself lies on an overlay, which cannot carry another."""
    longest, kind = -1, ""
    for line in Path("/proc/self/mounts").read_text().splitlines():
        _, point, fstype = line.split()[:3]
        if folder.is_relative_to(point) and len(point) > longest:
            longest, kind = len(point), fstype
    return "native" if kind == "overlay" else "overlayfs"
