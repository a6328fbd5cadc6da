"""RestartAllContainers: a container exited by a rule that has every container of the pod started anew, in its sandbox.

Done by removing every instance of init and regular containers; when none is left the ordinary plan starts from the
beginning. That the reset is under way is said by condition AllContainersRestarting, so that it goes on after a restart of
this process. Source: upstream `kuberuntime` (action RestartAllContainers, gate RestartAllContainersOnContainerExits).
"""

from services.pod_sync.containers.core_restart import any_restarts_all
from services.pod_sync.containers.model import Kill, PodActions, Why
from shared.kube.types import Pod
from shared.messages.pleg import ContainerState, RuntimePod

MESSAGE = "killing"


def plan_reset(pod: Pod, seen: RuntimePod, base: PodActions) -> PodActions | None:
    """Kill what runs, then remove all; None when nothing is left to remove.

    Those whose exit asked for it go last: while one is there, the reset can be seen to be under way.
    """
    triggers = set(any_restarts_all(pod, seen))
    regular, init = [c.name for c in pod.spec.containers], [c.name for c in pod.spec.init_containers]
    names = [n for n in (*regular, *init) if n not in triggers] + [n for n in (*regular, *init) if n in triggers]
    doomed = [state for name in names for state in seen.containers if state.name == name]
    if not doomed:
        return None
    kills = tuple(Kill(s.id, s.name, MESSAGE, Why.RESTART_ALL) for s in doomed if not _is_over(s))
    return PodActions(
        sandbox_id=base.sandbox_id, attempt=base.attempt, to_kill=kills, to_remove=tuple(s.id for s in doomed)
    )


def _is_over(state: ContainerState) -> bool:
    return state.state in ("exited", "created")
