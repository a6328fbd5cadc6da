"""Should a container that does not run be started (again)? Source: upstream `kubecontainer.ShouldContainerBeRestarted`."""

from collections.abc import Iterable, Mapping
from typing import Final

from msgspec import structs

from shared.kube.types import Container, Pod
from shared.messages.pleg import ContainerState, RuntimePod

RESTART: Final = "Restart"
RESTART_ALL: Final = "RestartAllContainers"


def newest(seen: RuntimePod | None, name: str) -> ContainerState | None:
    """The newest instance of that name, in whatever sandbox."""
    if seen is None:
        return None
    return next((c for c in seen.containers if c.name == name), None)


def without_cut_starts(seen: RuntimePod | None, begun: Mapping[str, int]) -> RuntimePod | None:
    """The listing with starts that were cut off shown as never begun, so that they are not taken for failures.

    Who asks for a start and dies has the runtime give it up. That looks like a start that failed, but for one thing:
    no outcome was heard. `begun` has the attempts, by container, of which that is so.
    """
    cut = {c.id for c in seen.containers if _is_cut_off(c, begun)} if seen is not None else set()
    if seen is None or not cut:
        return seen
    states = [structs.replace(c, state="created") if c.id in cut else c for c in seen.containers]
    return structs.replace(seen, containers=states)


def _is_cut_off(state: ContainerState, begun: Mapping[str, int]) -> bool:
    return state.state == "exited" and state.started_at_ns == 0 and begun.get(state.name) == state.attempt


def should_restart(pod: Pod, container: Container, last: ContainerState | None) -> bool:
    """`last`: its newest instance, None if there never was one (or it was removed)."""
    if pod.metadata.deletion_timestamp is not None:
        return False
    if last is None:
        return True
    if last.state == "running":
        return False
    if last.state != "exited":
        return True
    return restarts_after(pod, container, last.exit_code)


def restarts_after(pod: Pod, container: Container, exit_code: int) -> bool:
    """The container's own rules and policy first, then the pod's. An unknown pod policy restarts."""
    if container.restart_policy is not None:
        if matching_action(container, exit_code) is not None:
            return True
        return _by_policy(container.restart_policy, exit_code)
    return _by_policy(pod.spec.restart_policy or "Always", exit_code)


def matching_action(container: Container, exit_code: int) -> str | None:
    """The action of the first restart rule that matches, if any."""
    for rule in container.restart_policy_rules:
        codes = rule.exit_codes
        if codes is None or rule.action not in (RESTART, RESTART_ALL):
            continue
        inside = exit_code in codes.values
        if (codes.operator == "In" and inside) or (codes.operator == "NotIn" and not inside):
            return rule.action
    return None


def restarts_on_failure(pod: Pod, container: Container | None = None) -> bool:
    """Policy is not Never: the container's own if set, else the pod's. Rules are not looked at (no exit code yet)."""
    policy = container.restart_policy if container is not None else None
    return (policy or pod.spec.restart_policy) != "Never"


def succeeded_for_good(pod: Pod, container: Container, last: ContainerState | None) -> bool:
    """It exited with 0 under OnFailure (its own policy before the pod's): a new sandbox does not run it again."""
    policy = container.restart_policy or pod.spec.restart_policy
    return policy == "OnFailure" and last is not None and last.state == "exited" and last.exit_code == 0


def any_restarts_all(pod: Pod, seen: RuntimePod | None) -> list[str]:
    """Names of init and regular containers whose newest instance exited with a code that restarts all containers."""
    return [c.name for c in _own(pod) if _restarts_all(c, newest(seen, c.name))]


def has_restart_all_rule(pod: Pod) -> bool:
    """Some rule of the pod may ask for the restart of all containers."""
    return any(rule.action == RESTART_ALL for c in _own(pod) for rule in c.restart_policy_rules)


def _restarts_all(container: Container, last: ContainerState | None) -> bool:
    return (
        last is not None
        and last.state == "exited"
        and container.restart_policy is not None
        and matching_action(container, last.exit_code) == RESTART_ALL
    )


def _own(pod: Pod) -> Iterable[Container]:
    return [*pod.spec.init_containers, *pod.spec.containers]


def _by_policy(policy: str, exit_code: int) -> bool:
    match policy:
        case "Never":
            return False
        case "OnFailure":
            return exit_code != 0
        case _:
            return True
