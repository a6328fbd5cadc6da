"""What this host says of itself: kernel, operating system, architecture, name."""

import os
import socket
from pathlib import Path

_ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64", "armv7l": "arm", "i686": "386", "ppc64le": "ppc64le"}


def node_name(configured: str) -> str:
    """The node's name: the configured one, else the host's, trimmed and in lower case (upstream `nodeutil`)."""
    return (configured or socket.gethostname()).strip().lower()


def kernel_version() -> str:
    return os.uname().release


def architecture() -> str:
    """In Go's words, as Kubernetes labels have it."""
    machine = os.uname().machine
    return _ARCHITECTURES.get(machine, machine)


def os_image(release: Path = Path("/etc/os-release")) -> str:
    """PRETTY_NAME of os-release, `Linux` when there is none."""
    try:
        lines = release.read_text().splitlines()
    except OSError:
        return "Linux"
    for line in lines:
        key, _, value = line.partition("=")
        if key == "PRETTY_NAME":
            return value.strip().strip('"') or "Linux"
    return "Linux"
