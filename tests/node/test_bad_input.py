"""Pods that cannot be, on a whole node: what people are told, and that nobody else pays for it."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.node.agent import IMAGE, Agent, agent_on
from tests.node.surroundings import Surroundings

pytestmark = pytest.mark.timeout(300)
WAIT_S = 40.0
UNREACHABLE = "127.0.0.1:1/nowhere/app:1"
"""an image of a registry where nobody listens"""


@pytest.fixture(scope="module")
def node(machine: Surroundings) -> Iterator[Agent]:
    with agent_on(machine) as agent:
        yield agent


@pytest.fixture(autouse=True)
def no_pods_left(node: Agent) -> Iterator[None]:
    yield
    for manifest in node.manifests.iterdir():
        manifest.unlink()
    node.wait(lambda: not node.pods(), WAIT_S, "no pods in /pods")


def status(node: Agent, name: str) -> dict[str, Any]:
    return dict(node.pods().get(name, {}).get("status", {}))


def container(node: Agent, name: str) -> dict[str, Any]:
    found = status(node, name).get("containerStatuses") or [{}]
    return dict(found[0])


def waiting(node: Agent, name: str) -> dict[str, str]:
    return dict(container(node, name).get("state", {}).get("waiting", {}))


def events(node: Agent, pod: str) -> list[tuple[str, str]]:
    """Reason and message of the pod's events in all logs, in each log's order."""
    found = []
    for log in sorted((node.run_dir / "log").glob("*.log")):
        for line in log.read_text().splitlines():
            said = json.loads(line)
            if said["event"] == "event.recorded" and said["object"] == f"Pod default/{pod}-node1":
                found.append((said["reason"], said["message"]))
    return found


def told(node: Agent, pod: str, reason: str, text: str = "") -> bool:
    return any(r == reason and text in message for r, message in events(node, pod))


def test_an_image_that_cannot_be_pulled_is_tried_again_after_a_while(node: Agent) -> None:
    node.add("absent", image=UNREACHABLE)
    node.wait(lambda: waiting(node, "absent").get("reason") == "ErrImagePull", WAIT_S, "ErrImagePull")
    node.wait(lambda: waiting(node, "absent").get("reason") == "ImagePullBackOff", WAIT_S, "ImagePullBackOff")
    assert waiting(node, "absent")["message"].startswith(f'Back-off pulling image "{UNREACHABLE}": ErrImagePull: ')
    assert told(node, "absent", "Pulling", f'Pulling image "{UNREACHABLE}"')
    assert told(node, "absent", "Failed", f'Failed to pull image "{UNREACHABLE}": ')
    assert told(node, "absent", "Failed", "Error: ErrImagePull")
    assert told(node, "absent", "Failed", "Error: ImagePullBackOff")
    assert told(node, "absent", "BackOff", f'Back-off pulling image "{UNREACHABLE}"')


def test_an_image_without_a_possible_name_says_so(node: Agent) -> None:
    node.add("misnamed", image="UPPER/bad:::x")
    node.wait(lambda: waiting(node, "misnamed").get("reason") == "InvalidImageName", WAIT_S, "InvalidImageName")
    assert told(node, "misnamed", "InspectFailed")


def test_a_host_path_of_another_kind_is_not_mounted_and_says_so(node: Agent) -> None:
    path = node.directory / "a-file"
    path.write_text("x")
    volume = {"name": "host", "hostPath": {"path": str(path), "type": "Directory"}}
    node.add("volume", volumeMounts=[{"name": "host", "mountPath": "/host"}], spec={"volumes": [volume]})
    text = f'MountVolume.SetUp failed for volume "host" : hostPath type check failed: {path} is not a directory'
    node.wait(lambda: told(node, "volume", "FailedMount", text), WAIT_S, "FailedMount")
    assert waiting(node, "volume") == {"reason": "ContainerCreating"}
    path.unlink()
    path.mkdir()
    node.wait(lambda: node.is_running("volume"), WAIT_S, "Running once the path is a folder")


def test_a_pod_that_does_not_fit_is_rejected_with_upstreams_words(node: Agent) -> None:
    node.add("huge", resources={"requests": {"cpu": "100"}})
    node.wait(lambda: status(node, "huge").get("phase") == "Failed", WAIT_S, "Failed")
    found = status(node, "huge")
    assert found["reason"] == "OutOfcpu"
    text = "Node didn't have enough resource: cpu, requested: 100000, used: 0, capacity: "
    assert found["message"].startswith(f"Pod was rejected: {text}")
    assert "containerStatuses" not in found
    assert told(node, "huge", "OutOfcpu", text)


def test_a_port_of_the_node_is_given_once_and_free_again_afterwards(node: Agent) -> None:
    port = [{"containerPort": 80, "hostPort": 18080}]
    node.add("first", ports=port)
    node.wait(lambda: node.is_running("first"), WAIT_S, "first Running")
    node.add("second", ports=port)
    node.wait(lambda: status(node, "second").get("reason") == "NodePorts", WAIT_S, "second rejected")
    text = "Predicate NodePorts failed: node(s) didn't have free ports for the requested pod ports"
    assert status(node, "second")["message"] == f"Pod was rejected: {text}"
    node.remove("first")
    node.remove("second")
    folders = node.directory / "root" / "pods"
    node.wait(lambda: not list(folders.iterdir()), WAIT_S, "nothing is left of both")  # /pods shows no pod that ends
    node.add("third", ports=port)
    node.wait(lambda: node.is_running("third"), WAIT_S, "third Running")


def test_root_is_refused_where_it_must_not_run(node: Agent) -> None:
    node.add("root", securityContext={"runAsNonRoot": True})
    node.wait(lambda: waiting(node, "root").get("reason") == "CreateContainerConfigError", WAIT_S, "refused")
    assert waiting(node, "root")["message"].startswith("container has runAsNonRoot and image will run as root (pod: ")


def test_a_container_that_takes_too_much_memory_is_oomkilled(node: Agent) -> None:
    node.add("greedy", command="tail /dev/zero", resources={"limits": {"memory": "20Mi"}})
    node.wait(lambda: container(node, "greedy").get("lastState", {}).get("terminated"), WAIT_S, "ended once")
    ended = container(node, "greedy")["lastState"]["terminated"]
    assert (ended["reason"], ended["exitCode"]) == ("OOMKilled", 137)


def test_a_failing_liveness_probe_tells_why_and_what_follows(node: Agent) -> None:
    probe = {"exec": {"command": ["sh", "-c", "echo no life; exit 1"]}, "periodSeconds": 1, "failureThreshold": 1}
    node.add("sick", livenessProbe=probe)
    node.wait(lambda: container(node, "sick").get("restartCount", 0) >= 1, WAIT_S, "restarted")
    assert told(node, "sick", "Unhealthy", "Liveness probe failed: no life")
    assert told(node, "sick", "Killing", "Container c failed liveness probe, will be restarted")
    assert told(node, "sick", "Started", "Container started")


def test_last_words_come_from_the_log_where_that_is_asked_for(node: Agent) -> None:
    node.add(
        "talkative",
        command="echo farewell; exit 9",
        terminationMessagePolicy="FallbackToLogsOnError",
        spec={"restartPolicy": "Never"},
    )
    node.wait(lambda: status(node, "talkative").get("phase") == "Failed", WAIT_S, "Failed")
    ended = container(node, "talkative")["state"]["terminated"]
    assert (ended["exitCode"], ended["reason"], ended["message"]) == (9, "Error", "farewell\n")


def test_the_last_of_many_edits_counts(node: Agent) -> None:
    for number in range(300):
        node.add("edited", env=[{"name": "NUMBER", "value": str(number)}], command="echo $NUMBER; exec sleep 100000")
    path = "/containerLogs/default/edited-node1/c"
    node.wait(lambda: node.get(path) == b"299\n", WAIT_S, "the last edit runs")
    node.wait(lambda: [c.running for c in node.of("edited")].count(True) == 1, WAIT_S, "and only that")


def test_a_manifest_that_is_put_back_at_once_is_a_new_start_or_no_change(node: Agent) -> None:
    node.add("flapping")
    node.wait(lambda: node.is_running("flapping"), WAIT_S, "Running")
    for _ in range(5):
        node.remove("flapping")
        node.add("flapping")
    node.wait(lambda: node.is_running("flapping"), WAIT_S, "Running again")
    node.wait(lambda: [c.running for c in node.of("flapping")].count(True) == 1, WAIT_S, "one container runs")


def test_yaml_that_no_pod_is_made_of_is_named_with_its_fault(node: Agent) -> None:
    bomb = "a: &a [x,x,x,x,x,x,x,x,x]\n" + "".join(
        f"{y}: &{y} [{','.join([f'*{x}'] * 9)}]\n" for x, y in zip("abcdefgh", "bcdefghi", strict=True)
    )
    faults = {
        "nul.yaml": b"\0\0\0",
        "latin.yaml": b"b\xe9",
        "bomb.yaml": bomb.encode(),
        "deep.json": b"[" * 100_000,
        "service.yaml": b"apiVersion: v1\nkind: Service\nmetadata: {name: x}\n",
        "empty.yaml": b"",
        "types.yaml": b"apiVersion: v1\nkind: Pod\nmetadata: {name: t}\nspec: {hostNetwork: 'yes', containers: []}\n",
    }
    for name, content in faults.items():
        (node.manifests / name).write_bytes(content)
    (node.manifests / "dangling.yaml").symlink_to("/no/such/file")
    unknown = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "unknown", "foo": 1}}
    spec = {"bar": 2, "containers": [{"name": "c", "image": IMAGE, "command": ["sleep", "1000"], "baz": 3}]}
    (node.manifests / "unknown.json").write_text(json.dumps({**unknown, "spec": spec}))
    node.wait(lambda: node.is_running("unknown"), WAIT_S, "unknown fields hinder nobody")
    log = (node.run_dir / "log" / "pod_sync.log").read_text()
    for name in faults:
        assert f"{name}: couldn't parse as pod(" in log, name
    assert "metadata.foo, spec.bar, spec.containers[0].baz" in log
    assert set(node.pods()) == {"unknown"}
