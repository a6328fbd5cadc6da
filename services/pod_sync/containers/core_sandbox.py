"""Does the pod need a new sandbox? Source: upstream `kuberuntime.podSandboxChanged`."""

from typing import Final

from services.pod_sync.containers.model import SandboxDecision
from shared.kube.pods import host_network
from shared.kube.types import Pod
from shared.messages.pleg import RuntimePod

NETWORK_MODE_POD: Final = 0
NETWORK_MODE_NODE: Final = 2
"""CRI NamespaceMode"""


def sandbox_decision(pod: Pod, seen: RuntimePod | None) -> SandboxDecision:
    """First match wins; `seen.sandboxes` is newest first."""
    sandboxes = seen.sandboxes if seen is not None else []
    if not sandboxes:
        return SandboxDecision(True, 0, "", "no pod sandbox exists")
    newest = sandboxes[0]
    following = newest.attempt + 1
    if sum(sandbox.ready for sandbox in sandboxes) > 1:
        message = "multiple pod sandboxes are ready and need to be reconciled"
        return SandboxDecision(True, following, newest.id, message)
    if not newest.ready:
        return SandboxDecision(True, following, newest.id, "pod sandbox is not ready")
    wanted = NETWORK_MODE_NODE if host_network(pod) else NETWORK_MODE_POD
    if newest.network_mode != wanted:
        message = "network namespace mode changed and sandbox needs to be recreated"
        return SandboxDecision(True, following, "", message)
    if not host_network(pod) and not newest.ips:
        return SandboxDecision(True, following, newest.id, "pod sandbox has no IP address")
    return SandboxDecision(False, newest.attempt, newest.id)
