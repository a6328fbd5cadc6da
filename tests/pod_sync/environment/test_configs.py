"""Whole configurations, as the runtime receives them."""

from typing import Any

import pytest

from services.pod_sync.environment.container import container_config, stop_signal
from services.pod_sync.environment.model import ConfigError, ContainerInputs, EnvObjects, NodeFacts, PodContext
from services.pod_sync.environment.sandbox import port_mappings, sandbox_config
from services.pod_sync.environment.security import container_security
from services.pod_sync.environment.variables import environment
from shared.cri import api
from shared.messages.container_manager import ContainerExtras
from shared.messages.volume_manager import MountedVolume
from tests.pod_sync.environment.manifests import NODE, UID, context, make_container, make_pod

PRIVATE_USERS = api.UserNamespace(mode=api.NamespaceMode.NODE)
UNIFIED = {"memory.oom.group": "1", "memory.min": "0", "memory.low": "0"}
NO_HUGE_PAGES = [api.HugepageLimit(page_size="2MB"), api.HugepageLimit(page_size="1GB")]


def test_the_sandbox_of_a_plain_pod() -> None:
    pod = make_pod(labels={"app": "web"}, annotations={"note": "x"})
    made = context(pod, cgroup_parent=f"/kubepods/besteffort/pod{UID}")
    plan = sandbox_config(made, 2, node=NODE, resolver_text="nameserver 192.0.2.53\nsearch corp.example\n")
    assert plan.warnings == ()
    assert plan.config == api.PodSandboxConfig(
        metadata=api.PodSandboxMetadata(name="web", namespace="shop", uid=UID, attempt=2),
        hostname="web",
        log_directory=f"/var/log/pods/shop_web_{UID}",
        dns_config=api.DNSConfig(
            servers=["10.96.0.10"],
            searches=["shop.svc.cluster.local", "svc.cluster.local", "cluster.local", "corp.example"],
            options=["ndots:5"],
        ),
        labels={
            "app": "web",
            "io.kubernetes.pod.name": "web",
            "io.kubernetes.pod.namespace": "shop",
            "io.kubernetes.pod.uid": UID,
        },
        annotations={"note": "x"},
        linux=api.LinuxPodSandboxConfig(
            cgroup_parent=f"/kubepods/besteffort/pod{UID}",
            security_context=api.LinuxSandboxSecurityContext(
                namespace_options=api.NamespaceOption(pid=api.NamespaceMode.CONTAINER, userns_options=PRIVATE_USERS),
                seccomp=api.SecurityProfile(profile_type=api.SecurityProfile.RuntimeDefault),
            ),
            overhead=api.LinuxContainerResources(),
            resources=api.LinuxContainerResources(cpu_period=100000, cpu_shares=2, unified={"memory.oom.group": "1"}),
        ),
    )


def test_the_sandbox_of_a_pod_in_the_hosts_network_has_no_name_of_its_own() -> None:
    pod = make_pod(
        {
            "hostNetwork": True,
            "hostPID": True,
            "hostIPC": True,
            "overhead": {"cpu": "250m"},
            "securityContext": {"runAsUser": 7, "sysctls": [{"name": "kernel/sem", "value": "1"}]},
            "containers": [
                make_container(
                    ports=[{"containerPort": 80, "hostPort": 80, "protocol": "TCP"}],
                    securityContext={"privileged": True},
                )
            ],
        }
    )
    config = sandbox_config(context(pod), 0, node=NODE, resolver_text="nameserver 192.0.2.53\n").config
    assert config.hostname == ""
    assert config.dns_config == api.DNSConfig(servers=["192.0.2.53"])
    assert list(config.port_mappings) == [api.PortMapping(container_port=80, host_port=80)]
    assert dict(config.linux.sysctls) == {"kernel.sem": "1"}
    assert config.linux.overhead == api.LinuxContainerResources(
        cpu_period=100000, cpu_shares=256, cpu_quota=25000, unified={"memory.oom.group": "1"}
    )
    assert config.linux.security_context == api.LinuxSandboxSecurityContext(
        privileged=True,
        run_as_user=api.Int64Value(value=7),
        namespace_options=api.NamespaceOption(
            network=api.NamespaceMode.NODE,
            pid=api.NamespaceMode.NODE,
            ipc=api.NamespaceMode.NODE,
            userns_options=PRIVATE_USERS,
        ),
        seccomp=api.SecurityProfile(profile_type=api.SecurityProfile.RuntimeDefault),
    )


def test_ports_are_those_of_regular_containers_each_once() -> None:
    ports = [
        {"name": "http", "containerPort": 80, "protocol": "TCP"},
        {"name": "http", "containerPort": 81, "protocol": "TCP"},
        {"containerPort": 53, "protocol": "UDP", "hostIP": "127.0.0.1"},
        {"containerPort": 53, "protocol": "UDP", "hostIP": "127.0.0.1"},
        {"containerPort": 53, "protocol": "UDP", "hostIP": "::1"},
        {"containerPort": 9, "protocol": "SCTP", "hostPort": 99},
        {"containerPort": 10, "protocol": "ODD"},
    ]
    pod = make_pod(
        {
            "containers": [
                make_container(ports=ports),
                make_container(name="b", ports=[{"name": "http", "containerPort": 80}]),
            ],
            "initContainers": [make_container(name="i", ports=[{"containerPort": 1}])],
        }
    )
    found = [(m.protocol, m.container_port, m.host_port, m.host_ip) for m in port_mappings(pod)]
    tcp, udp, sctp = api.Protocol.TCP, api.Protocol.UDP, api.Protocol.SCTP
    assert found == [
        (tcp, 80, 0, ""),
        (udp, 53, 0, "127.0.0.1"),
        (udp, 53, 0, "::1"),
        (sctp, 9, 99, ""),
        (tcp, 10, 0, ""),
        (tcp, 80, 0, ""),
    ]


FULL = make_container(
    command=["sh", "-c", "echo $(GREETING) $$(HOME)"],
    args=["$(POD)", "$(NONE)"],
    workingDir="/work",
    stdin=True,
    stdinOnce=True,
    tty=True,
    env=[
        {"name": "GREETING", "value": "hi"},
        {"name": "POD", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}},
    ],
    resources={"requests": {"cpu": "250m", "memory": "64Mi"}, "limits": {"cpu": "1", "memory": "128Mi"}},
    volumeMounts=[{"name": "data", "mountPath": "/data"}],
    lifecycle={"stopSignal": "SIGUSR1"},
)
EXTRAS = ContainerExtras(
    cpuset_cpus="2-3",
    cpuset_mems="0",
    env={"GREETING": "from a device", "DEVICE": "0"},
    annotations={"vendor.com/a": "b"},
    cdi_devices=["vendor.com/class=dev"],
    unified={"memory.min": "5"},
)


def full_config(node: NodeFacts = NODE) -> tuple[PodContext, api.ContainerConfig]:
    pod = make_pod({"containers": [FULL]}, labels={"app": "web"})
    made = context(pod, volumes={"data": MountedVolume(host_path="/vols/data")})
    container = pod.spec.containers[0]
    inputs = ContainerInputs(
        attempt=4,
        image_ref="sha256:77",
        image_uid=65534,
        environment=environment(made, container, node=node, objects=EnvObjects()),
        extras=EXTRAS,
        hosts_path="/pod/etc-hosts",
        termination_log_path="/pod/containers/app/01234567",
    )
    return made, container_config(made, container, inputs, node=node)


def test_the_container_of_a_full_pod() -> None:
    made, config = full_config()
    inputs = ContainerInputs(attempt=4, image_ref="sha256:77", image_uid=65534)
    assert config == api.ContainerConfig(
        metadata=api.ContainerMetadata(name="app", attempt=4),
        image=api.ImageSpec(image="sha256:77", user_specified_image="busybox:1.36"),
        command=["sh", "-c", "echo hi $(HOME)"],
        args=["web", "$(NONE)"],
        working_dir="/work",
        envs=[
            api.KeyValue(key="GREETING", value=b"from a device"),
            api.KeyValue(key="DEVICE", value=b"0"),
            api.KeyValue(key="GREETING", value=b"hi"),
            api.KeyValue(key="POD", value=b"web"),
        ],
        mounts=[
            api.Mount(container_path="/data", host_path="/vols/data"),
            api.Mount(container_path="/etc/hosts", host_path="/pod/etc-hosts"),
            api.Mount(container_path="/dev/termination-log", host_path="/pod/containers/app/01234567"),
        ],
        CDI_devices=[api.CDIDevice(name="vendor.com/class=dev")],
        labels={
            "io.kubernetes.pod.name": "web",
            "io.kubernetes.pod.namespace": "shop",
            "io.kubernetes.pod.uid": UID,
            "io.kubernetes.container.name": "app",
        },
        annotations={
            "vendor.com/a": "b",
            "io.kubernetes.container.hash": "395745",
            "io.kubernetes.container.restartCount": "4",
            "io.kubernetes.container.terminationMessagePath": "/dev/termination-log",
            "io.kubernetes.container.terminationMessagePolicy": "File",
            "io.kubernetes.pod.terminationGracePeriod": "30",
        },
        log_path="app/4.log",
        stdin=True,
        stdin_once=True,
        tty=True,
        linux=api.LinuxContainerConfig(
            resources=api.LinuxContainerResources(
                cpu_period=100000,
                cpu_quota=100000,
                cpu_shares=256,
                memory_limit_in_bytes=128 << 20,
                oom_score_adj=993,
                cpuset_cpus="2-3",
                cpuset_mems="0",
                hugepage_limits=NO_HUGE_PAGES,
                unified={**UNIFIED, "memory.min": "5"},
            ),
            security_context=container_security(made, made.pod.spec.containers[0], inputs, node=NODE),
        ),
    )


def test_the_same_inputs_give_the_same_bytes() -> None:
    texts = {full_config()[1].SerializeToString(deterministic=True) for _ in range(3)}
    assert len(texts) == 1


def test_a_stop_signal_is_sent_only_when_the_node_is_set_up_for_it() -> None:
    assert full_config()[1].stop_signal == api.Signal.SIGNAL_RUNTIME_DEFAULT
    node = NodeFacts(container_stop_signals=True)
    assert full_config(node)[1].stop_signal == api.Signal.SIGNAL_SIGUSR1


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("SIGTERM", "SIGNAL_SIGTERM"),
        ("SIGRTMIN", "SIGNAL_SIGRTMIN"),
        ("SIGRTMIN+1", "SIGNAL_SIGRTMINPLUS1"),
        ("SIGRTMAX-14", "SIGNAL_SIGRTMAXMINUS14"),
    ],
)
def test_signals_have_their_runtime_names(name: str, value: str) -> None:
    assert stop_signal(name) == value


def test_an_unknown_signal_is_refused() -> None:
    with pytest.raises(ConfigError, match='unknown stop signal "SIGODD"'):
        stop_signal("SIGODD")


@pytest.mark.parametrize("resolver", ["nameserver\n"])
def test_a_broken_resolver_file_stops_the_sandbox_whatever_the_policy(resolver: str) -> None:
    pod = make_pod({"dnsPolicy": "None"})
    with pytest.raises(ConfigError, match="nameserver list is empty"):
        sandbox_config(context(pod), 0, node=NODE, resolver_text=resolver)


def ephemeral(**fields: Any) -> api.ContainerConfig:
    pod = make_pod({"ephemeralContainers": [make_container(name="debug", targetContainerName="app", **fields)]})
    inputs = ContainerInputs(attempt=0, image_ref="x", target_id="c1")
    return container_config(context(pod), pod.spec.ephemeral_containers[0], inputs, node=NODE)


def test_an_ephemeral_container_sees_the_processes_of_its_target() -> None:
    options = ephemeral(stdin=True).linux.security_context.namespace_options
    assert (options.pid, options.target_id) == (api.NamespaceMode.TARGET, "c1")
