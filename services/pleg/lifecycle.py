"""What happened between two rows of a pod, in words for logs and counters. Pure."""

from collections.abc import Iterator
from dataclasses import dataclass

from shared.messages.pleg import ContainerState, RuntimePod


@dataclass(frozen=True)
class Happened:
    """`event` is a log event's name, `fields` what belongs to it."""

    event: str
    fields: dict[str, str | int | float]


def happened(old: RuntimePod | None, new: RuntimePod | None) -> Iterator[Happened]:
    """Upstream's lifecycle events (`pleg`): started, died, removed, for containers and sandboxes alike."""
    before = {c.id: c for c in old.containers} if old is not None else {}
    after = {c.id: c for c in new.containers} if new is not None else {}
    for container in after.values():
        was = before.get(container.id)
        if was is not None and was.state == container.state:
            continue
        if container.state == "running":
            yield Happened("container.started", _named(container))
        elif container.state == "exited":
            yield Happened("container.died", {**_named(container), **_end(container)})
    for container in before.values():
        if container.id not in after:
            yield Happened("container.removed", _named(container))
    sandboxes_before = {s.id: s.ready for s in old.sandboxes} if old is not None else {}
    sandboxes_after = {s.id: s.ready for s in new.sandboxes} if new is not None else {}
    for sandbox_id, ready in sandboxes_after.items():
        if sandboxes_before.get(sandbox_id) is not ready:
            yield Happened("sandbox.started" if ready else "sandbox.died", {"sandbox_id": sandbox_id})
    for sandbox_id in sandboxes_before:
        if sandbox_id not in sandboxes_after:
            yield Happened("sandbox.removed", {"sandbox_id": sandbox_id})


def _named(container: ContainerState) -> dict[str, str | int | float]:
    return {"container": container.name, "container_id": container.id, "attempt": container.attempt}


def _end(container: ContainerState) -> dict[str, str | int | float]:
    started = container.started_at_ns or container.created_at_ns
    duration_s = max(0.0, (container.finished_at_ns - started) / 1e9) if container.finished_at_ns else 0.0
    return {"exit_code": container.exit_code, "reason": container.reason, "duration_s": round(duration_s, 3)}
