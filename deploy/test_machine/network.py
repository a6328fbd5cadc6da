"""A network namespace that looks like a node: loopback, one network card with an address, a default route."""

import subprocess
from pathlib import Path

from deploy.runtime.containerd import inside

NODE_IP = "192.168.99.1"
CARD = "node0"
"""A bridge, since the kernels that tests run on may have no dummy device."""


def make_network(name: str, node_ip: str = NODE_IP) -> None:
    """Make the namespace `name` unless it is there. Raises CalledProcessError."""
    if namespace_path(name).exists():
        return
    _run("ip", "netns", "add", name)
    for command in (
        ("ip", "link", "set", "lo", "up"),
        ("ip", "link", "add", CARD, "type", "bridge"),
        ("ip", "address", "add", f"{node_ip}/24", "dev", CARD),
        ("ip", "link", "set", CARD, "up"),
        ("ip", "route", "add", "default", "dev", CARD),
        ("sysctl", "-qw", "net.ipv4.ip_forward=1"),
    ):
        _run(*inside(name), *command)


def remove_network(name: str) -> None:
    """Remove the namespace; its devices go with it once no process lives there."""
    if namespace_path(name).exists():
        _run("ip", "netns", "delete", name)


def namespace_path(name: str) -> Path:
    return Path("/run/netns") / name


def _run(*command: str) -> None:
    subprocess.run(command, check=True, capture_output=True, text=True)
