"""Values that only the daemon that uses them would parse: said before anything is started, not by a daemon that ends.

Upstream parses these while it starts; the texts name the field, which upstream's do not always.
"""

import ipaddress
from collections.abc import Iterator, Mapping
from typing import Any, Final

from shared.config.flags import flag_of
from shared.kube.quantity import InvalidQuantity, value

_ADDRESSES: Final = ("address", "healthzBindAddress")
_ENDPOINTS: Final = ("containerRuntimeEndpoint", "imageServiceEndpoint")


def check_syntax(values: Mapping[str, Any], gates: Mapping[str, bool]) -> Iterator[str]:
    """What is wrong in the configuration's addresses, endpoints and sizes."""
    for path in _ADDRESSES:
        if not _is_address(values[path]):
            yield f'invalid configuration: {_named(path)} "{values[path]}" is not a valid IP address'
    for path in _ENDPOINTS:
        endpoint = values.get(path) or ""
        if endpoint and not _is_socket(endpoint):
            yield f'invalid configuration: {_named(path)} "{endpoint}": only unix socket endpoints are supported'
    size = values["containerLogMaxSize"]
    try:
        is_size = value(size) > 0
    except InvalidQuantity:
        is_size = False
    if not is_size:
        yield f'invalid configuration: {_named("containerLogMaxSize")} "{size}" is not a quantity greater than 0'


def check_node_ip(text: str) -> Iterator[str]:
    """What is wrong in `--node-ip`: none, one, or one of each family."""
    parts = [part.strip() for part in text.split(",")] if text else []
    if wrong := [part for part in parts if not _is_address(_without_leading_zeros(part))]:
        yield f'bad --node-ip "{text}": "{wrong[0]}" is not a valid IP address'
        return
    families = [ipaddress.ip_address(_without_leading_zeros(part)).version for part in parts]
    if len(families) != len(set(families)):
        yield f'bad --node-ip "{text}": must contain either a single IP or a dual-stack pair of IPs'


def _is_address(text: str) -> bool:
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return True


def _without_leading_zeros(text: str) -> str:
    """As Go's legacy parser reads addresses of IPv4."""
    return ".".join(str(int(part)) if part.isdecimal() else part for part in text.split(".")) if "." in text else text


def _is_socket(endpoint: str) -> bool:
    scheme, separator, rest = endpoint.partition("://")
    return (not separator or scheme == "unix") and (rest if separator else endpoint).startswith("/")


def _named(path: str) -> str:
    flag = flag_of(path)
    return f"{path} ({flag})" if flag else path
