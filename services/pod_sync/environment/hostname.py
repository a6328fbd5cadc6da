"""A pod's host name, and its `/etc/hosts`. Pure (upstream `pkg/kubelet`, GeneratePodHostNameAndDomain, hostsFileContent)."""

import re
from collections.abc import Sequence
from typing import Final

from services.pod_sync.environment.model import ConfigError
from shared.kube.types import HostAlias, Pod

_MAX_HOSTNAME: Final = 63
_MAX_KERNEL_HOSTNAME: Final = 64
_LABEL: Final = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")
_SUBDOMAIN: Final = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
_MAX_SUBDOMAIN: Final = 253

_LOCAL_LINES: Final = (
    "127.0.0.1\tlocalhost\n"
    "::1\tlocalhost ip6-localhost ip6-loopback\n"
    "fe00::0\tip6-localnet\n"
    "fe00::0\tip6-mcastprefix\n"
    "fe00::1\tip6-allnodes\n"
    "fe00::2\tip6-allrouters\n"
)


def hostname_and_domain(pod: Pod, cluster_domain: str) -> tuple[str, str]:
    """The short host name and the domain (empty without a subdomain). Raises ConfigError for names DNS cannot hold."""
    spec = pod.spec
    if spec.hostname_override:
        if len(spec.hostname_override) > _MAX_SUBDOMAIN or not _SUBDOMAIN.fullmatch(spec.hostname_override):
            raise ConfigError(f'pod HostnameOverride "{spec.hostname_override}" is not a valid DNS subdomain')
        return spec.hostname_override, ""
    if spec.hostname:
        _check_label("Hostname", spec.hostname)
    name = spec.hostname or pod.metadata.name
    hostname = name if len(name) <= _MAX_HOSTNAME else name[:_MAX_HOSTNAME].rstrip("-.")
    if not hostname:
        raise ConfigError(f'hostname for pod "{pod.metadata.name}" was invalid: "{name}"')
    if not spec.subdomain:
        return hostname, ""
    _check_label("Subdomain", spec.subdomain)
    return hostname, f"{spec.subdomain}.{pod.metadata.namespace}.svc.{cluster_domain}"


def kernel_hostname(pod: Pod, cluster_domain: str) -> str:
    """What the sandbox's kernel calls itself: the short name, or the full one with `setHostnameAsFQDN`."""
    hostname, domain = hostname_and_domain(pod, cluster_domain)
    if not (pod.spec.set_hostname_as_fqdn and domain):
        return hostname
    fqdn = f"{hostname}.{domain}"
    if len(fqdn) > _MAX_KERNEL_HOSTNAME:
        raise ConfigError(
            f"failed to construct FQDN from pod hostname and cluster domain, FQDN {fqdn} is too long "
            f"({_MAX_KERNEL_HOSTNAME} characters is the max, {len(fqdn)} characters requested)"
        )
    return fqdn


def hosts_file(pod: Pod, ips: Sequence[str], cluster_domain: str) -> str:
    """`/etc/hosts` of a pod with its own network. Raises ConfigError for a wrong host name."""
    hostname, domain = hostname_and_domain(pod, cluster_domain)
    names = f"{hostname}.{domain}\t{hostname}" if domain else hostname
    own = "".join(f"{ip}\t{names}\n" for ip in ips)
    return f"# Kubernetes-managed hosts file.\n{_LOCAL_LINES}{own}{_alias_lines(pod.spec.host_aliases)}"


def host_network_hosts_file(pod: Pod, node_text: str) -> str:
    """`/etc/hosts` of a pod in the host's network: the node's own, and the pod's aliases."""
    return f"# Kubernetes-managed hosts file (host network).\n{node_text}{_alias_lines(pod.spec.host_aliases)}"


def _alias_lines(aliases: Sequence[HostAlias]) -> str:
    if not aliases:
        return ""
    lines = "".join("\t".join((alias.ip, *alias.hostnames)) + "\n" for alias in aliases)
    return f"\n# Entries added by HostAliases.\n{lines}"


def _check_label(field: str, value: str) -> None:
    if len(value) > _MAX_HOSTNAME or not _LABEL.fullmatch(value):
        raise ConfigError(f'pod {field} "{value}" is not a valid DNS label')
