"""The test machine itself: what it makes is there, and nothing of it stays."""

import asyncio
import os
import signal
from pathlib import Path

from deploy.test_machine import cgroups, leftovers
from deploy.test_machine.machine import TestMachine
from shared.cri import api
from shared.cri.client import RuntimeClient
from tests.node.surroundings import VERSIONS, Surroundings, find_runtime
from tests.shared.cri.pods import container_config, create_container, run_pod, run_sandbox, sandbox_config


def traces(machine: Surroundings) -> list[str]:
    """Whatever still tells of that machine."""
    folders = [machine.layout.volatile, machine.layout.lasting, Path("/run/netns") / machine.netns]
    folders += [hierarchy / machine.cgroup for hierarchy in cgroups.hierarchies()]
    mounts = [line for line in Path("/proc/self/mounts").read_text().splitlines() if f"/{machine.name}/" in line]
    return [
        *(str(f) for f in folders if f.exists()),
        *mounts,
        *(str(pid) for pid in leftovers.shims_of(machine.socket)),
    ]


def start_pod(machine: Surroundings) -> None:
    async def start() -> None:
        async with RuntimeClient(machine.endpoint) as cri:
            await run_pod(cri, "uid-1", cgroup_parent=f"{machine.cgroup_root}/pods")

    asyncio.run(start())


def test_nothing_stays_of_a_machine_with_running_pods() -> None:
    with TestMachine(f"octogone-{os.getpid():x}", find_runtime(VERSIONS[0])) as machine:
        start_pod(machine)
        processes = machine.processes()
        assert processes
        assert len(traces(machine)) > 3
    assert traces(machine) == []
    assert not [pid for pid in processes if Path(f"/proc/{pid}/cwd").exists()]


def test_nothing_stays_of_a_machine_whose_runtime_died_or_hangs() -> None:
    for number in (signal.SIGKILL, signal.SIGSTOP):
        with TestMachine(f"octodead-{os.getpid():x}", find_runtime(VERSIONS[-1])) as machine:
            start_pod(machine)
            pid = machine.runtime.running_pid()
            assert pid is not None
            os.kill(pid, number)
        assert traces(machine) == []


def test_pods_have_addresses_and_reach_each_other(runtime: Surroundings) -> None:
    async def case() -> str:
        async with RuntimeClient(runtime.endpoint) as cri:
            addresses = []
            for uid in ("uid-1", "uid-2"):
                config = sandbox_config(uid, name=uid, cgroup_parent=f"{runtime.cgroup_root}/{uid}")
                config.linux.security_context.namespace_options.network = api.POD
                sandbox_id = await run_sandbox(cri, config)
                status = await cri.pod_sandbox_status(api.PodSandboxStatusRequest(pod_sandbox_id=sandbox_id))
                addresses.append(status.status.network.ip)
            container_id = await create_container(cri, sandbox_id, config, container_config(config))
            await cri.start_container(api.StartContainerRequest(container_id=container_id))
            command = ["ping", "-c1", "-W2", addresses[0]]
            request = api.ExecSyncRequest(container_id=container_id, cmd=command, timeout=5)
            return (await cri.exec_sync(request)).stdout.decode()

    assert "1 packets received" in asyncio.run(asyncio.wait_for(case(), 60))


def test_the_network_is_its_own(runtime: Surroundings) -> None:
    assert runtime.node_ip in runtime.run("ip", "address", "show", "node0").stdout
    assert "node0" not in os.listdir("/sys/class/net")
