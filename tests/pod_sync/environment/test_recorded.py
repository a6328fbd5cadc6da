"""Configurations as upstream's kubelet sent them to a runtime, recorded, against ours for the same pods.

They are what lets either of them take a running node over from the other. The recording holds the pods as defaulted by
the kubelet, and each configuration as containerd kept it.
"""

import json
from pathlib import Path
from typing import Any, TypeVar

import msgspec
import pytest
from google.protobuf import json_format, text_format
from google.protobuf.message import Message

from services.pod_sync.environment.container import container_config
from services.pod_sync.environment.metadata import find_container
from services.pod_sync.environment.model import (
    AnyContainer,
    ContainerInputs,
    EnvObjects,
    MemoryQos,
    NodeFacts,
    PodContext,
)
from services.pod_sync.environment.mounts import HOSTS_PATH
from services.pod_sync.environment.sandbox import sandbox_config
from services.pod_sync.environment.variables import environment
from shared.cri import api
from shared.kube.types import Pod
from shared.messages.volume_manager import MountedVolume

RECORDED: dict[str, Any] = json.loads((Path(__file__).parent / "recorded" / "kubelet-1.37.2.json").read_text())
PODS = {pod.metadata.uid: pod for pod in msgspec.convert(RECORDED["pods"], list[Pod])}
IPS = {entry["config"]["metadata"]["uid"]: entry["ip"] for entry in RECORDED["sandboxes"]}
READ_ONLY_PLUGINS = ("kubernetes.io~downward-api",)

NODE = NodeFacts(
    node_name="node1",
    node_ips=("192.168.95.1",),
    root_dir="/srv/node/kubelet",
    pod_logs_dir="/srv/node/logs",
    cluster_domain="cluster.local",
    cluster_dns=("10.96.0.10",),
    cgroup_version=1,
    memory_capacity_bytes=RECORDED["node"]["memory_capacity_bytes"],
    hugepage_sizes_bytes=tuple(RECORDED["node"]["hugepage_sizes_bytes"]),
    memory_qos=MemoryQos(swap_controller=True, single_process_oom_kill=True),
    handlers={},  # a kubelet without an API server does not look them up
)

M = TypeVar("M", bound=Message)


def message(kind: type[M], recorded: dict[str, Any]) -> M:
    """A recorded configuration. The runtime printed bytes as text."""
    made = kind()
    fields = {key: value for key, value in recorded.items() if key != "envs"}
    json_format.ParseDict(fields, made)
    return made


def name_of(recorded: dict[str, Any]) -> str:
    labels = recorded["labels"]
    return "/".join(
        labels[f"io.kubernetes.{part}.name"] for part in ("pod", "container") if f"io.kubernetes.{part}.name" in labels
    )


@pytest.mark.parametrize("recorded", [entry["config"] for entry in RECORDED["sandboxes"]], ids=name_of)
def test_a_sandbox_is_configured_as_upstream_configured_it(recorded: dict[str, Any]) -> None:
    expected = message(api.PodSandboxConfig, recorded)
    pod = PodContext(pod=PODS[expected.metadata.uid], cgroup_parent=expected.linux.cgroup_parent)
    plan = sandbox_config(pod, expected.metadata.attempt, node=NODE, resolver_text=RECORDED["node"]["resolver_text"])
    assert text_format.MessageToString(plan.config) == text_format.MessageToString(expected)


@pytest.mark.parametrize("recorded", RECORDED["containers"], ids=name_of)
def test_a_container_is_configured_as_upstream_configured_it(recorded: dict[str, Any]) -> None:
    expected = message(api.ContainerConfig, recorded)
    uid = expected.labels["io.kubernetes.pod.uid"]
    container = find_container(PODS[uid], expected.metadata.name)
    pod = made_on_that_node(PODS[uid], container, expected)
    variables = environment(pod, container, node=NODE, objects=EnvObjects())
    hosts = {mount.container_path: mount.host_path for mount in expected.mounts}
    inputs = ContainerInputs(
        attempt=expected.metadata.attempt,
        image_ref=expected.image.image,
        environment=variables,
        subpaths={
            index: expected.mounts[index].host_path
            for index, mount in enumerate(container.volume_mounts)
            if (mount.sub_path or mount.sub_path_expr) and expected.mounts[index].host_path
        },
        hosts_path=hosts.get(HOSTS_PATH, ""),
        termination_log_path=hosts.get(container.termination_message_path or "", ""),
    )
    config = container_config(pod, container, inputs, node=NODE)
    del config.envs[:]
    assert text_format.MessageToString(config) == text_format.MessageToString(expected)
    assert variables == {entry["key"]: entry.get("value", "") for entry in recorded.get("envs", [])}


def made_on_that_node(pod: Pod, container: AnyContainer, expected: api.ContainerConfig) -> PodContext:
    """The pod with its volumes where they were."""
    volumes: dict[str, MountedVolume] = {}
    images: dict[str, str] = {}
    sources = {volume.name: volume for volume in pod.spec.volumes}
    for mount, found in zip(container.volume_mounts, expected.mounts, strict=False):
        source = sources[mount.name]
        if source.image is not None:
            volumes[mount.name] = MountedVolume(host_path="", image=source.image.reference or "")
            images[mount.name] = found.image.image
        elif not (mount.sub_path or mount.sub_path_expr):
            read_only = any(plugin in found.host_path for plugin in READ_ONLY_PLUGINS)
            volumes[mount.name] = MountedVolume(host_path=found.host_path, read_only=read_only)
    uid = pod.metadata.uid
    return PodContext(
        pod=pod,
        pod_dir=f"/srv/node/kubelet/pods/{uid}",
        ips=(IPS[uid],) if IPS[uid] else (),
        volumes=volumes,
        image_volumes=images,
    )
