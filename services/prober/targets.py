"""What exactly a probe asks, and where: a probe of the API turned into something an adapter can carry out. Pure."""

import ipaddress
from dataclasses import dataclass
from typing import Final
from urllib.parse import quote, urlsplit

from shared.errors import Invalid, Transient
from shared.kube.expansion import expand
from shared.kube.types import Container, HTTPHeader, Probe

USER_AGENT: Final = "kube-probe/1.37"
_PATH_SAFE: Final = "/%:@!$&'()*+,;=~-._"
_QUERY_SAFE: Final = _PATH_SAFE + '?[]"<>^`{}|\\'


@dataclass(frozen=True)
class ExecTarget:
    """A command in the container, to end with 0."""

    command: tuple[str, ...]


@dataclass(frozen=True)
class HttpTarget:
    """A GET to answer with 200 to 399. `path` is as it goes into the request line, query included."""

    scheme: str
    host: str
    port: int
    path: str
    headers: tuple[tuple[str, str], ...] = ()
    host_header: str = ""

    @property
    def url(self) -> str:
        """As messages show it (Go's `url.URL.String`)."""
        return f"{self.scheme}://{join_host_port(self.host, self.port)}{self.path}"


@dataclass(frozen=True)
class TcpTarget:
    """A port to be open."""

    host: str
    port: int


@dataclass(frozen=True)
class GrpcTarget:
    """A gRPC health service to answer SERVING."""

    host: str
    port: int
    service: str = ""


Target = ExecTarget | HttpTarget | TcpTarget | GrpcTarget


def join_host_port(host: str, port: int) -> str:
    """Go's `net.JoinHostPort`."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def target_of(probe: Probe, container: Container, pod_ip: str) -> Target:
    """What to ask. Raises Invalid when the probe cannot be carried out as it stands, Transient while the pod has no address."""
    if probe.exec is not None:
        return ExecTarget(expand_command(probe.exec.command, container))
    if probe.http_get is not None:
        get = probe.http_get
        port = resolve_port(get.port, container)
        headers, host_header = _headers(get.http_headers)
        return HttpTarget(
            scheme=(get.scheme or "http").lower(),
            host=_host(get.host, pod_ip),
            port=port,
            path=request_path(get.path or "/"),
            headers=headers,
            host_header=host_header,
        )
    if probe.tcp_socket is not None:
        port = resolve_port(probe.tcp_socket.port, container)
        return TcpTarget(_host(probe.tcp_socket.host, pod_ip), port)
    if probe.grpc is not None:
        return GrpcTarget(_host(None, pod_ip), resolve_port(probe.grpc.port or 0, container), probe.grpc.service or "")
    raise Invalid(f"missing probe handler for container {container.name}")


def _host(host: str | None, pod_ip: str) -> str:
    if host:
        return host
    if not pod_ip:
        raise Transient("the pod has no address yet")
    return pod_ip


def resolve_port(port: int | str, container: Container) -> int:
    """A port number, or the number of the container's port of that name (upstream `probe.ResolveContainerPort`)."""
    if isinstance(port, int):
        number = port
    else:
        named = next((p.container_port for p in container.ports if p.name == port), None)
        if named is None:
            if not port.isdecimal():
                raise Invalid(f'port "{port}" not found')
            named = int(port)
        number = named
    if not 0 < number < 65536:
        raise Invalid(f"invalid port number: {number}")
    return number


def request_path(text: str) -> str:
    """The path, and query, of the request line, escaped where it must be (upstream `http.formatURL`)."""
    try:
        parts = urlsplit(text)
    except ValueError:
        return quote("/" + text.lstrip("/"), safe=_PATH_SAFE)
    path = quote(parts.path, safe=_PATH_SAFE)
    if not path.startswith("/"):
        path = f"/{path}"
    return f"{path}?{quote(parts.query, safe=_QUERY_SAFE)}" if parts.query else path


def _headers(given: list[HTTPHeader]) -> tuple[tuple[tuple[str, str], ...], str]:
    """The headers to send, and what Host is to say if it is among them (upstream `http.buildHeader`)."""
    sent = [(h.name or "", h.value or "") for h in given]
    names = {name.lower() for name, _ in sent}
    host_header = next((value for name, value in sent if name.lower() == "host"), "")
    kept = [(name, value) for name, value in sent if name.lower() != "host"]
    if "user-agent" not in names:
        kept.append(("User-Agent", USER_AGENT))
    if "accept" not in names:
        kept.append(("Accept", "*/*"))
    elif all(value == "" for name, value in kept if name.lower() == "accept"):
        kept = [(name, value) for name, value in kept if name.lower() != "accept"]
    return tuple(kept), host_header


def expand_command(command: list[str], container: Container) -> tuple[str, ...]:
    """`$(NAME)` in a command from the literal values of the spec; a value from elsewhere is empty here.

    Upstream `kuberuntime`: ExpandContainerCommandOnlyStatic.
    """
    values = {variable.name or "": variable.value or "" for variable in container.env}
    return tuple(expand(word, values.get) for word in command)


def is_address(host: str) -> bool:
    """Whether a host is an IP address and not a name."""
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True
