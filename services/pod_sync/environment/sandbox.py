"""The configuration of a pod's sandbox. Pure (upstream `kuberuntime`, generatePodSandboxConfig)."""

from collections.abc import Iterable
from dataclasses import dataclass

from services.pod_sync.environment.dns import DnsWarning, parse_resolver, pod_resolver
from services.pod_sync.environment.hostname import kernel_hostname
from services.pod_sync.environment.metadata import pod_labels, pod_log_dir
from services.pod_sync.environment.model import NodeFacts, PodContext
from services.pod_sync.environment.resources import overhead_resources, sandbox_resources
from services.pod_sync.environment.security import sandbox_security
from services.pod_sync.environment.sysctls import sandbox_sysctls
from shared.cri import api
from shared.kube.pods import host_network
from shared.kube.types import Container, ContainerPort, Pod

_PROTOCOLS = {"TCP": api.Protocol.TCP, "UDP": api.Protocol.UDP, "SCTP": api.Protocol.SCTP}


@dataclass(frozen=True)
class SandboxPlan:
    """A sandbox's configuration, and what users must be told about it as events."""

    config: api.PodSandboxConfig
    warnings: tuple[DnsWarning, ...] = ()


def sandbox_config(pod: PodContext, attempt: int, *, node: NodeFacts, resolver_text: str) -> SandboxPlan:
    """The configuration for RunPodSandbox, and again for CreateContainer and PullImage.

    `resolver_text` is the node's resolver file as it is now, empty when the node is set up without one. Raises
    ConfigError.
    """
    meta = pod.pod.metadata
    resolver, warnings = pod_resolver(pod.pod, node, parse_resolver(resolver_text))
    config = api.PodSandboxConfig(
        metadata=api.PodSandboxMetadata(name=meta.name, namespace=meta.namespace, uid=meta.uid, attempt=attempt),
        hostname="" if host_network(pod.pod) else kernel_hostname(pod.pod, node.cluster_domain),
        log_directory=pod_log_dir(node.pod_logs_dir, meta.namespace, meta.name, meta.uid),
        dns_config=api.DNSConfig(servers=resolver.servers, searches=resolver.searches, options=resolver.options),
        port_mappings=port_mappings(pod.pod),
        labels=pod_labels(pod.pod),
        annotations=meta.annotations,
        linux=api.LinuxPodSandboxConfig(
            cgroup_parent=pod.cgroup_parent,
            sysctls=sandbox_sysctls(pod.pod, node),
            security_context=sandbox_security(pod, node),
            overhead=overhead_resources(pod.pod, node),
            resources=sandbox_resources(pod.pod, node, exclusive_cpus=pod.exclusive_cpus),
        ),
    )
    return SandboxPlan(config, tuple(warnings))


def port_mappings(pod: Pod) -> list[api.PortMapping]:
    """Every port of the regular containers, whether it has a host port or not."""
    return [mapping for container in pod.spec.containers for mapping in _container_ports(container)]


def _container_ports(container: Container) -> Iterable[api.PortMapping]:
    """One mapping per port; of two ports with one name, or of the same numbers, the first."""
    seen: set[str] = set()
    for port in container.ports:
        key = port.name or _port_key(port)
        if key in seen:
            continue
        seen.add(key)
        yield api.PortMapping(
            protocol=_PROTOCOLS.get(port.protocol or "TCP", api.Protocol.TCP),
            container_port=port.container_port,
            host_port=port.host_port or 0,
            host_ip=port.host_ip or "",
        )


def _port_key(port: ContainerPort) -> str:
    family = ("v6" if ":" in port.host_ip else "v4") if port.host_ip else "any"
    return f"{family}-{port.protocol}-{port.host_ip or ''}:{port.container_port}:{port.host_port or 0}"
