"""The container runtime of the demo: the machine's own where one can run pods, else containerd started here."""

import asyncio
import subprocess
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TypeVar

from deploy.runtime.config import Layout
from deploy.runtime.containerd import Containerd, RuntimeFailed, find_program
from deploy.runtime.images import BUSYBOX, ImageBuildError, ensure_archives
from shared.cri import api
from shared.cri.client import RuntimeClient
from shared.errors import OctoletError

T = TypeVar("T")

MACHINE_SOCKET = Path("/run/containerd/containerd.sock")
LAYOUT = Layout(volatile=Path("/run/octolet-demo"), lasting=Path("/var/lib/octolet-demo"))
CACHE = Path("/var/cache/octolet/images")


class NoRuntime(Exception):
    """No runtime can be had; the text says why."""


def ensure_runtime() -> tuple[Path, str]:
    """The socket of a runtime that can run pods, and a sentence on where it comes from. Raises NoRuntime."""
    ours = _ours()
    if ours is not None and ours.running_pid() is not None and ours.answers():
        return LAYOUT.socket, "the containerd that an earlier `make run` started"
    missing = can_run_pods(MACHINE_SOCKET)
    if not missing:
        return MACHINE_SOCKET, f"this machine's runtime at {MACHINE_SOCKET}"
    if ours is None:
        raise NoRuntime("no container runtime is here and containerd is not installed (Debian: containerd runc)")
    try:
        ours.start()
    except (RuntimeFailed, OSError) as error:
        raise NoRuntime(str(error)) from error
    return LAYOUT.socket, f"containerd {ours.program.version}, started here ({missing})"


def ensure_images(socket: Path) -> str:
    """Makes sure that the demo's images are there, without a registry; a sentence on what was done. Raises NoRuntime."""
    wanted = api.ImageStatusRequest(image=api.ImageSpec(image=BUSYBOX))
    if ask(socket, lambda cri: cri.image_status(wanted)).image.id:
        return "already there"
    try:
        archives = ensure_archives(CACHE)
    except ImageBuildError as error:
        raise NoRuntime(str(error)) from error
    for archive in archives:
        command = ["ctr", "--address", str(socket), "-n", "k8s.io", "images", "import", str(archive)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise NoRuntime(f"import {archive.name}: {done.stderr.strip()}")
    return f"imported {', '.join(a.stem for a in archives)}"


def can_run_pods(socket: Path) -> str:
    """Why the runtime at that socket cannot run pods; empty when it can."""
    if not socket.is_socket():
        return f"there is none at {socket}"
    try:
        status = ask(socket, lambda cri: cri.status(api.StatusRequest())).status
    except OctoletError as error:
        return f"the one at {socket} does not serve CRI: {error}"
    wrong = [f"{c.type} is false: {c.message}" for c in status.conditions if not c.status]
    return f"the one at {socket} says {'; '.join(wrong)}" if wrong else ""


def remove_pods(socket: Path, names: set[str]) -> None:
    """Stops and removes the sandboxes of pods with these names; what is gone already is success."""

    async def remove(cri: RuntimeClient) -> None:
        listed = await cri.list_pod_sandbox(api.ListPodSandboxRequest())
        for item in listed.items:
            if item.metadata.name in names:
                await cri.stop_pod_sandbox(api.StopPodSandboxRequest(pod_sandbox_id=item.id))
                await cri.remove_pod_sandbox(api.RemovePodSandboxRequest(pod_sandbox_id=item.id))

    ask(socket, remove)


def stop_ours() -> bool:
    """Ends the containerd that was started here; False when there was none."""
    ours = _ours()
    if ours is None or ours.running_pid() is None:
        return False
    ours.stop()
    return True


def ask(socket: Path, call: Callable[[RuntimeClient], Awaitable[T]]) -> T:
    """One conversation with the runtime on a client of its own."""

    async def talk() -> T:
        async with RuntimeClient(f"unix://{socket}", timeout_s=10.0) as cri:
            return await call(cri)

    return asyncio.run(talk())


def _ours() -> Containerd | None:
    program = find_program()
    return Containerd(program, LAYOUT) if program is not None else None
