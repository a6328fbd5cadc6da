"""Making and ending sandboxes."""

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from services.pod_sync.runtime.model import Sandbox, StartError
from services.pod_sync.runtime.sandboxes import sandbox_ips
from shared.cri import api
from shared.errors import Transient
from shared.rpc.errors import RpcTransient
from tests.pod_sync.environment.manifests import UID
from tests.pod_sync.runtime.fake_runtime import unknown
from tests.pod_sync.runtime.world import World


def create(world: World, attempt: int = 0, **fields: Any) -> Sandbox:
    return asyncio.run(world.runtime().create_sandbox(world.context(**fields), attempt, event=world.event))


def failure(world: World, attempt: int = 0, **fields: Any) -> tuple[str, str]:
    with pytest.raises(StartError) as caught:
        create(world, attempt, **fields)
    return caught.value.reason, caught.value.message


def test_a_sandbox_is_run_with_its_log_folder_and_handler(tmp_path: Path) -> None:
    world = World(tmp_path)
    sandbox = create(world, 3, runtime_handler="kata")
    (made,) = world.cri.sandboxes.values()
    assert sandbox == Sandbox(made.id, 3, ("10.88.0.7",))
    assert (made.handler, made.config.metadata.attempt) == ("kata", 3)
    folder = tmp_path / "logs" / f"shop_web_{UID}"
    assert made.config.log_directory == str(folder)
    assert folder.stat().st_mode & 0o777 == 0o755
    assert world.events == []


@pytest.mark.parametrize(
    ("ips", "expected"),
    [(("10.0.0.1", "fd00::1"), ("10.0.0.1", "fd00::1")), ((), ()), (("10.0.0.1", "nonsense"), ())],
)
def test_addresses_are_taken_when_all_of_them_are_addresses(ips: tuple[str, ...], expected: tuple[str, ...]) -> None:
    first, *others = ips or ("",)
    network = api.PodSandboxNetworkStatus(ip=first, additional_ips=[api.PodIP(ip=ip) for ip in others])
    assert sandbox_ips(api.PodSandboxStatus(network=network)) == expected
    assert sandbox_ips(api.PodSandboxStatus()) == ()


def test_a_failure_of_the_runtime_is_told_with_its_code(tmp_path: Path) -> None:
    world = World(tmp_path)
    world.cri.errors["run_pod_sandbox"] = [unknown("no space")]
    text = "rpc error: code = Unknown desc = no space"
    assert failure(world) == ("CreatePodSandboxError", text)
    assert world.events == [(None, "Warning", "FailedCreatePodSandBox", f"Failed to create pod sandbox: {text}")]


def test_a_status_that_cannot_be_read_is_told(tmp_path: Path) -> None:
    world = World(tmp_path)
    world.cri.errors["pod_sandbox_status"] = [RpcTransient("Unavailable", "away")]
    failure(world)
    text = "Unable to get pod sandbox status: rpc error: code = Unavailable desc = away"
    assert world.events == [(None, "Warning", "FailedPodSandBoxStatus", text)]


def test_a_wrong_pod_or_resolver_file_is_told_and_asks_nothing_of_the_runtime(tmp_path: Path) -> None:
    world = World(tmp_path)
    assert failure(world, spec={"hostname": "A_B"})[0] == "ConfigPodSandboxError"
    (tmp_path / "resolv.conf").unlink()
    text = f"open {tmp_path}/resolv.conf: no such file or directory"
    assert failure(world) == ("ConfigPodSandboxError", text)
    assert world.events[-1] == (None, "Warning", "FailedCreatePodSandBox", f"Failed to create pod sandbox: {text}")
    assert world.cri.calls == []


def test_what_had_to_be_left_out_of_dns_is_told(tmp_path: Path) -> None:
    world = World(tmp_path)
    runtime = world.runtime(node=lambda: replace(world.node, cluster_dns=()))
    asyncio.run(runtime.create_sandbox(world.context(), 0, event=world.event))
    assert [event[2] for event in world.events] == ["MissingClusterDNS"]


def test_a_ready_sandbox_of_that_attempt_from_a_former_life_is_used(tmp_path: Path) -> None:
    world = World(tmp_path)
    former = create(world)
    assert create(world) == former
    assert len(world.cri.sandboxes) == 1


def test_one_that_is_no_longer_ready_is_replaced(tmp_path: Path) -> None:
    world = World(tmp_path)
    former = create(world)
    asyncio.run(world.runtime().stop_sandbox(former.id))
    assert create(world).id != former.id
    assert len(world.cri.sandboxes) == 1
    assert world.events == []


def test_one_that_the_runtime_is_still_making_is_waited_for(tmp_path: Path) -> None:
    world = World(tmp_path)
    world.cri.errors["run_pod_sandbox"] = [unknown('name "x" is reserved for "y"')]
    with pytest.raises(Transient, match="sandbox shop/web attempt 0 is still being created"):
        create(world)
    assert world.events == []


def test_stopping_and_removing_what_is_gone_is_success(tmp_path: Path) -> None:
    world = World(tmp_path)
    runtime = world.runtime()
    asyncio.run(runtime.stop_sandbox("none"))
    asyncio.run(runtime.remove_sandbox("none"))
    sandbox = create(world)
    asyncio.run(runtime.remove_sandbox(sandbox.id))
    assert world.cri.sandboxes == {}


def test_a_runtime_that_cannot_stop_a_sandbox_says_so(tmp_path: Path) -> None:
    world = World(tmp_path)
    sandbox = create(world)
    world.cri.errors["stop_pod_sandbox"] = [unknown("busy")]
    with pytest.raises(RpcTransient, match="busy"):
        asyncio.run(world.runtime().stop_sandbox(sandbox.id))
