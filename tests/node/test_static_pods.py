"""Static pods on a whole node: eight daemons, a real runtime, everything seen from outside."""

import json
import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.node.agent import Agent, agent_on
from tests.node.surroundings import Surroundings

pytestmark = pytest.mark.timeout(300)
WAIT_S = 40.0


@pytest.fixture(scope="module")
def node(machine: Surroundings) -> Iterator[Agent]:
    with agent_on(machine) as agent:
        yield agent


@pytest.fixture(autouse=True)
def no_pods_left(node: Agent) -> Iterator[None]:
    """Each test leaves an empty node, and so shows that pods of its kind can be removed."""
    yield
    for manifest in node.manifests.iterdir():
        if manifest.is_file():
            manifest.unlink()
        else:
            manifest.rmdir()
    node.wait(lambda: not node.pods(), WAIT_S, "no pods in /pods")
    pods = node.directory / "root" / "pods"
    node.wait(lambda: not pods.exists() or not list(pods.iterdir()), WAIT_S, "no pod directories")
    node.wait(lambda: not [c for c in node.containers() if c.running], WAIT_S, "no running containers")


def status(node: Agent, name: str) -> dict:  # type: ignore[type-arg]
    return dict(node.pods().get(name, {}).get("status", {}))


def container(node: Agent, name: str) -> dict:  # type: ignore[type-arg]
    found = status(node, name).get("containerStatuses") or [{}]
    return dict(found[0])


def test_a_manifest_becomes_a_running_pod_and_its_removal_ends_it(node: Agent) -> None:
    node.add("web")
    node.wait(lambda: node.is_running("web"), WAIT_S, "web Running")
    pod = node.pods()["web"]
    assert pod["metadata"]["annotations"]["kubernetes.io/config.source"] == "file"
    assert pod["status"]["podIP"].startswith("10.88.")
    assert pod["status"]["qosClass"] == "BestEffort"
    assert [c["type"] for c in pod["status"]["conditions"]] == [
        "PodReadyToStartContainers",
        "Initialized",
        "Ready",
        "ContainersReady",
        "PodScheduled",
    ]
    assert container(node, "web")["containerID"].startswith("containerd://")
    uid = pod["metadata"]["uid"]
    hierarchies = [Path("/sys/fs/cgroup"), *Path("/sys/fs/cgroup").iterdir()]
    below = f"{node.cgroup_root}/kubepods/besteffort/pod{uid}".lstrip("/")
    groups = [h / below for h in hierarchies if (h / below).is_dir()]
    assert groups, "the pod has a cgroup where upstream would make it"
    node.remove("web")
    node.wait(lambda: not any(p.exists() for p in groups), WAIT_S, "the pod's cgroup is gone")


def test_a_container_that_fails_is_started_again_and_again(node: Agent) -> None:
    node.add("failing", command="exit 7")
    node.wait(lambda: container(node, "failing").get("restartCount", 0) >= 1, WAIT_S, "restarted")
    node.wait(
        lambda: container(node, "failing").get("state", {}).get("waiting", {}).get("reason") == "CrashLoopBackOff",
        WAIT_S,
        "CrashLoopBackOff",
    )
    assert container(node, "failing")["lastState"]["terminated"]["exitCode"] == 7


def test_a_pod_that_ends_well_and_is_never_restarted_succeeds(node: Agent) -> None:
    node.add("once", command="echo done > /dev/termination-log", spec={"restartPolicy": "Never"})
    node.wait(lambda: status(node, "once").get("phase") == "Succeeded", WAIT_S, "Succeeded")
    ended = container(node, "once")["state"]["terminated"]
    assert (ended["exitCode"], ended["reason"], ended["message"]) == (0, "Completed", "done\n")


def test_init_containers_run_in_order_before_the_rest(node: Agent) -> None:
    def writes(name: str) -> dict[str, object]:
        return {
            "name": name,
            "image": "docker.io/library/busybox:1.36",
            "command": ["sh", "-c", f"echo {name} >> /shared/order"],
            "volumeMounts": [{"name": "shared", "mountPath": "/shared"}],
        }

    node.add(
        "ordered",
        command="cat /shared/order; exec sleep 100000",
        volumeMounts=[{"name": "shared", "mountPath": "/shared"}],
        spec={"initContainers": [writes("first"), writes("second")], "volumes": [{"name": "shared", "emptyDir": {}}]},
    )
    node.wait(lambda: node.is_running("ordered"), WAIT_S, "Running")
    assert node.get("/containerLogs/default/ordered-node1/c") == b"first\nsecond\n"


def test_memory_and_disk_volumes_and_host_paths_are_mounted(node: Agent, tmp_path: Path) -> None:
    (tmp_path / "given").write_text("from the host\n")
    node.add(
        "volumes",
        command="mount | grep -c 'tmpfs on /memory'; cat /host/given; touch /disk/x; exec sleep 100000",
        volumeMounts=[
            {"name": "memory", "mountPath": "/memory"},
            {"name": "disk", "mountPath": "/disk"},
            {"name": "host", "mountPath": "/host", "readOnly": True},
        ],
        spec={
            "volumes": [
                {"name": "memory", "emptyDir": {"medium": "Memory", "sizeLimit": "1Mi"}},
                {"name": "disk", "emptyDir": {}},
                {"name": "host", "hostPath": {"path": str(tmp_path), "type": "Directory"}},
            ]
        },
    )
    node.wait(lambda: node.is_running("volumes"), WAIT_S, "Running")
    assert node.get("/containerLogs/default/volumes-node1/c") == b"1\nfrom the host\n"


def test_a_readiness_probe_decides_ready_and_a_liveness_probe_restarts(node: Agent) -> None:
    node.add(
        "probed",
        command="sleep 3; touch /tmp/ready; sleep 100000",
        readinessProbe={"exec": {"command": ["cat", "/tmp/ready"]}, "periodSeconds": 1},
    )
    node.add(
        "dying",
        command="touch /tmp/alive; sleep 3; rm /tmp/alive; sleep 100000",
        livenessProbe={"exec": {"command": ["cat", "/tmp/alive"]}, "periodSeconds": 1, "failureThreshold": 1},
    )
    node.wait(lambda: status(node, "probed").get("phase") == "Running", WAIT_S, "probed Running")
    assert not node.is_running("probed"), "not Ready before its probe says so"
    node.wait(lambda: node.is_running("probed"), WAIT_S, "probed Ready")
    node.wait(lambda: container(node, "dying").get("restartCount", 0) >= 1, WAIT_S, "dying restarted")
    assert container(node, "probed")["restartCount"] == 0


def test_logs_can_be_followed_tailed_and_timestamped(node: Agent) -> None:
    node.add("talking", command="for i in 1 2 3 4 5; do echo line $i; done; exec sleep 100000")
    node.wait(lambda: node.is_running("talking"), WAIT_S, "Running")
    path = "/containerLogs/default/talking-node1/c"
    node.wait(lambda: node.get(path).endswith(b"line 5\n"), WAIT_S, "five lines")
    assert node.get(f"{path}?tailLines=2") == b"line 4\nline 5\n"
    assert node.get(f"{path}?limitBytes=3") == b"lin"
    assert node.get(f"{path}?timestamps=true&tailLines=1").endswith(b"Z line 5\n")
    assert b"not found" in node.get(f"{path}?previous=true")
    assert node.get("/containerLogs/default/nobody/c") == b'pod "nobody" does not exist'


def test_stats_metrics_and_health_are_served(node: Agent) -> None:
    node.add("counted", command="exec sleep 100000", resources={"limits": {"memory": "32Mi", "cpu": "100m"}})
    node.wait(lambda: node.is_running("counted"), WAIT_S, "Running")
    summary = json.loads(node.get("/stats/summary"))
    assert summary["node"]["nodeName"] == "node1"
    assert summary["node"]["memory"]["workingSetBytes"] > 0
    pod = next(p for p in summary["pods"] if p["podRef"]["name"] == "counted-node1")
    assert pod["containers"][0]["memory"]["workingSetBytes"] > 0
    assert b"container_memory_working_set_bytes{" in node.get("/metrics/resource")
    assert node.get("/healthz") == b"ok"
    assert json.loads(node.get("/configz"))["kubeletconfig"]["kind"] == "KubeletConfiguration"
    up = [line for line in node.get("/metrics").decode().splitlines() if line.startswith("octolet_daemon_up{")]
    assert len(up) == 8
    assert all(line.endswith(" 1") for line in up)


def test_bad_manifests_cost_no_other_pod(node: Agent) -> None:
    (node.manifests / "broken.yaml").write_text("kind: Pod\n  metadata: [")
    (node.manifests / "folder").mkdir()
    (node.manifests / "huge.yaml").write_bytes(b"x" * (11 << 20))
    (node.manifests / "list.json").write_text(json.dumps({"apiVersion": "v1", "kind": "PodList", "items": []}))
    node.add("impossible", resources={"limits": {"cpu": "-1"}})
    node.add("unnamed", image="")
    node.add("absent", image="docker.io/library/nowhere:1", imagePullPolicy="Never")
    node.add(
        "command", command="x", spec={"containers": [{"name": "c", "image": IMAGE, "command": ["/no/such/program"]}]}
    )
    node.add("good")
    node.wait(lambda: node.is_running("good"), WAIT_S, "good Running")
    node.wait(
        lambda: container(node, "absent").get("state", {}).get("waiting", {}).get("reason") == "ErrImageNeverPull",
        WAIT_S,
        "ErrImageNeverPull",
    )
    node.wait(
        lambda: (
            container(node, "command").get("state", {}).get("waiting", {}).get("reason")
            in ("RunContainerError", "CrashLoopBackOff")
        ),
        WAIT_S,
        "RunContainerError",
    )
    assert set(node.pods()) == {"absent", "command", "good"}
    log = (node.run_dir / "log" / "pod_sync.log").read_text()
    for name in ("broken.yaml", "huge.yaml", "list.json", "impossible.json", "unnamed.json", "folder"):
        assert name in log, f"the log names {name}"


def test_sigterm_leaves_containers_running_and_the_next_start_keeps_them(node: Agent) -> None:
    node.add("lasting")
    node.wait(lambda: node.is_running("lasting"), WAIT_S, "Running")
    before = node.of("lasting")
    node.stop()
    assert node.of("lasting") == before
    node.start()
    node.wait(lambda: node.is_running("lasting"), WAIT_S, "Running again")
    time.sleep(2)
    assert node.of("lasting") == before


def test_a_killed_daemon_is_back_and_the_others_were_not_touched(node: Agent) -> None:
    before = node.pids()
    os.kill(before["prober"], signal.SIGKILL)
    node.wait(lambda: node.is_ready("prober") and node.pids()["prober"] != before["prober"], WAIT_S, "prober back")
    assert {n: p for n, p in node.pids().items() if n != "prober"} == {n: p for n, p in before.items() if n != "prober"}


IMAGE = "docker.io/library/busybox:1.36"
