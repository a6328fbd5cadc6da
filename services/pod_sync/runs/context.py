"""A pod with what the node has made for it, as the runtime acts take it."""

from services.pod_sync.environment.model import PodContext
from services.pod_sync.ports import Peers
from shared.kube.pods import host_network
from shared.kube.types import Pod
from shared.messages.pleg import RuntimePod


def pod_context(pod: Pod, seen: RuntimePod | None, peers: Peers, *, ips: tuple[str, ...] = ()) -> PodContext:
    """The context of a pod whose volumes and group are ready. `ips` are the sandbox's."""
    uid = pod.metadata.uid
    volumes, resources = peers.volumes(uid), peers.resources(uid)
    newest_first = seen.containers if seen is not None else []
    return PodContext(
        pod=pod,
        cgroup_parent=resources.cgroup_parent if resources is not None else "",
        pod_dir=volumes.pod_dir if volumes is not None else "",
        ips=peers.node_ips() if host_network(pod) else ips,
        volumes=volumes.volumes if volumes is not None else {},
        container_ids={c.name: c.id for c in reversed(newest_first)},
    )
