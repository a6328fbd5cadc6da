"""Pods for tests of the workers."""

from shared.kube.types import ObjectMeta, Pod, PodSpec, PodStatus

SOURCE = "kubernetes.io/config.source"


def make_pod(
    uid: str,
    *,
    name: str = "web",
    source: str = "file",
    grace_s: int | None = 30,
    deleted_with_s: int | None = None,
    phase: str | None = None,
) -> Pod:
    """A pod as a source delivers it; `deleted_with_s` sets deletionTimestamp with that grace."""
    return Pod(
        metadata=ObjectMeta(
            name=name,
            namespace="default",
            uid=uid,
            annotations={SOURCE: source},
            deletion_timestamp="2026-01-01T00:00:00Z" if deleted_with_s is not None else None,
            deletion_grace_period_seconds=deleted_with_s,
        ),
        spec=PodSpec(termination_grace_period_seconds=grace_s),
        status=PodStatus(phase=phase or ""),
    )
