"""Users, groups, profiles and namespaces."""

from dataclasses import replace
from typing import Any

import pytest

from services.pod_sync.environment.model import ConfigError, ContainerInputs, IdRange
from services.pod_sync.environment.namespaces import namespace_options
from services.pod_sync.environment.security import container_security, sandbox_security
from services.pod_sync.environment.sysctls import dotted, sandbox_sysctls
from shared.cri import api
from shared.messages.pleg import RuntimeHandler
from tests.pod_sync.environment.manifests import NODE, UID, context, make_container, make_pod

Mode = api.NamespaceMode
Profile = api.SecurityProfile
USERNS = replace(
    NODE, handlers={"": RuntimeHandler(name="", user_namespaces=True), "kata": RuntimeHandler(name="kata")}
)
IDS = api.IDMapping(host_id=131072, container_id=0, length=65536)


def security(
    own: dict[str, Any] | None = None, of_pod: dict[str, Any] | None = None, **inputs: Any
) -> api.LinuxContainerSecurityContext:
    pod = make_pod({"containers": [make_container(securityContext=own)], "securityContext": of_pod or {}})
    made = ContainerInputs(attempt=0, image_ref="sha256:1", **inputs)
    return container_security(context(pod), pod.spec.containers[0], made, node=NODE)


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ({}, (Mode.POD, Mode.POD, Mode.CONTAINER)),
        ({"hostNetwork": True}, (Mode.NODE, Mode.POD, Mode.CONTAINER)),
        ({"hostIPC": True}, (Mode.POD, Mode.NODE, Mode.CONTAINER)),
        ({"hostPID": True}, (Mode.POD, Mode.POD, Mode.NODE)),
        ({"shareProcessNamespace": True}, (Mode.POD, Mode.POD, Mode.POD)),
        ({"shareProcessNamespace": False}, (Mode.POD, Mode.POD, Mode.CONTAINER)),
    ],
)
def test_the_spec_says_which_namespaces_are_the_hosts(spec: dict[str, Any], expected: tuple[int, int, int]) -> None:
    options = namespace_options(context(make_pod(spec)), NODE)
    assert (options.network, options.ipc, options.pid) == expected
    assert options.userns_options == api.UserNamespace(mode=Mode.NODE)


@pytest.mark.parametrize(
    ("spec", "pid", "target"),
    [({}, Mode.TARGET, "c1"), ({"shareProcessNamespace": True}, Mode.POD, ""), ({"hostPID": True}, Mode.NODE, "")],
)
def test_a_target_counts_only_where_containers_have_processes_of_their_own(
    spec: dict[str, Any], pid: int, target: str
) -> None:
    options = namespace_options(context(make_pod(spec)), NODE, target_id="c1")
    assert (options.pid, options.target_id) == (pid, target)


def test_a_pod_with_its_own_users_maps_one_range() -> None:
    made = context(make_pod({"hostUsers": False}), user_namespace=IdRange(131072, 65536))
    assert namespace_options(made, USERNS).userns_options == api.UserNamespace(mode=Mode.POD, uids=[IDS], gids=[IDS])


@pytest.mark.parametrize(
    ("handler", "text"),
    [
        ("", "can't set `spec.hostUsers: false`, runtime does not support user namespaces"),
        ("kata", 'can\'t set `spec.hostUsers: false`, RuntimeClass handler "kata" does not support user namespaces'),
    ],
)
def test_a_runtime_that_cannot_map_users_is_told(handler: str, text: str) -> None:
    node = replace(USERNS, handlers={"kata": RuntimeHandler(name="kata")})
    made = context(make_pod({"hostUsers": False}), runtime_handler=handler, user_namespace=IdRange(131072, 65536))
    with pytest.raises(ConfigError) as caught:
        namespace_options(made, node)
    assert str(caught.value) == text


def test_a_plain_sandbox_runs_with_the_runtimes_own_filter() -> None:
    assert sandbox_security(context(), NODE) == api.LinuxSandboxSecurityContext(
        seccomp=Profile(profile_type=Profile.RuntimeDefault),
        namespace_options=namespace_options(context(), NODE),
    )


POD_SECURITY = {
    "runAsUser": 1000,
    "runAsGroup": 0,
    "fsGroup": 2000,
    "supplementalGroups": [3000, 3001],
    "supplementalGroupsPolicy": "Strict",
    "seLinuxOptions": {"level": "s0:c1", "type": "t"},
    "seccompProfile": {"type": "Unconfined"},
}


def test_groups_of_sandbox_and_container_differ_in_order() -> None:
    pod = make_pod({"securityContext": POD_SECURITY})
    made = context(pod, volume_groups=(4000,))
    sandbox = sandbox_security(made, NODE)
    inputs = ContainerInputs(attempt=0, image_ref="x")
    container = container_security(made, pod.spec.containers[0], inputs, node=NODE)
    assert list(sandbox.supplemental_groups) == [2000, 4000, 3000, 3001]
    assert list(container.supplemental_groups) == [2000, 3000, 3001, 4000]
    for context_ in (sandbox, container):
        assert context_.supplemental_groups_policy == api.SupplementalGroupsPolicy.Strict
        assert (context_.run_as_user.value, context_.HasField("run_as_group")) == (1000, True)
        assert context_.selinux_options == api.SELinuxOption(level="s0:c1", type="t")
    assert sandbox.seccomp.profile_type == Profile.RuntimeDefault
    assert container.seccomp.profile_type == Profile.Unconfined


def test_a_sandbox_is_privileged_when_any_container_is() -> None:
    for kind in ("containers", "initContainers", "ephemeralContainers"):
        pod = make_pod({kind: [make_container(securityContext={"privileged": True})]})
        assert sandbox_security(context(pod), NODE).privileged


def test_an_unknown_policy_for_groups_is_refused() -> None:
    with pytest.raises(ConfigError, match="unsupported supplementalGroupsPolicy: Loose"):
        sandbox_security(context(make_pod({"securityContext": {"supplementalGroupsPolicy": "Loose"}})), NODE)


@pytest.mark.parametrize(
    ("own", "of_pod", "image", "user", "name"),
    [
        ({"runAsUser": 5}, {"runAsUser": 6}, (7, ""), 5, ""),
        ({}, {"runAsUser": 6}, (7, ""), 6, ""),
        ({}, {}, (7, ""), 7, ""),
        ({}, {}, (None, "nobody"), None, "nobody"),
        ({}, {}, (0, ""), 0, ""),
        ({"runAsUser": 0}, {}, (None, "nobody"), 0, ""),
    ],
)
def test_the_user_is_the_containers_the_pods_or_the_images(
    own: dict[str, Any], of_pod: dict[str, Any], image: tuple[int | None, str], user: int | None, name: str
) -> None:
    result = security(own, of_pod, image_uid=image[0], image_username=image[1])
    assert (result.run_as_user.value if result.HasField("run_as_user") else None) == user
    assert result.run_as_username == name
    assert not result.HasField("run_as_group")


WHERE = f'(pod: "web_shop({UID})", container: app)'


@pytest.mark.parametrize(
    ("own", "image", "text"),
    [
        ({"runAsUser": 0}, (5, ""), f"container's runAsUser breaks non-root policy {WHERE}"),
        (
            {},
            (None, "nobody"),
            "container has runAsNonRoot and image has non-numeric user (nobody), "
            f"cannot verify user is non-root {WHERE}",
        ),
        ({}, (0, ""), f"container has runAsNonRoot and image will run as root {WHERE}"),
        ({}, (2**31, ""), "container has runAsNonRoot and image has an invalid user id (2147483648)."),
    ],
)
def test_a_container_that_may_not_be_root_is_refused_when_it_would_be(
    own: dict[str, Any], image: tuple[int | None, str], text: str
) -> None:
    with pytest.raises(ConfigError) as caught:
        security(own, {"runAsNonRoot": True}, image_uid=image[0], image_username=image[1])
    assert str(caught.value).startswith(text)


@pytest.mark.parametrize(
    ("own", "of_pod", "uid"),
    [
        ({"runAsUser": 1}, {"runAsNonRoot": True}, 0),
        ({"runAsNonRoot": False}, {"runAsNonRoot": True}, 0),
        ({}, {"runAsNonRoot": True, "runAsUser": 3}, 0),
        ({}, {"runAsNonRoot": True}, 5),
        ({}, {}, 0),
    ],
)
def test_a_container_that_is_not_root_or_may_be_passes(own: dict[str, Any], of_pod: dict[str, Any], uid: int) -> None:
    assert security(own, of_pod, image_uid=uid).HasField("run_as_user")


def test_capabilities_are_copied_as_written_and_absent_when_not_asked_for() -> None:
    assert not security({}).HasField("capabilities")
    assert security({"capabilities": {}}).HasField("capabilities")
    asked = security({"capabilities": {"add": ["NET_ADMIN", "CAP_CHOWN"], "drop": ["ALL"]}}).capabilities
    assert (list(asked.add_capabilities), list(asked.drop_capabilities)) == (["NET_ADMIN", "CAP_CHOWN"], ["ALL"])


@pytest.mark.parametrize(("value", "result"), [(None, False), (True, False), (False, True)])
def test_only_an_explicit_no_forbids_new_privileges(value: bool | None, result: bool) -> None:
    assert security({"allowPrivilegeEscalation": value}).no_new_privs is result


def test_kernel_paths_are_hidden_unless_unmasked_even_for_the_privileged() -> None:
    default = security({"privileged": True})
    assert default.privileged
    assert "/proc/kcore" in default.masked_paths
    assert "/proc/sys" in default.readonly_paths
    unmasked = security({"procMount": "Unmasked"})
    assert not unmasked.masked_paths
    assert not unmasked.readonly_paths


@pytest.mark.parametrize(
    ("own", "of_pod", "default", "kind", "ref"),
    [
        ({}, {}, False, Profile.Unconfined, ""),
        ({}, {}, True, Profile.RuntimeDefault, ""),
        ({"type": "RuntimeDefault"}, {"type": "Unconfined"}, False, Profile.RuntimeDefault, ""),
        ({}, {"type": "RuntimeDefault"}, False, Profile.RuntimeDefault, ""),
        (
            {"type": "Localhost", "localhostProfile": "a/b.json"},
            {},
            False,
            Profile.Localhost,
            "/var/lib/kubelet/seccomp/a/b.json",
        ),
    ],
)
def test_the_system_call_filter_is_the_containers_the_pods_or_the_nodes(
    own: dict[str, str], of_pod: dict[str, str], default: bool, kind: int, ref: str
) -> None:
    container = make_container(securityContext={"seccompProfile": own or None})
    pod = make_pod({"containers": [container], "securityContext": {"seccompProfile": of_pod or None}})
    inputs = ContainerInputs(attempt=0, image_ref="x")
    node = replace(NODE, seccomp_default=default)
    result = container_security(context(pod), pod.spec.containers[0], inputs, node=node).seccomp
    assert (result.profile_type, result.localhost_ref) == (kind, ref)


def test_a_local_filter_needs_a_name() -> None:
    with pytest.raises(ConfigError, match=r"localhostProfile must be set if seccompProfile type is Localhost\."):
        security({"seccompProfile": {"type": "Localhost"}})


ANNOTATION = "container.apparmor.security.beta.kubernetes.io/app"


@pytest.mark.parametrize(
    ("own", "annotation", "of_pod", "expected"),
    [
        (None, None, None, None),
        (
            {"type": "RuntimeDefault"},
            "unconfined",
            {"type": "Unconfined"},
            (Profile.RuntimeDefault, "", "runtime/default"),
        ),
        (None, "localhost/mine", {"type": "Unconfined"}, (Profile.Localhost, "mine", "localhost/mine")),
        (None, None, {"type": "Unconfined"}, (Profile.Unconfined, "", "unconfined")),
        (
            {"type": "Localhost", "localhostProfile": "p"},
            None,
            None,
            (Profile.Localhost, "p", "localhost/p"),
        ),
    ],
)
def test_the_apparmor_profile_is_sent_in_both_forms(
    own: dict[str, str] | None,
    annotation: str | None,
    of_pod: dict[str, str] | None,
    expected: tuple[int, str, str] | None,
) -> None:
    container = make_container(securityContext={"appArmorProfile": own})
    annotations = {ANNOTATION: annotation} if annotation else {}
    pod = make_pod({"containers": [container], "securityContext": {"appArmorProfile": of_pod}}, annotations=annotations)
    inputs = ContainerInputs(attempt=0, image_ref="x")
    result = container_security(context(pod), pod.spec.containers[0], inputs, node=NODE)
    found = (result.apparmor.profile_type, result.apparmor.localhost_ref, result.apparmor_profile)
    assert (found if result.HasField("apparmor") else None) == expected


@pytest.mark.parametrize(
    ("name", "result"),
    [
        ("net.ipv4.ip_forward", "net.ipv4.ip_forward"),
        ("net/ipv4/ip_forward", "net.ipv4.ip_forward"),
        ("net/ipv4/conf/eth0.1/mtu", "net.ipv4.conf.eth0/1.mtu"),
        ("net.ipv4.conf.eth0/1.mtu", "net.ipv4.conf.eth0/1.mtu"),
        ("plain", "plain"),
    ],
)
def test_sysctls_are_named_with_dots(name: str, result: str) -> None:
    assert dotted(name) == result


DEFAULTS = {
    "net.x": "1",
    "kernel.shmmax": "2",
    "user.max": "3",
    "kernel.domainname": "4",
    "vm.x": "5",
    "fs.mqueue.x": "6",
}


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ({}, {"net.x": "1", "kernel.shmmax": "2", "kernel.domainname": "4", "fs.mqueue.x": "6"}),
        ({"hostNetwork": True}, {"kernel.shmmax": "2", "fs.mqueue.x": "6"}),
        ({"hostIPC": True}, {"net.x": "1", "kernel.domainname": "4"}),
        ({"hostNetwork": True, "hostIPC": True, "hostUsers": False}, {"user.max": "3"}),
        (
            {
                "hostNetwork": True,
                "hostIPC": True,
                "securityContext": {"sysctls": [{"name": "net/x", "value": "9"}]},
            },
            {"net.x": "9"},
        ),
    ],
)
def test_default_sysctls_are_set_only_in_the_pods_own_namespaces(
    spec: dict[str, Any], expected: dict[str, str]
) -> None:
    assert sandbox_sysctls(make_pod(spec), replace(NODE, default_sysctls=DEFAULTS)) == expected
