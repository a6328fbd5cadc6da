"""Addresses of the pod and of its node (upstream `kubelet_pods`, `sortPodIPs` and `generateAPIPodStatus`)."""

import ipaddress
from collections.abc import Sequence

from msgspec.structs import replace

from services.pod_sync.status.model import StatusContext
from shared.kube.pods import host_network
from shared.kube.types import HostIP, PodIP, PodStatus


def with_addresses(ctx: StatusContext, status: PodStatus) -> PodStatus:
    """The status with podIP, podIPs, hostIP and hostIPs. The first has the family of the node's (IPv4 when unknown)."""
    node = _one_per_family(ctx.node_ips)
    primary = _family(node[0]) if node else 4
    ips = _runtime_ips(ctx, primary)
    if host_network(ctx.pod) and node:
        ips = ips or node[:1]
        ips += [ip for ip in node if _family(ip) not in {_family(known) for known in ips}]
    return replace(
        status,
        pod_ip=ips[0] if ips else None,
        pod_ips=[PodIP(ip=ip) for ip in ips],
        host_ip=node[0] if node else None,
        host_ips=[HostIP(ip=ip) for ip in node],
    )


def _runtime_ips(ctx: StatusContext, primary: int | None) -> list[str]:
    """Of the newest sandbox if it is ready. Without a ready sandbox the pod keeps the addresses it had."""
    sandboxes = ctx.seen.sandboxes if ctx.seen is not None else []
    if sandboxes and sandboxes[0].ready:
        ips = sandboxes[0].ips
        if any(_family(ip) is None for ip in ips):
            return []
        if ips:
            return sorted(_one_per_family(ips), key=lambda ip: _family(ip) != primary)
    if any(s.ready for s in sandboxes) and not host_network(ctx.pod):
        return []
    return [entry.ip for entry in ctx.last.pod_ips]


def _one_per_family(ips: Sequence[str]) -> list[str]:
    """The first of each family, in the order given."""
    first: dict[int, str] = {}
    for ip in ips:
        family = _family(ip)
        if family is not None:
            first.setdefault(family, ip)
    return list(first.values())


def _family(ip: str) -> int | None:
    try:
        return ipaddress.ip_address(ip).version
    except ValueError:
        return None
