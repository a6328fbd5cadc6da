"""Starting containers."""

import asyncio
import stat
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from services.pod_sync.environment.model import EnvObjects
from services.pod_sync.environment.variables import ObjectNames
from services.pod_sync.runtime.model import Sandbox, StartError
from shared.cri import api
from shared.errors import Invalid, Transient
from shared.messages.container_manager import ContainerExtras
from shared.messages.pleg import ContainerState
from shared.messages.volume_manager import MountedVolume
from shared.rpc.errors import RpcTransient
from tests.pod_sync.environment.manifests import UID, make_container
from tests.pod_sync.runtime.fake_runtime import FakeContainer, unknown
from tests.pod_sync.runtime.world import World

CREATED = ("app", "Normal", "Created", "Container created")
STARTED = ("app", "Normal", "Started", "Container started")
PRESENT = "Pulled"


async def start_in(world: World, name: str = "app", attempt: int = 0, **fields: Any) -> str:
    runtime, pod = world.runtime(), world.context(**fields)
    sandbox = await runtime.create_sandbox(pod, 0, event=world.event)
    return await runtime.start_container(pod, name, sandbox=sandbox, attempt=attempt, event=world.event)


def start(world: World, name: str = "app", attempt: int = 0, **fields: Any) -> FakeContainer:
    return world.cri.containers[asyncio.run(start_in(world, name, attempt, **fields))]


def failure(world: World, name: str = "app", **fields: Any) -> tuple[str, str]:
    with pytest.raises(StartError) as caught:
        start(world, name, **fields)
    return caught.value.reason, caught.value.message


def one(**fields: Any) -> dict[str, Any]:
    return {"containers": [make_container(**fields)]}


def test_a_container_is_created_and_started_with_its_files(tmp_path: Path) -> None:
    world = World(tmp_path)
    made = start(world, attempt=2)
    assert made.state == api.ContainerState.CONTAINER_RUNNING
    assert made.config.metadata == api.ContainerMetadata(name="app", attempt=2)
    assert made.config.image.image == "sha256:1"
    hosts, words = made.config.mounts
    assert hosts.host_path == str(world.pod_dir / "etc-hosts")
    assert "10.88.0.7\tweb\n" in Path(hosts.host_path).read_text()
    assert stat.S_IMODE(Path(hosts.host_path).stat().st_mode) == 0o644
    assert Path(words.host_path).parent == world.pod_dir / "containers" / "app"
    assert stat.S_IMODE(Path(words.host_path).parent.stat().st_mode) == 0o750
    assert stat.S_IMODE(Path(words.host_path).stat().st_mode) == 0o666
    assert Path(words.host_path).read_bytes() == b""
    logs = tmp_path / "logs" / f"shop_web_{UID}" / "app"
    assert stat.S_IMODE(logs.stat().st_mode) == 0o755
    assert [event[2] for event in world.events] == ["Pulled", "Created", "Started"]
    assert world.events[1:] == [CREATED, STARTED]


def test_each_instance_has_a_termination_log_of_its_own(tmp_path: Path) -> None:
    world = World(tmp_path)
    first, second = start(world), start(world, attempt=1)
    assert first.config.mounts[1].host_path != second.config.mounts[1].host_path


def test_the_hosts_file_is_written_anew_in_place(tmp_path: Path) -> None:
    world = World(tmp_path)
    start(world)
    before = (world.pod_dir / "etc-hosts").stat().st_ino
    start(world, attempt=1, ips=("10.88.0.9",))
    assert (world.pod_dir / "etc-hosts").stat().st_ino == before
    assert "10.88.0.9\tweb\n" in (world.pod_dir / "etc-hosts").read_text()


def test_a_pod_in_the_hosts_network_sees_the_nodes_hosts(tmp_path: Path) -> None:
    world = World(tmp_path)
    start(world, spec={"hostNetwork": True})
    assert "127.0.0.1 n1\n" in (world.pod_dir / "etc-hosts").read_text()


def test_the_log_is_linked_for_collectors_when_it_exists(tmp_path: Path) -> None:
    world = World(tmp_path)
    log = tmp_path / "logs" / f"shop_web_{UID}" / "app" / "0.log"
    log.parent.mkdir(parents=True)
    log.write_text("x")
    made = start(world)
    link = tmp_path / "containers" / f"web_shop_app-{made.id}.log"
    assert link.readlink() == log
    start(world, attempt=1)
    assert len(list((tmp_path / "containers").iterdir())) == 1


def test_managers_and_objects_are_asked_for_what_the_container_needs(tmp_path: Path) -> None:
    world = World(tmp_path)
    world.extras = ContainerExtras(cpuset_cpus="1", exclusive_cpus=True)
    world.objects = EnvObjects(secrets={"se": {"k": b"\xff"}})
    env = [{"name": "X", "valueFrom": {"secretKeyRef": {"name": "se", "key": "k"}}}]
    made = start(world, spec=one(env=env, resources={"limits": {"cpu": "1"}}))
    assert world.asked == [(UID, "app"), ObjectNames(secrets=frozenset({"se"}))]
    assert list(made.config.envs) == [api.KeyValue(key="X", value=b"\xff")]
    resources = made.config.linux.resources
    assert (resources.cpuset_cpus, resources.cpu_quota) == ("1", -1)


def test_objects_are_not_asked_for_when_none_is_named(tmp_path: Path) -> None:
    world = World(tmp_path)
    start(world)
    assert world.asked == [(UID, "app")]


@pytest.mark.parametrize("who", ["prepare", "objects"])
def test_a_daemon_that_is_away_is_not_the_pods_fault(tmp_path: Path, who: str) -> None:
    world = World(tmp_path)
    world.trouble[who] = Transient("away")
    env = [{"name": "X", "valueFrom": {"secretKeyRef": {"name": "se", "key": "k"}}}]
    with pytest.raises(Transient, match="away"):
        start(world, spec=one(env=env))
    assert [event[2] for event in world.events] == ["Pulled"]
    assert world.cri.containers == {}


def test_a_manager_that_refuses_is_told(tmp_path: Path) -> None:
    world = World(tmp_path)
    world.trouble["prepare"] = Invalid("no cpus left")
    assert failure(world) == ("PreCreateHookError", "no cpus left")
    text = "Internal PreCreateContainer hook failed: no cpus left"
    assert world.events[-1] == ("app", "Warning", "Failed", text)


def test_an_image_that_cannot_be_had_is_told_twice(tmp_path: Path) -> None:
    world = World(tmp_path)
    world.cri.images.clear()
    world.cri.errors["pull_image"] = [RpcTransient("NotFound", "manifest unknown", "manifest unknown")]
    assert failure(world) == ("ErrImagePull", "manifest unknown")
    assert world.events[-2:] == [
        ("app", "Warning", "Failed", 'Failed to pull image "busybox:1.36": manifest unknown'),
        ("app", "Warning", "Failed", "Error: ErrImagePull"),
    ]


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        (
            one(env=[{"name": "X", "valueFrom": {"configMapKeyRef": {"name": "cm", "key": "k"}}}]),
            'configmap "cm" not found',
        ),
        (
            one(volumeMounts=[{"name": "v", "mountPath": "/v"}]),
            'cannot find volume "v" to mount into container "app"',
        ),
        (
            one(securityContext={"runAsNonRoot": True}),
            f'container has runAsNonRoot and image will run as root (pod: "web_shop({UID})", container: app)',
        ),
    ],
)
def test_a_wrong_container_is_a_config_error(tmp_path: Path, spec: dict[str, Any], message: str) -> None:
    world = World(tmp_path)
    assert failure(world, spec=spec) == ("CreateContainerConfigError", message)
    assert world.events[-1] == ("app", "Warning", "Failed", f"Error: {message}")
    assert "create_container" not in world.cri.calls


def test_a_host_file_that_cannot_be_written_is_a_config_error(tmp_path: Path) -> None:
    world = World(tmp_path)
    (world.pod_dir / "etc-hosts").mkdir()
    assert failure(world)[0] == "CreateContainerConfigError"


@pytest.mark.parametrize(
    ("rpc", "reason"), [("create_container", "CreateContainerError"), ("start_container", "RunContainerError")]
)
def test_a_failure_of_the_runtime_is_told_without_its_code(tmp_path: Path, rpc: str, reason: str) -> None:
    world = World(tmp_path)
    world.cri.errors[rpc] = [unknown("no shim")]
    assert failure(world) == (reason, "no shim")
    assert world.events[-1] == ("app", "Warning", "Failed", "Error: no shim")


def test_an_instance_that_the_runtime_is_still_making_is_waited_for(tmp_path: Path) -> None:
    world = World(tmp_path)
    world.cri.errors["create_container"] = [unknown('name "x" is reserved for "y"')]
    with pytest.raises(Transient, match="container app attempt 0 is still being created"):
        start(world)
    assert [event[2] for event in world.events] == ["Pulled"]


def test_a_log_that_cannot_be_linked_stops_nobody(tmp_path: Path) -> None:
    world = World(tmp_path)
    log = tmp_path / "logs" / f"shop_web_{UID}" / "app" / "0.log"
    log.parent.mkdir(parents=True)
    log.touch()
    (tmp_path / "containers").write_text("a file where the folder should be")
    assert start(world).state == api.ContainerState.CONTAINER_RUNNING
    assert world.events[-1] == STARTED


def test_logs_that_cannot_be_removed_are_tried_again(tmp_path: Path) -> None:
    world = World(tmp_path)
    log = tmp_path / "0.log"
    log.mkdir()
    state = ContainerState(id="c", name="app", attempt=0, sandbox_id="s", state="exited", log_path=str(log))
    with pytest.raises(Transient, match="remove logs of container app"):
        asyncio.run(world.runtime().remove_container(state))


def test_a_container_id_in_a_text_becomes_the_containers_name(tmp_path: Path) -> None:
    world = World(tmp_path)
    world.cri.errors["start_container"] = [unknown(f"cannot start {2:064x} now")]  # the second thing made
    assert failure(world) == ("RunContainerError", "cannot start app now")


def hook(**handler: Any) -> dict[str, Any]:
    return one(lifecycle={"postStart": handler})


def test_a_hook_runs_after_the_start(tmp_path: Path) -> None:
    world = World(tmp_path)
    made = start(world, spec=hook(exec={"command": ["$(X)", "y"]}))
    assert world.cri.execs == [api.ExecSyncRequest(container_id=made.id, cmd=["$(X)", "y"])]
    assert world.events[-1] == STARTED


def test_a_failed_hook_kills_the_container_with_its_grace(tmp_path: Path) -> None:
    world = World(tmp_path)
    world.cri.exec_reply = api.ExecSyncResponse(exit_code=3, stdout=b'a "b"', stderr=b"\n")
    reason, message = failure(world, spec=hook(exec={"command": ["sh", "-c"]}))
    assert reason == "PostStartHookError"
    assert message == (
        f'Exec lifecycle hook ([sh -c]) for Container "app" in Pod "web_shop({UID})" failed - '
        'error: command \'sh -c\' exited with 3: \n, message: "a \\"b\\"\\n"'
    )
    assert world.cri.stops == [("app", 30)]
    assert world.events[-2:] == [
        ("app", "Warning", "FailedPostStartHook", "PostStartHook failed"),
        ("app", "Normal", "Killing", "FailedPostStartHook"),
    ]


def test_a_hook_that_is_none_fails(tmp_path: Path) -> None:
    world = World(tmp_path)
    assert failure(world, spec=hook(tcpSocket={"port": 1}))[1].startswith("invalid handler")


def test_an_image_volume_that_could_not_be_had_fails_only_who_mounts_it(tmp_path: Path) -> None:
    world = World(tmp_path)
    spec = {
        "containers": [make_container(volumeMounts=[{"name": "img", "mountPath": "/i"}]), make_container(name="b")],
        "volumes": [{"name": "img", "image": {"reference": "content:v1", "pullPolicy": "Never"}}],
    }
    volumes = {"img": MountedVolume(host_path="", image="content:v1")}

    async def scenario() -> tuple[str, str]:
        runtime, pod = world.runtime(), world.context(spec, volumes=volumes)
        sandbox = await runtime.create_sandbox(pod, 0, event=world.event)
        pod = await runtime.pull_image_volumes(pod, sandbox=sandbox, event=world.event)
        await runtime.start_container(pod, "b", sandbox=sandbox, attempt=0, event=world.event)
        with pytest.raises(StartError) as caught:
            await runtime.start_container(pod, "app", sandbox=sandbox, attempt=0, event=world.event)
        return caught.value.reason, caught.value.message

    text = 'Container image "content:v1" is not present with pull policy of Never'
    assert asyncio.run(scenario()) == ("ErrImageNeverPull", text)
    assert world.events[0] == (None, "Warning", "ErrImageNeverPull", text)
    assert world.events[-1] == ("app", "Warning", "Failed", "Error: ErrImageNeverPull")


def test_an_image_volume_is_handed_to_the_runtime(tmp_path: Path) -> None:
    world = World(tmp_path)
    spec = {
        **one(volumeMounts=[{"name": "img", "mountPath": "/i"}]),
        "volumes": [{"name": "img", "image": {"reference": "content:v1"}}],
    }
    volumes = {"img": MountedVolume(host_path="", image="content:v1")}

    async def scenario() -> str:
        runtime, pod = world.runtime(), world.context(spec, volumes=volumes)
        sandbox = await runtime.create_sandbox(pod, 0, event=world.event)
        pod = await runtime.pull_image_volumes(pod, sandbox=sandbox, event=world.event)
        return await runtime.start_container(pod, "app", sandbox=sandbox, attempt=0, event=world.event)

    made = world.cri.containers[asyncio.run(scenario())]
    assert made.config.mounts[0].image == api.ImageSpec(image="sha256:1", user_specified_image="content:v1")


DEBUG = {"ephemeralContainers": [make_container(name="debug", targetContainerName="app")]}


def test_an_ephemeral_container_joins_its_target_and_asks_no_manager(tmp_path: Path) -> None:
    world = World(tmp_path)
    made = start(world, "debug", spec=DEBUG, container_ids={"app": "c9"})
    assert made.config.linux.security_context.namespace_options.target_id == "c9"
    assert world.asked == []


def test_an_ephemeral_container_without_its_target_is_told(tmp_path: Path) -> None:
    world = World(tmp_path)
    text = "unable to find target container app"
    assert failure(world, "debug", spec=DEBUG) == ("CreateContainerConfigError", text)


def test_the_restart_count_follows_the_newest_instance_else_the_logs(tmp_path: Path) -> None:
    world = World(tmp_path)
    runtime, pod = world.runtime(), world.context().pod
    assert runtime.next_attempt(pod, "app", None) == 0
    folder = tmp_path / "logs" / f"shop_web_{UID}" / "app"
    folder.mkdir(parents=True)
    (folder / "4.log").touch()
    assert runtime.next_attempt(pod, "app", None) == 5
    newest = ContainerState(id="c", name="app", attempt=8, sandbox_id="s", state="exited")
    assert runtime.next_attempt(pod, "app", newest) == 9


def test_limits_of_a_running_container_can_be_changed(tmp_path: Path) -> None:
    world = World(tmp_path)
    resources = api.LinuxContainerResources(cpu_shares=5)
    asyncio.run(world.runtime().update_container_resources("c1", resources))
    assert world.cri.updates == [api.UpdateContainerResourcesRequest(container_id="c1", linux=resources)]


def test_removing_a_container_takes_its_logs_unless_they_are_kept(tmp_path: Path) -> None:
    world = World(tmp_path)
    logs = tmp_path / "logs" / f"shop_web_{UID}" / "app"
    logs.mkdir(parents=True)
    for name in ("0.log", "0.log.20260101-000000.gz", "1.log"):
        (logs / name).touch()
    made = start(world)
    made.state = api.ContainerState.CONTAINER_EXITED
    state = ContainerState(
        id=made.id,
        name="app",
        attempt=0,
        sandbox_id=made.sandbox_id,
        state="exited",
        labels=dict(made.config.labels),
        log_path=str(logs / "0.log"),
    )

    async def remove(*, keep_logs: bool) -> None:
        await world.runtime().remove_container(state, keep_logs=keep_logs)

    asyncio.run(remove(keep_logs=True))
    assert world.cri.containers == {}
    assert len(list(logs.iterdir())) == 3
    asyncio.run(remove(keep_logs=False))
    assert [entry.name for entry in logs.iterdir()] == ["1.log"]
    assert list((tmp_path / "containers").iterdir()) == []


def test_a_sandbox_that_is_gone_is_a_failure_of_the_runtime(tmp_path: Path) -> None:
    world = World(tmp_path)
    runtime = world.runtime()

    async def scenario() -> None:
        await runtime.start_container(world.context(), "app", sandbox=Sandbox("gone", 0), attempt=0, event=world.event)

    with pytest.raises(StartError) as caught:
        asyncio.run(scenario())
    assert caught.value.reason == "CreateContainerError"


def test_a_context_is_not_changed_by_a_start(tmp_path: Path) -> None:
    world = World(tmp_path)
    pod = world.context()
    start(world)
    assert pod == replace(pod)
