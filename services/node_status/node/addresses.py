"""The node's addresses, by the rules of upstream's `nodestatus.NodeAddress` without a cloud provider."""

import ipaddress
import socket
import struct
from pathlib import Path

from shared.errors import Invalid, Transient

IpAddress = ipaddress.IPv4Address | ipaddress.IPv6Address


def parse_node_ips(text: str) -> tuple[IpAddress, ...]:
    """`--node-ip`: none, one, or a dual-stack pair. Raises Invalid with upstream's words."""
    if not text:
        return ()
    try:
        found = tuple(ipaddress.ip_address(_without_leading_zeros(part.strip())) for part in text.split(","))
    except ValueError as error:
        raise Invalid(f"parse --node-ip {text!r}: {error}") from error
    if len(found) > 2 or (len(found) == 2 and found[0].version == found[1].version):
        raise Invalid(f"parse --node-ip {text!r}: must contain either a single IP or a dual-stack pair of IPs")
    if len(found) == 2 and any(ip.is_unspecified for ip in found):
        raise Invalid(f"parse --node-ip {text!r}: dual-stack node IP cannot include '0.0.0.0' or '::'")
    return found


def _without_leading_zeros(text: str) -> str:
    return ".".join(str(int(part)) if part.isdigit() else part for part in text.split(".")) if "." in text else text


def find_addresses(node_name: str, node_ips: tuple[IpAddress, ...]) -> tuple[tuple[str, str], ...]:
    """(type, address) pairs: InternalIP once or twice, then Hostname. Raises Transient when no address is found."""
    chosen = [ip for ip in node_ips if not ip.is_unspecified]
    for ip in chosen:
        _validate(ip)
    if not chosen:
        chosen = [_detect(node_name, prefer=6 if node_ips and node_ips[0].version == 6 else 4)]
    return (*(("InternalIP", str(ip)) for ip in chosen), ("Hostname", node_name))


def _validate(ip: IpAddress) -> None:
    for wrong, text in (
        (ip.is_loopback, "nodeIP can't be loopback address"),
        (ip.is_multicast, "nodeIP can't be a multicast address"),
        (ip.is_link_local, "nodeIP can't be a link-local unicast address"),
        (ip.is_unspecified, "nodeIP can't be an all zeros address"),
    ):
        if wrong:
            raise Transient(f"failed to validate nodeIP: {text}")
    if not _is_local(ip):
        raise Transient(f"failed to validate nodeIP: node IP: {str(ip)!r} not found in the host's network interfaces")


def _is_local(ip: IpAddress) -> bool:
    """Whether an interface has the address: only then can a socket be bound to it."""
    family = socket.AF_INET if ip.version == 4 else socket.AF_INET6
    with socket.socket(family, socket.SOCK_DGRAM) as probe:
        try:
            probe.bind((str(ip), 0))
        except OSError:
            return False
    return True


def _detect(node_name: str, *, prefer: int) -> IpAddress:
    try:
        return ipaddress.ip_address(node_name)
    except ValueError:
        pass
    valid = [ip for ip in _resolve(node_name) if _usable(ip)]
    for ip in sorted(valid, key=lambda i: i.version != prefer):
        return ip
    default = _default_route_address()
    if default is None:
        raise Transient(f"can't get ip address of node {node_name}. error: no default route")
    return default


def _usable(ip: IpAddress) -> bool:
    try:
        _validate(ip)
    except Transient:
        return False
    return True


def _resolve(name: str) -> list[IpAddress]:
    try:
        rows = socket.getaddrinfo(name, None, type=socket.SOCK_DGRAM)
    except OSError:
        return []
    return [ipaddress.ip_address(str(row[4][0]).split("%")[0]) for row in rows]


def _default_route_address(routes: Path = Path("/proc/net/route")) -> IpAddress | None:
    """The address of the interface that has the IPv4 default route."""
    try:
        lines = routes.read_text().splitlines()[1:]
    except OSError:
        return None
    for line in lines:
        parts = line.split()
        if len(parts) > 7 and parts[1] == "00000000" and parts[7] == "00000000":
            address = _interface_address(parts[0])
            if address is not None:
                return address
    return None


def _interface_address(interface: str) -> IpAddress | None:
    import fcntl

    siocgifaddr = 0x8915  # linux/sockios.h
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            answer = fcntl.ioctl(probe, siocgifaddr, struct.pack("256s", interface.encode()[:15]))
        except OSError:
            return None
    return ipaddress.IPv4Address(answer[20:24])
