"""A sandbox's DNS configuration. Pure (upstream `pkg/kubelet/network/dns`).

The base follows the pod's `dnsPolicy`: nothing (None), the cluster's servers (ClusterFirst), or the node's resolver
file (Default). `dnsConfig` is added, then the limits of old resolvers cut the result.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from services.pod_sync.environment.model import ConfigError, NodeFacts
from shared.kube.pods import host_network, pod_format
from shared.kube.types import Pod, PodDNSConfig

_MAX_SERVERS: Final = 3
_MAX_SEARCHES: Final = 32
_MAX_SEARCH_LINE: Final = 2048
_MAX_SEARCH: Final = 253
_CLUSTER_OPTIONS: Final = ("ndots:5",)

MISSING_CLUSTER_DNS: Final = "MissingClusterDNS"
DNS_CONFIG_FORMING: Final = "DNSConfigForming"
MISSING_CLUSTER_DNS_TEXT: Final = (
    'kubelet does not have ClusterDNS IP configured and cannot create Pod using "ClusterFirst" policy. '
    'Falling back to "Default" policy.'
)


@dataclass(frozen=True)
class Resolver:
    """Servers, search domains and options of a resolver file or of a pod."""

    servers: tuple[str, ...] = ()
    searches: tuple[str, ...] = ()
    options: tuple[str, ...] = ()


@dataclass(frozen=True)
class DnsWarning:
    """What a user must be told as an event on the pod; `on_node`: the text of the same event on the node."""

    reason: str
    message: str
    on_node: str = ""


def parse_resolver(text: str) -> Resolver:
    """A resolver file's content. Raises ConfigError for a `nameserver` line without an address."""
    servers: list[str] = []
    searches: list[str] = []
    options: list[str] = []
    for line in text.split("\n"):
        fields = line.split()
        if not fields or line.strip().startswith("#"):
            continue
        match fields[0]:
            case "nameserver":
                if len(fields) < 2:
                    raise ConfigError("nameserver list is empty ")
                servers.append(fields[1])
            case "search":
                searches = [name.removesuffix(".") for name in fields[1:] if name != "."]
            case "options":
                options = _merged_options(options, fields[1:])
    return Resolver(tuple(servers), tuple(searches), tuple(options))


def pod_resolver(pod: Pod, node: NodeFacts, host: Resolver) -> tuple[Resolver, list[DnsWarning]]:
    """The pod's servers, searches and options with what had to be left out. `host` is the node's resolver file."""
    base, warnings = _base(pod, node, host)
    if pod.spec.dns_config is not None:
        base = _with_config(base, pod.spec.dns_config)
    searches, search_warnings = _fitting_searches(base.searches)
    servers, server_warnings = _fitting_servers(base.servers)
    return Resolver(servers, searches, base.options), [*warnings, *server_warnings, *search_warnings]


def _base(pod: Pod, node: NodeFacts, host: Resolver) -> tuple[Resolver, list[DnsWarning]]:
    policy = pod.spec.dns_policy or "ClusterFirst"
    if policy == "None":
        return Resolver(), []
    wants_cluster = policy == "ClusterFirstWithHostNet" or (policy == "ClusterFirst" and not host_network(pod))
    if wants_cluster and node.cluster_dns:
        return Resolver(node.cluster_dns, _cluster_searches(pod, node, host), _CLUSTER_OPTIONS), []
    warnings = []
    if wants_cluster:
        text = f'pod: "{pod_format(pod)}". {MISSING_CLUSTER_DNS_TEXT}'
        warnings.append(DnsWarning(MISSING_CLUSTER_DNS, text, on_node=MISSING_CLUSTER_DNS_TEXT))
    if node.has_resolver_file:
        return host, warnings
    servers = ["::1" if ":" in ip else "127.0.0.1" for ip in node.node_ips] or ["127.0.0.1"]
    return Resolver(tuple(dict.fromkeys(servers)), (".",), host.options), warnings


def _cluster_searches(pod: Pod, node: NodeFacts, host: Resolver) -> tuple[str, ...]:
    domain = node.cluster_domain
    if not domain:
        return host.searches
    return _distinct([f"{pod.metadata.namespace}.svc.{domain}", f"svc.{domain}", domain, *host.searches])


def _with_config(base: Resolver, config: PodDNSConfig) -> Resolver:
    options = [f"{option.name}:{option.value}" if option.value else option.name for option in config.options]
    return Resolver(
        _distinct([*base.servers, *config.nameservers]),
        _distinct([*base.searches, *config.searches]),
        tuple(_merged_options(base.options, options)),
    )


def _merged_options(options: Iterable[str], more: Iterable[str]) -> list[str]:
    """Options by name; a later one replaces an earlier one, in the earlier one's place."""
    by_name = {option.partition(":")[0]: option for option in options}
    for option in more:
        by_name[option.partition(":")[0]] = option
    return list(by_name.values())


def _fitting_servers(servers: tuple[str, ...]) -> tuple[tuple[str, ...], list[DnsWarning]]:
    if len(servers) <= _MAX_SERVERS:
        return servers, []
    kept = servers[:_MAX_SERVERS]
    text = (
        "Nameserver limits were exceeded, some nameservers have been omitted, the applied nameserver line is: "
        + " ".join(kept)
    )
    return kept, [DnsWarning(DNS_CONFIG_FORMING, text)]


def _fitting_searches(searches: tuple[str, ...]) -> tuple[tuple[str, ...], list[DnsWarning]]:
    kept = [name for name in searches[:_MAX_SEARCHES] if len(name) <= _MAX_SEARCH]
    while len(" ".join(kept)) > _MAX_SEARCH_LINE:
        kept.pop()
    if len(kept) == len(searches):
        return searches, []
    text = (
        "Search Line limits were exceeded, some search paths have been omitted, the applied search line is: "
        + " ".join(kept)
    )
    return tuple(kept), [DnsWarning(DNS_CONFIG_FORMING, text)]


def _distinct(names: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(names))
