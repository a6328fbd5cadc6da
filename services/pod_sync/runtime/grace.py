"""How many seconds a container gets to end. Pure (upstream `kuberuntime`, setTerminationGracePeriod, killContainer)."""

from typing import Final

from services.pod_sync.runtime.model import KillReason, KillTarget

MIN_GRACE_S: Final = 2
"""what the runtime is asked at least, whatever the user asked"""


def grace_of(target: KillTarget, reason: KillReason, override_s: int | None) -> int:
    """Seconds for hooks and signals together, before anything was used up.

    The pod's deletion grace counts first, then that of the probe that failed, then the pod's own, else two seconds. An
    override replaces all of them.
    """
    if override_s is not None:
        return override_s
    if target.deletion_grace_s is not None:
        return target.deletion_grace_s
    of_probe = target.probe_grace_s.get(reason)
    if of_probe is not None:
        return of_probe
    return MIN_GRACE_S if target.termination_grace_s is None else target.termination_grace_s


def remaining(grace_s: int, used_s: float) -> int:
    """What is left after a step that took that long: whole seconds are subtracted."""
    return grace_s - int(used_s)


def stop_timeout(grace_s: int) -> int:
    """The timeout of StopContainer."""
    return max(grace_s, MIN_GRACE_S)
