"""`octolet version`."""

import importlib.metadata
from collections.abc import Sequence
from typing import Final

KUBERNETES_VERSION: Final = "v1.37.2"
"""the Kubernetes release whose kubelet's behaviour this is"""


def octolet_version() -> str:
    """The installed version; `source` when it runs from a folder that was never installed."""
    try:
        return importlib.metadata.version("octolet")
    except importlib.metadata.PackageNotFoundError:
        return "source"


def main(argv: Sequence[str]) -> int:
    """Print both versions."""
    print(f"octolet {octolet_version()} (behaves as the kubelet of Kubernetes {KUBERNETES_VERSION})")
    return 0
