"""Mounts and devices of containers."""

from dataclasses import replace
from typing import Any

import pytest

from services.pod_sync.environment.model import ConfigError, ContainerInputs, IdRange
from services.pod_sync.environment.mounts import container_devices, container_mounts, subpath_of
from shared.cri import api
from shared.kube.types import VolumeMount
from shared.messages.container_manager import ContainerExtras, Device
from shared.messages.pleg import RuntimeHandler
from shared.messages.volume_manager import MountedVolume
from tests.pod_sync.environment.manifests import NODE, context, make_container, make_pod

VOLUMES = {
    "data": MountedVolume(host_path="/vols/data", selinux_relabel=True),
    "ro": MountedVolume(host_path="/vols/ro", read_only=True),
    "img": MountedVolume(host_path="", image="repo/content:v1"),
}
FILES = {"hosts_path": "/pod/etc-hosts", "termination_log_path": "/pod/containers/app/01234567"}
HOSTS = api.Mount(container_path="/etc/hosts", host_path="/pod/etc-hosts")
LAST_WORDS = api.Mount(container_path="/dev/termination-log", host_path="/pod/containers/app/01234567")
RRO = replace(NODE, handlers={"": RuntimeHandler(name="", recursive_read_only_mounts=True)})


def mounts(
    *volume_mounts: dict[str, Any], node: Any = NODE, inputs: dict[str, Any] | None = None, **fields: Any
) -> Any:
    container = make_container(volumeMounts=list(volume_mounts), **fields.pop("container", {}))
    pod = make_pod({"containers": [container], **fields.pop("spec", {})})
    made = context(pod, volumes=VOLUMES, image_volumes={"img": "sha256:9"}, **fields)
    given = ContainerInputs(attempt=0, image_ref="x", **(FILES if inputs is None else inputs))
    return container_mounts(made, pod.spec.containers[0], given, node=node)


def test_volumes_come_first_then_hosts_then_the_termination_log() -> None:
    assert mounts({"name": "data", "mountPath": "/data"}, {"name": "ro", "mountPath": "relative"}) == [
        api.Mount(container_path="/data", host_path="/vols/data"),
        api.Mount(container_path="/relative", host_path="/vols/ro", readonly=True),
        HOSTS,
        LAST_WORDS,
    ]


def test_files_are_relabelled_only_on_a_host_with_selinux() -> None:
    labelled = mounts(
        {"name": "data", "mountPath": "/d"}, {"name": "ro", "mountPath": "/r"}, node=replace(NODE, selinux=True)
    )
    assert [mount.selinux_relabel for mount in labelled] == [True, False, True, True]
    assert not any(mount.selinux_relabel for mount in mounts({"name": "data", "mountPath": "/d"}))


def test_a_container_that_brings_its_own_hosts_file_gets_no_other() -> None:
    paths = [mount.container_path for mount in mounts({"name": "data", "mountPath": "/etc/hosts"})]
    assert paths == ["/etc/hosts", "/dev/termination-log"]


def test_without_an_address_there_is_no_hosts_file_but_in_the_hosts_network() -> None:
    assert mounts(ips=()) == [LAST_WORDS]
    assert mounts(ips=(), spec={"hostNetwork": True}) == [HOSTS, LAST_WORDS]


def test_without_a_path_there_is_no_termination_log() -> None:
    assert mounts(container={"terminationMessagePath": ""}) == [HOSTS]


def test_every_mount_of_a_pod_with_its_own_users_is_mapped() -> None:
    ids = [api.IDMapping(host_id=131072, container_id=0, length=65536)]
    made = mounts({"name": "data", "mountPath": "/d"}, spec={"hostUsers": False}, user_namespace=IdRange(131072, 65536))
    assert [(list(m.uidMappings), list(m.gidMappings)) for m in made] == [(ids, ids)] * 3


def test_a_prepared_sub_path_takes_the_volumes_place() -> None:
    inputs = {"subpaths": {1: "/pod/volume-subpaths/data/app/1"}}
    made = mounts(
        {"name": "data", "mountPath": "/a"}, {"name": "data", "mountPath": "/b", "subPath": "x"}, inputs=inputs
    )
    assert [mount.host_path for mount in made] == ["/vols/data", "/pod/volume-subpaths/data/app/1"]


def test_an_image_volume_is_mounted_by_the_runtime_and_read_only() -> None:
    (mount, *_) = mounts({"name": "img", "mountPath": "/content", "subPath": "docs"})
    assert mount == api.Mount(
        container_path="/content",
        readonly=True,
        image=api.ImageSpec(image="sha256:9", user_specified_image="repo/content:v1"),
        image_sub_path="docs",
    )


@pytest.mark.parametrize(
    ("value", "propagation"),
    [
        (None, api.MountPropagation.PROPAGATION_PRIVATE),
        ("None", api.MountPropagation.PROPAGATION_PRIVATE),
        ("HostToContainer", api.MountPropagation.PROPAGATION_HOST_TO_CONTAINER),
        ("Bidirectional", api.MountPropagation.PROPAGATION_BIDIRECTIONAL),
    ],
)
def test_propagation_follows_the_mount(value: str | None, propagation: int) -> None:
    (mount, *_) = mounts({"name": "data", "mountPath": "/d", "mountPropagation": value})
    assert mount.propagation == propagation


@pytest.mark.parametrize(
    ("mode", "node", "result"),
    [
        (None, RRO, False),
        ("Disabled", RRO, False),
        ("IfPossible", RRO, True),
        ("IfPossible", NODE, False),
        ("Enabled", RRO, True),
    ],
)
def test_recursive_read_only_follows_mode_and_runtime(mode: str | None, node: Any, result: bool) -> None:
    entry = {"name": "data", "mountPath": "/d", "readOnly": True, "recursiveReadOnly": mode}
    assert mounts(entry, node=node)[0].recursive_read_only is result


ASKED = 'failed to resolve recursive read-only mode: volume "data" requested recursive read-only mode'
ENABLED = {"name": "data", "mountPath": "/d", "readOnly": True, "recursiveReadOnly": "Enabled"}


@pytest.mark.parametrize(
    ("entry", "text"),
    [
        ({"name": "gone", "mountPath": "/d"}, 'cannot find volume "gone" to mount into container "app"'),
        ({"name": "data", "mountPath": "/d", "mountPropagation": "Odd"}, 'invalid MountPropagation mode: "Odd"'),
        ({**ENABLED, "readOnly": False}, f"{ASKED}, but it is not read-only"),
        (
            {**ENABLED, "mountPropagation": "HostToContainer"},
            f'{ASKED}, but it is not compatible with propagation "HostToContainer"',
        ),
        (ENABLED, f"{ASKED}, but it is not supported by the runtime"),
        (
            {**ENABLED, "recursiveReadOnly": "Odd"},
            'failed to resolve recursive read-only mode: unknown recursive read-only mode "Odd"',
        ),
    ],
)
def test_a_mount_that_cannot_be_made_is_told_in_upstreams_words(entry: dict[str, Any], text: str) -> None:
    with pytest.raises(ConfigError) as caught:
        mounts(entry)
    assert str(caught.value) == text


@pytest.mark.parametrize(
    ("mount", "result"),
    [
        ({}, ""),
        ({"subPath": "a/b"}, "a/b"),
        ({"subPath": "a..b/..c"}, "a..b/..c"),
        ({"subPathExpr": "logs/$(POD)"}, "logs/web"),
    ],
)
def test_a_sub_path_is_expanded(mount: dict[str, str], result: str) -> None:
    made = VolumeMount(sub_path=mount.get("subPath"), sub_path_expr=mount.get("subPathExpr"))
    assert subpath_of(made, {"POD": "web", "EMPTY": ""}) == result


@pytest.mark.parametrize(
    ("mount", "text"),
    [
        (VolumeMount(sub_path="/a"), "error SubPath `/a` must not be an absolute path"),
        (VolumeMount(sub_path="a/../b"), "unable to provision SubPath `a/../b`: must not contain '..'"),
        (VolumeMount(sub_path=".."), "unable to provision SubPath `..`: must not contain '..'"),
        (VolumeMount(sub_path_expr="$(EVIL)"), "unable to provision SubPath `../x`: must not contain '..'"),
        (VolumeMount(sub_path_expr="$(B)$(EMPTY)$(A)"), "missing value for A, B, EMPTY"),
    ],
)
def test_a_sub_path_that_leads_elsewhere_is_refused(mount: VolumeMount, text: str) -> None:
    with pytest.raises(ConfigError) as caught:
        subpath_of(mount, {"EVIL": "../x", "EMPTY": ""})
    assert str(caught.value) == text


def test_devices_come_from_managers_and_from_block_volumes() -> None:
    pod = make_pod({"containers": [make_container(volumeDevices=[{"name": "disk", "devicePath": "/dev/xvda"}])]})
    extras = ContainerExtras(devices=[Device(container_path="/dev/gpu", host_path="/dev/nvidia0", permissions="rw")])
    made = context(pod, block_devices={"disk": api.Device(host_path="/maps/disk", permissions="r")})
    inputs = ContainerInputs(attempt=0, image_ref="x", extras=extras)
    assert container_devices(made, pod.spec.containers[0], inputs) == [
        api.Device(container_path="/dev/gpu", host_path="/dev/nvidia0", permissions="rw"),
        api.Device(container_path="/dev/xvda", host_path="/maps/disk", permissions="r"),
    ]
    with pytest.raises(ConfigError, match='cannot find volume "disk" to pass into container "app"'):
        container_devices(context(pod), pod.spec.containers[0], inputs)


def test_a_device_path_is_absolute() -> None:
    pod = make_pod({"containers": [make_container(volumeDevices=[{"name": "disk", "devicePath": "xvda"}])]})
    with pytest.raises(ConfigError, match="error DevicePath `xvda` must be an absolute path"):
        container_devices(context(pod), pod.spec.containers[0], ContainerInputs(attempt=0, image_ref="x"))
