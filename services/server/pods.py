"""The pods as the server shows them: spec from `pods`, status from `pod_status`."""

import msgspec

from shared.bus import TableView
from shared.kube.types import Container, ObjectMeta, Pod, PodSpec
from shared.messages.pleg import ContainerState, RuntimePod
from shared.messages.pod_sync import PodEntry, PodStatusEntry

_encoder = msgspec.json.Encoder()


class Pods:
    """Reads three tables; keeps nothing."""

    def __init__(
        self, pods: TableView[PodEntry], statuses: TableView[PodStatusEntry], runtime: TableView[RuntimePod]
    ) -> None:
        self.pods = pods
        self.statuses = statuses
        self.runtime = runtime

    def with_status(self, uid: str, entry: PodEntry) -> Pod:
        """The pod with the newest status this node has computed."""
        row = self.statuses.get(uid)
        return msgspec.structs.replace(entry.pod, status=row.status) if row is not None else entry.pod

    def configured(self) -> list[Pod]:
        """Every pod that a source names, by namespace and name."""
        found = [self.with_status(uid, entry) for uid, entry in self.pods.items() if entry.configured]
        return sorted(found, key=lambda p: (p.metadata.namespace, p.metadata.name))

    def find(self, namespace: str, name: str) -> tuple[str, Pod] | None:
        """UID and pod of that name. A pod that is being replaced counts only once the new one is named."""
        for uid, entry in self.pods.items():
            meta = entry.pod.metadata
            if entry.configured and meta.name == name and meta.namespace == namespace:
                return uid, self.with_status(uid, entry)
        return None

    def container(self, container_id: str, uid: str) -> ContainerState | None:
        """The runtime's view of one container of a pod."""
        pod = self.runtime.get(uid)
        return next((c for c in pod.containers if c.id == container_id), None) if pod is not None else None

    def running(self) -> list[Pod]:
        """What the runtime runs right now, reduced to names and images (upstream `/runningpods/`)."""
        found = []
        for uid, pod in self.runtime.items():
            containers = [Container(name=c.name, image=c.image) for c in pod.containers if c.state == "running"]
            if containers:
                meta = ObjectMeta(name=pod.name, namespace=pod.namespace, uid=uid)
                found.append(Pod(metadata=meta, spec=PodSpec(containers=containers)))
        return sorted(found, key=lambda p: (p.metadata.namespace, p.metadata.name))


def pod_list(pods: list[Pod]) -> bytes:
    """A v1 PodList, compact with a final newline; no pods print as `"items":null`, as upstream's do."""
    items = _encoder.encode(pods) if pods else b"null"
    return b'{"kind":"PodList","apiVersion":"v1","metadata":{},"items":' + items + b"}\n"
