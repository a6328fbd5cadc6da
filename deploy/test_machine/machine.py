"""One test machine: network, cgroup and runtime under one name."""

import asyncio
import contextlib
import os
import re
import signal
import subprocess
from collections.abc import Sequence
from pathlib import Path

from deploy.peers import cache_dir
from deploy.runtime.config import Layout
from deploy.runtime.containerd import Containerd, Program, inside
from deploy.runtime.images import ensure_archives
from deploy.test_machine import cgroups, leftovers, network
from shared.cri import api
from shared.cri.client import RuntimeClient
from shared.errors import OctoletError

VOLATILE = Path("/run/octolet-test")
LASTING = Path("/var/lib/octolet-test")
NAME = re.compile(r"[a-z][a-z0-9-]{0,30}")
REMOVE_PODS_S = 60.0


class TestMachine:
    """Use `up` and `down`, or as a context manager. Needs root."""

    __test__ = False  # no test, whatever pytest makes of the name

    def __init__(self, name: str, program: Program) -> None:
        """`name` is short and unique on this machine. Raises ValueError for one that cannot be a folder's name."""
        if not NAME.fullmatch(name):
            raise ValueError(f"{name!r} is no name for a test machine: {NAME.pattern}")
        self.name = name
        self.netns = name
        self.node_ip = network.NODE_IP
        self.cgroup = name
        self.layout = Layout(VOLATILE / name, LASTING / name)
        self.runtime = Containerd(program, self.layout, netns=name)

    @property
    def socket(self) -> Path:
        """The runtime's CRI socket."""
        return self.layout.socket

    @property
    def endpoint(self) -> str:
        return f"unix://{self.socket}"

    @property
    def cgroup_root(self) -> str:
        """For KubeletConfiguration `cgroupRoot`."""
        return f"/{self.cgroup}"

    def up(self) -> None:
        """Make everything and start the runtime with its images. What is there already stays."""
        network.make_network(self.netns)
        cgroups.make_cgroup(self.cgroup)
        if not self.runtime.answers():
            self.runtime.start()
        self.runtime.load_images(ensure_archives(cache_dir() / "images"))

    def down(self) -> None:
        """Remove everything, whatever state it is in. What is gone is success."""
        if (pid := self.runtime.running_pid()) is not None:
            os.kill(pid, signal.SIGCONT)  # a stopped one would neither remove pods nor hear TERM
        with contextlib.suppress(OctoletError, TimeoutError):
            self.remove_pods()
        self.runtime.stop()
        leftovers.end_shims(self.socket)
        cgroups.remove_cgroup(self.cgroup)
        leftovers.remove_folder(self.layout.volatile)
        leftovers.remove_folder(self.layout.lasting)
        network.remove_network(self.netns)

    def __enter__(self) -> "TestMachine":
        try:
            self.up()
        except BaseException:
            self.down()
            raise
        return self

    def __exit__(self, *_error: object) -> None:
        self.down()

    def restart_runtime(self) -> None:
        """Stop it and start it again; containers run on, as in an upgrade."""
        self.runtime.stop()
        self.runtime.start()

    def remove_pods(self) -> None:
        """Stop and remove every pod. Raises OctoletError or TimeoutError when the runtime does not do it."""
        if self.runtime.running_pid() is not None:
            asyncio.run(_remove_in_time(self.endpoint))

    def processes(self) -> set[int]:
        """Pids of everything that runs in the machine's cgroup: its pods, if they were put there."""
        return cgroups.processes_in(self.cgroup)

    def run(self, *command: str) -> "subprocess.CompletedProcess[str]":
        """Run a command in the machine's network and wait for it. Raises CalledProcessError."""
        return subprocess.run([*self.inside(), *command], check=True, capture_output=True, text=True)

    def inside(self) -> Sequence[str]:
        """The start of a command line that runs in the machine's network."""
        return inside(self.netns)


async def _remove_in_time(endpoint: str) -> None:
    async with asyncio.timeout(REMOVE_PODS_S):
        await remove_all_pods(endpoint)


async def remove_all_pods(endpoint: str) -> None:
    """Stop and remove all pods of a runtime, several at a time. Raises OctoletError."""
    async with RuntimeClient(endpoint) as cri:
        listed = await cri.list_pod_sandbox(api.ListPodSandboxRequest())
        turns = asyncio.Semaphore(8)

        async def remove(sandbox: str) -> None:
            async with turns:
                await cri.stop_pod_sandbox(api.StopPodSandboxRequest(pod_sandbox_id=sandbox))
                await cri.remove_pod_sandbox(api.RemovePodSandboxRequest(pod_sandbox_id=sandbox))

        results = await asyncio.gather(*(remove(item.id) for item in listed.items), return_exceptions=True)
    for result in results:
        if isinstance(result, BaseException):
            raise result
