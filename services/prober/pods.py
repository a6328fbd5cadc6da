"""Which workers a pod should have, and what is known of the containers they ask. Pure."""

from dataclasses import dataclass
from typing import Final

from services.prober.model import Kind, Timing, WorkerKey
from shared.kube.pods import host_network, is_restartable_init
from shared.kube.types import Container, Node, Pod, Probe
from shared.messages.pleg import ContainerState, RuntimePod
from shared.messages.pod_sync import PodEntry, PodPhase, PodStatusEntry

_WHILE_STOPPING: Final = frozenset({Kind.READINESS})
"""kinds that go on while a pod's regular containers are being stopped, so that it is seen to become unready; a sidecar
keeps all of its probes, for it is stopped last (upstream `prober_manager`: StopLivenessAndStartup)"""


@dataclass(frozen=True)
class Wanted:
    """One worker that should exist, with what it needs of the spec. `index` of the container's list for Events."""

    key: WorkerKey
    pod: Pod
    container: Container
    probe: Probe
    field_path: str

    @property
    def has_startup_probe(self) -> bool:
        return self.container.startup_probe is not None


def wanted_workers(uid: str, entry: PodEntry) -> dict[WorkerKey, Wanted]:
    """All workers of a pod: for regular containers and sidecars, each kind that has a probe."""
    if not (entry.may_run and entry.admitted) or entry.phase not in (PodPhase.SYNC, PodPhase.TERMINATING):
        return {}
    stopping = entry.phase is PodPhase.TERMINATING
    found: dict[WorkerKey, Wanted] = {}
    spec = entry.pod.spec
    sidecars = [(c, "initContainers", False) for c in spec.init_containers if is_restartable_init(c)]
    for container, field, ends_early in [*sidecars, *((c, "containers", stopping) for c in spec.containers)]:
        name = container.name or ""
        for kind, probe in (
            (Kind.STARTUP, container.startup_probe),
            (Kind.LIVENESS, container.liveness_probe),
            (Kind.READINESS, container.readiness_probe),
        ):
            if probe is not None and not (ends_early and kind not in _WHILE_STOPPING):
                key = WorkerKey(uid, name, kind)
                found[key] = Wanted(key, entry.pod, container, probe, f"spec.{field}{{{name}}}")
    return found


def timing_of(probe: Probe) -> Timing:
    """A probe's numbers, with the API's defaults for those that are missing or zero (`v1.SetDefaults_Probe`)."""
    return Timing(
        initial_delay_s=float(probe.initial_delay_seconds or 0),
        period_s=float(probe.period_seconds or 10),
        timeout_s=float(probe.timeout_seconds or 1),
        success_threshold=probe.success_threshold or 1,
        failure_threshold=probe.failure_threshold or 3,
    )


def current_container(runtime: RuntimePod | None, name: str) -> ContainerState | None:
    """The newest container of that name."""
    if runtime is None:
        return None
    of_name = [c for c in runtime.containers if c.name == name]
    return max(of_name, key=lambda c: (c.created_at_ns, c.attempt), default=None)


def had_started(status: PodStatusEntry | None, name: str, container_id: str) -> bool:
    """Whether the pod's status, which may be older than this daemon, says that this very container had started."""
    if status is None:
        return False
    every = (*status.status.container_statuses, *status.status.init_container_statuses)
    # The status names it with the runtime's scheme in front: containerd://<id>.
    return any(
        c.name == name and c.started is True and (c.container_id or "").rpartition("://")[2] == container_id
        for c in every
    )


def pod_address(entry: PodEntry, runtime: RuntimePod | None, status: PodStatusEntry | None, node: Node | None) -> str:
    """Where the pod is asked: its address in its status, else its newest sandbox's, the node's on the host's network.

    Empty while none is known.
    """
    if status is not None and status.status.pod_ip:
        return status.status.pod_ip
    if host_network(entry.pod):
        addresses = node.status.addresses if node is not None else []
        return next((a.address or "" for a in addresses if a.type == "InternalIP"), "")
    for sandbox in runtime.sandboxes if runtime is not None else []:
        if sandbox.ready and sandbox.ips:
            return sandbox.ips[0]
    return ""
