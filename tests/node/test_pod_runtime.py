"""The runtime room of pod_sync against real runtimes: what its fake claims is what they do."""

import asyncio
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from services.pod_sync.environment.model import EnvObjects, NodeFacts, PodContext
from services.pod_sync.environment.variables import ObjectNames
from services.pod_sync.images.manager import ImageManager
from services.pod_sync.images.model import PullSettings
from services.pod_sync.runtime.acts import Runtime
from services.pod_sync.runtime.host_files import HostFiles
from services.pod_sync.runtime.model import KillOrder, KillTarget, Sandbox, StartError
from services.pod_sync.runtime.ordering import TerminationOrder
from services.pod_sync.runtime.ports import Ports
from shared.cri import api
from shared.cri.client import RuntimeClient
from shared.kube.types import Pod
from shared.messages.container_manager import ContainerExtras
from shared.messages.pleg import ContainerMount, ContainerState
from tests.node.surroundings import Surroundings
from tests.pod_sync.environment.manifests import make_container, make_pod

pytestmark = pytest.mark.timeout(300)
WAIT_S = 30.0
IMAGE = "docker.io/library/busybox:1.36"


@dataclass
class Setting:
    """A runtime room on a real runtime, one pod, and the events it emitted."""

    cri: RuntimeClient
    runtime: Runtime
    pod: PodContext
    logs: Path
    events: list[tuple[str | None, str, str, str]] = field(default_factory=list)

    def event(self, container: str | None, type_: str, reason: str, message: str) -> None:
        self.events.append((container, type_, reason, message))

    async def sandbox(self) -> Sandbox:
        sandbox = await self.runtime.create_sandbox(self.pod, 0, event=self.event)
        self.pod = replace(self.pod, ips=sandbox.ips)
        return sandbox

    async def start(self, name: str, sandbox: Sandbox, attempt: int = 0) -> str:
        return await self.runtime.start_container(self.pod, name, sandbox=sandbox, attempt=attempt, event=self.event)

    async def state(self, container_id: str) -> ContainerState:
        """The container as pleg would report it."""
        status = (await self.cri.container_status(api.ContainerStatusRequest(container_id=container_id))).status
        return ContainerState(
            id=status.id,
            name=status.metadata.name,
            attempt=status.metadata.attempt,
            sandbox_id="",
            state=api.ContainerState.Name(status.state).removeprefix("CONTAINER_").lower(),
            exit_code=status.exit_code,
            reason=status.reason,
            message=status.message,
            log_path=status.log_path,
            labels=dict(status.labels),
            annotations=dict(status.annotations),
            mounts=[ContainerMount(container_path=m.container_path, host_path=m.host_path) for m in status.mounts],
        )

    async def until(self, container_id: str, state: str) -> ContainerState:
        async with asyncio.timeout(WAIT_S):
            while (found := await self.state(container_id)).state != state:
                await asyncio.sleep(0.05)
        return found

    def log(self, name: str, attempt: int = 0) -> str:
        """What the container wrote."""
        meta = self.pod.pod.metadata
        path = self.logs / f"{meta.namespace}_{meta.name}_{meta.uid}" / name / f"{attempt}.log"
        return "".join(line.split(" ", 3)[3] for line in path.read_text().splitlines(keepends=True))

    async def until_logged(self, name: str, text: str) -> str:
        async with asyncio.timeout(WAIT_S):
            while text not in (found := self.log(name)):
                await asyncio.sleep(0.05)
        return found


async def nothing_extra(pod_uid: str, container: str) -> ContainerExtras:
    return ContainerExtras()


async def no_objects(pod: Pod, names: ObjectNames) -> EnvObjects:
    return EnvObjects()


@asynccontextmanager
async def room(machine: Surroundings, folder: Path, pod: Pod) -> AsyncIterator[Setting]:
    (folder / "pod").mkdir()
    node = NodeFacts(
        node_name="n1",
        node_ips=(machine.node_ip,),
        cluster_dns=("10.96.0.10",),
        cluster_domain="cluster.local",
        root_dir=str(folder),
        pod_logs_dir=str(folder / "logs"),
        cgroup_version=1,
        memory_capacity_bytes=8 << 30,
    )
    parent = f"{machine.cgroup_root}/pod{pod.metadata.uid}"
    context = PodContext(pod=pod, pod_dir=str(folder / "pod"), cgroup_parent=parent)
    async with RuntimeClient(machine.endpoint) as cri:
        host = HostFiles(legacy_logs_dir=str(folder / "containers"))
        ports = Ports(node=lambda: node, prepare_container=nothing_extra, objects=no_objects)
        runtime = Runtime(cri, ImageManager(cri, PullSettings()), ports=ports, host=host)
        yield Setting(cri, runtime, context, folder / "logs")


def make(spec: dict[str, Any]) -> Pod:
    return make_pod(spec, uid=str(uuid.uuid4()))


def shell(script: str, **fields: Any) -> dict[str, Any]:
    return make_container(**{"image": IMAGE, "command": ["/bin/sh", "-c", script], **fields})


def run(machine: Surroundings, folder: Path, spec: dict[str, Any], act: Callable[[Setting], Awaitable[None]]) -> None:
    async def scenario() -> None:
        async with room(machine, folder, make(spec)) as setting:
            await act(setting)

    asyncio.run(scenario())


TRAP = "trap 'echo stopped; exit 0' TERM; echo up; while :; do sleep 0.1; done"


def test_a_container_sees_its_environment_hosts_and_dns(runtime: Surroundings, tmp_path: Path) -> None:
    env = [
        {"name": "A", "value": "1"},
        {"name": "IP", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}},
    ]
    script = "echo A=$A IP=$IP; hostname; cat /etc/hosts /etc/resolv.conf; echo $0 $1; echo end; sleep 600"
    spec = {"containers": [shell(script, env=env, args=["$(A)-$(NONE)", "$$(A)"])]}

    async def act(setting: Setting) -> None:
        sandbox = await setting.sandbox()
        await setting.start("app", sandbox)
        text = await setting.until_logged("app", "end\n")
        assert f"A=1 IP={sandbox.ips[0]}\nweb\n" in text
        assert f"{sandbox.ips[0]}\tweb\n" in text
        assert "nameserver 10.96.0.10\n" in text
        assert "search shop.svc.cluster.local svc.cluster.local cluster.local" in text
        assert "options ndots:5" in text
        assert "1-$(NONE) $(A)\n" in text
        assert [event[2] for event in setting.events] == ["Pulled", "Created", "Started"]
        assert len(list((tmp_path / "containers").iterdir())) == 1

    run(runtime, tmp_path, spec, act)


def test_a_container_ends_in_its_grace_with_its_last_words(runtime: Surroundings, tmp_path: Path) -> None:
    script = "trap 'echo last words > /dev/termination-log; exit 3' TERM; echo up; while :; do sleep 0.1; done"
    hook = {"preStop": {"exec": {"command": ["/bin/sh", "-c", "echo hook > /proc/1/fd/1"]}}}

    async def act(setting: Setting) -> None:
        sandbox = await setting.sandbox()
        container = await setting.start("app", sandbox)
        await setting.until_logged("app", "up\n")
        target = KillTarget.of(await setting.state(container), None)
        await setting.runtime.kill_container(target, KillOrder(), event=setting.event)
        ended = await setting.until(container, "exited")
        assert ended.exit_code == 3
        assert await setting.runtime.termination_message(ended) == "last words\n"
        assert "hook\n" in setting.log("app")
        await setting.runtime.kill_container(target, KillOrder(), event=setting.event)
        await setting.runtime.remove_container(ended)
        await setting.runtime.remove_container(ended)
        assert list((tmp_path / "containers").iterdir()) == []

    run(runtime, tmp_path, {"containers": [shell(script, lifecycle=hook)]}, act)


def test_a_container_that_does_not_listen_is_ended_by_force(runtime: Surroundings, tmp_path: Path) -> None:
    async def act(setting: Setting) -> None:
        container = await setting.start("app", await setting.sandbox())
        target = KillTarget.of(await setting.state(container), setting.pod.pod)
        await setting.runtime.kill_container(target, KillOrder(grace_s=0), event=setting.event)
        assert (await setting.until(container, "exited")).exit_code == 137

    run(runtime, tmp_path, {"containers": [shell("exec sleep 600")]}, act)


def test_what_a_former_life_made_is_found_and_used(runtime: Surroundings, tmp_path: Path) -> None:
    async def act(setting: Setting) -> None:
        first = await setting.sandbox()
        assert await setting.sandbox() == first
        container = await setting.start("app", first)
        assert await setting.start("app", first) == container
        target = KillTarget.of(await setting.state(container), setting.pod.pod)
        await setting.runtime.kill_container(target, KillOrder(grace_s=0), event=setting.event)
        assert await setting.start("app", first) == container
        assert await setting.start("app", first, attempt=1) != container
        await setting.runtime.stop_sandbox(first.id)
        second = await setting.sandbox()
        assert second.id != first.id
        await setting.runtime.remove_sandbox(second.id)
        await setting.runtime.remove_sandbox(second.id)

    run(runtime, tmp_path, {"containers": [shell("sleep 600")]}, act)


def test_a_container_that_was_made_but_not_started_is_made_anew(runtime: Surroundings, tmp_path: Path) -> None:
    async def act(setting: Setting) -> None:
        sandbox = await setting.sandbox()
        meta = setting.pod.pod.metadata
        labels = {"io.kubernetes.pod.uid": meta.uid, "io.kubernetes.container.name": "app"}
        left = await setting.cri.create_container(
            api.CreateContainerRequest(
                pod_sandbox_id=sandbox.id,
                config=api.ContainerConfig(
                    metadata=api.ContainerMetadata(name="app"),
                    image=api.ImageSpec(image=IMAGE),
                    labels=labels,
                    linux=api.LinuxContainerConfig(),
                ),
                sandbox_config=api.PodSandboxConfig(
                    metadata=api.PodSandboxMetadata(name=meta.name, namespace=meta.namespace, uid=meta.uid),
                    linux=api.LinuxPodSandboxConfig(cgroup_parent=setting.pod.cgroup_parent),
                ),
            )
        )
        container = await setting.start("app", sandbox)
        assert container != left.container_id
        assert (await setting.state(container)).state == "running"

    run(runtime, tmp_path, {"containers": [shell("sleep 600")]}, act)


def test_a_pod_ends_its_sidecar_last(runtime: Surroundings, tmp_path: Path) -> None:
    spec = {
        "initContainers": [shell(TRAP, name="proxy", restartPolicy="Always")],
        "containers": [shell("trap 'sleep 1; exit 0' TERM; echo up; while :; do sleep 0.1; done")],
    }

    async def act(setting: Setting) -> None:
        sandbox = await setting.sandbox()
        ids = {name: await setting.start(name, sandbox) for name in ("proxy", "app")}
        for name in ids:
            await setting.until_logged(name, "up\n")
        targets = [KillTarget.of(await setting.state(ids[name]), setting.pod.pod) for name in ids]
        turns = TerminationOrder.of(setting.pod.pod, ids)
        await setting.runtime.kill_containers(targets, KillOrder(), event=setting.event, turns=turns)
        ends = {}
        for name, container in ids.items():
            reply = await setting.cri.container_status(api.ContainerStatusRequest(container_id=container))
            ends[name] = reply.status.finished_at
        assert ends["app"] < ends["proxy"]

    run(runtime, tmp_path, spec, act)


def test_an_ephemeral_container_sees_its_targets_processes(runtime: Surroundings, tmp_path: Path) -> None:
    spec = {
        "containers": [shell("exec sleep 4321")],
        "ephemeralContainers": [shell("ps; echo end; sleep 600", name="debug", targetContainerName="app")],
    }

    async def act(setting: Setting) -> None:
        sandbox = await setting.sandbox()
        setting.pod = replace(setting.pod, container_ids={"app": await setting.start("app", sandbox)})
        await setting.start("debug", sandbox)
        assert "sleep 4321" in await setting.until_logged("debug", "end\n")

    run(runtime, tmp_path, spec, act)


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"command": ["/no/such/program"]}, "RunContainerError"),
        ({"image": "docker.io/library/none:1", "imagePullPolicy": "Never"}, "ErrImageNeverPull"),
        ({"securityContext": {"runAsNonRoot": True}}, "CreateContainerConfigError"),
    ],
)
def test_a_start_that_fails_says_why(
    runtime: Surroundings, tmp_path: Path, fields: dict[str, Any], reason: str
) -> None:
    async def act(setting: Setting) -> None:
        sandbox = await setting.sandbox()
        with pytest.raises(StartError) as caught:
            await setting.start("app", sandbox)
        assert caught.value.reason == reason
        assert setting.events[-1][2] == "Failed"

    run(runtime, tmp_path, {"containers": [shell("true", **fields)]}, act)


def test_security_and_limits_reach_the_process(runtime: Surroundings, tmp_path: Path) -> None:
    script = (
        "id -u; id -g; id -G; grep NoNewPrivs /proc/self/status; touch /x || echo read-only; "
        "cat /proc/1/oom_score_adj; cat /sys/fs/cgroup/memory/memory.limit_in_bytes; echo end; sleep 600"
    )
    own = {"readOnlyRootFilesystem": True, "allowPrivilegeEscalation": False}
    resources = {"requests": {"memory": "32Mi"}, "limits": {"memory": "64Mi"}}
    spec = {
        "securityContext": {"runAsUser": 1234, "runAsGroup": 2345, "fsGroup": 3456, "supplementalGroups": [4567]},
        "containers": [shell(script, securityContext=own, resources=resources)],
    }

    async def act(setting: Setting) -> None:
        await setting.start("app", await setting.sandbox())
        text = await setting.until_logged("app", "end\n")
        lines = text.splitlines()
        assert lines[:2] == ["1234", "2345"]
        assert lines[2].split() == ["2345", "3456", "4567"]
        assert "NoNewPrivs:\t1" in text
        assert "read-only" in text
        assert str(64 << 20) in lines

    run(runtime, tmp_path, spec, act)
