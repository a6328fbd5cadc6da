"""Which of the host's namespaces a pod shares. Pure (upstream `kuberuntime/util`, NamespacesForPod; `pkg/kubelet/userns`)."""

from services.pod_sync.environment.model import ConfigError, NodeFacts, PodContext
from shared.cri import api
from shared.kube.pods import host_network


def namespace_options(pod: PodContext, node: NodeFacts, *, target_id: str = "") -> api.NamespaceOption:
    """Namespaces of the sandbox and its containers.

    `target_id` is the container that an ephemeral container shares processes with; it counts only where containers
    have process namespaces of their own. Raises ConfigError when the runtime cannot do user namespaces.
    """
    spec = pod.pod.spec
    options = api.NamespaceOption(
        network=api.NamespaceMode.NODE if host_network(pod.pod) else api.NamespaceMode.POD,
        ipc=api.NamespaceMode.NODE if spec.host_ipc else api.NamespaceMode.POD,
        pid=api.NamespaceMode.CONTAINER,
        userns_options=_user_namespace(pod, node),
    )
    if spec.host_pid:
        options.pid = api.NamespaceMode.NODE
    elif spec.share_process_namespace:
        options.pid = api.NamespaceMode.POD
    if target_id and options.pid == api.NamespaceMode.CONTAINER:
        options.pid = api.NamespaceMode.TARGET
        options.target_id = target_id
    return options


def id_mappings(pod: PodContext) -> list[api.IDMapping]:
    """The pod's user (and group) ids for mounts; empty in the host's user namespace."""
    ids = pod.user_namespace
    if pod.pod.spec.host_users is not False or ids is None:
        return []
    return [api.IDMapping(host_id=ids.host_id, container_id=0, length=ids.length)]


def _user_namespace(pod: PodContext, node: NodeFacts) -> api.UserNamespace:
    if pod.pod.spec.host_users is not False:
        return api.UserNamespace(mode=api.NamespaceMode.NODE)
    handler = node.handlers.get(pod.runtime_handler)
    if handler is None or not handler.user_namespaces:
        who = f'RuntimeClass handler "{pod.runtime_handler}" does' if pod.runtime_handler else "runtime does"
        raise ConfigError(f"can't set `spec.hostUsers: false`, {who} not support user namespaces")
    if pod.user_namespace is None:
        raise ConfigError("no user namespace was allocated for the pod")
    mappings = id_mappings(pod)
    return api.UserNamespace(mode=api.NamespaceMode.POD, uids=mappings, gids=mappings)
