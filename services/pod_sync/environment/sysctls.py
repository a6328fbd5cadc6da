"""Kernel parameters of a sandbox. Pure (upstream `pkg/kubelet/sysctl`)."""

from services.pod_sync.environment.model import NodeFacts
from shared.kube.pods import host_network
from shared.kube.types import Pod

_IPC_NAMES = frozenset(
    {
        "kernel.msgmax",
        "kernel.msgmnb",
        "kernel.msgmni",
        "kernel.sem",
        "kernel.shmall",
        "kernel.shmmax",
        "kernel.shmmni",
        "kernel.shm_rmid_forced",
    }
)


def dotted(name: str) -> str:
    """A sysctl's name with dots: `net/ipv4/conf/eth0.1/mtu` is `net.ipv4.conf.eth0/1.mtu`.

    Dots and slashes change places only when the first of either is a slash.
    """
    first = next((char for char in name if char in "./"), "")
    return name.translate(str.maketrans("./", "/.")) if first == "/" else name


def sandbox_sysctls(pod: Pod, node: NodeFacts) -> dict[str, str]:
    """The pod's own sysctls over the node's defaults that its namespaces allow."""
    result = {name: value for name, value in node.default_sysctls.items() if _is_own(name, pod)}
    context = pod.spec.security_context
    if context is not None:
        result.update({dotted(sysctl.name): sysctl.value for sysctl in context.sysctls})
    return result


def _is_own(name: str, pod: Pod) -> bool:
    """Whether that parameter belongs to a namespace that is the pod's own."""
    if name in _IPC_NAMES or name.startswith("fs.mqueue."):
        return not pod.spec.host_ipc
    if name.startswith("net.") or name == "kernel.domainname":
        return not host_network(pod)
    return name.startswith("user.") and pod.spec.host_users is False
