"""Pods, and runtime listings of them, for tests of the plans."""

from services.pod_sync.environment.metadata import HASH, container_hash
from shared.kube.types import (
    Container,
    ContainerRestartRule,
    ContainerRestartRuleOnExitCodes,
    EphemeralContainer,
    ObjectMeta,
    Pod,
    PodSpec,
    Probe,
)
from shared.messages.pleg import ContainerState, RuntimePod, SandboxState
from shared.messages.prober import ContainerProbes, ProbeOutcome

IMAGE = "busybox:1.36"


def container(name: str = "c", *, sidecar: bool = False, **more: object) -> Container:
    if sidecar:
        more["restart_policy"] = "Always"
    return Container(name=name, image=IMAGE, **more)  # type: ignore[arg-type]


def rule(action: str, *codes: int, operator: str = "In") -> ContainerRestartRule:
    return ContainerRestartRule(
        action=action, exit_codes=ContainerRestartRuleOnExitCodes(operator=operator, values=list(codes))
    )


def make_pod(
    *containers: Container,
    init: tuple[Container, ...] = (),
    ephemeral: tuple[EphemeralContainer, ...] = (),
    policy: str = "Always",
    host_network: bool = False,
    deleted: bool = False,
) -> Pod:
    return Pod(
        metadata=ObjectMeta(
            name="web",
            namespace="default",
            uid="u1",
            deletion_timestamp="2026-01-01T00:00:00Z" if deleted else None,
        ),
        spec=PodSpec(
            containers=list(containers) or [container()],
            init_containers=list(init),
            ephemeral_containers=list(ephemeral),
            restart_policy=policy,
            host_network=host_network,
        ),
    )


def sandbox(
    attempt: int = 0, *, ready: bool = True, ips: tuple[str, ...] = ("10.0.0.1",), network_mode: int = 0
) -> SandboxState:
    return SandboxState(
        id=f"s{attempt}",
        name="web",
        namespace="default",
        attempt=attempt,
        ready=ready,
        created_at_ns=attempt,
        ips=list(ips),
        network_mode=network_mode,
    )


def instance(
    name: str = "c",
    state: str = "running",
    *,
    attempt: int = 0,
    sandbox_id: str = "s0",
    exit_code: int = 0,
    reason: str = "",
    image: str = IMAGE,
) -> ContainerState:
    """Container `name` as the runtime shows it; its id is `<name>-<attempt>`."""
    return ContainerState(
        id=f"{name}-{attempt}",
        name=name,
        attempt=attempt,
        sandbox_id=sandbox_id,
        state=state,
        exit_code=exit_code,
        reason=reason,
        created_at_ns=attempt,
        annotations={HASH: format(container_hash(name, image), "x")},
    )


def seen(*containers: ContainerState, sandboxes: tuple[SandboxState, ...] | None = None) -> RuntimePod:
    """A listing; give the containers newest first."""
    return RuntimePod(
        name="web",
        namespace="default",
        listed_at_mono=1.0,
        sandboxes=list(sandboxes) if sandboxes is not None else [sandbox()],
        containers=list(containers),
    )


def probed(
    container_id: str,
    *,
    startup: ProbeOutcome | None = None,
    liveness: ProbeOutcome | None = None,
) -> dict[str, ContainerProbes]:
    return {container_id: ContainerProbes(pod_uid="u1", container="c", startup=startup, liveness=liveness)}


PROBE = Probe(period_seconds=1)
