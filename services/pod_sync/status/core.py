"""The status of a pod: everything its parts say, merged with what was said before.

Phases only move forward into an end::

    Pending ◄──► Running ──► Succeeded | Failed        (Pending again while init containers run anew)
       └───────────────────► Succeeded | Failed        and never out of these

Source: upstream `kubelet_pods`, `generateAPIPodStatus`; `status` manager, `SetPodStatus`.
"""

from msgspec.structs import replace

from services.pod_sync.containers.core_restart import RESTART_ALL, has_restart_all_rule, matching_action
from services.pod_sync.status import deadline
from services.pod_sync.status.addresses import with_addresses
from services.pod_sync.status.conditions import RESTARTING, all_conditions, is_true
from services.pod_sync.status.containers import container_statuses
from services.pod_sync.status.model import FAILED, TERMINAL, Computed, StatusContext
from services.pod_sync.status.phase import phase_of
from services.pod_sync.status.readiness import with_readiness
from services.pod_sync.status.resources import pod_resources
from services.pod_sync.status.settle import illegal_change, settle
from shared.kube.pods import effective_requests, qos_class
from shared.kube.types import Container, ContainerStatus, Pod, PodStatus
from shared.messages import pleg


def compute_status(ctx: StatusContext) -> Computed:
    """The pod's status now. Computing again from the result, with nothing else changed, gives the same."""
    spec = ctx.pod.spec
    restarting = _restarting_all(ctx)
    marked = restarting or is_true(ctx.last.conditions, RESTARTING)
    init = container_statuses(ctx, "init", restarting_all=marked)
    regular = container_statuses(ctx, "regular", restarting_all=marked)
    init = with_readiness(ctx, spec.init_containers, init, init=True)
    regular = with_readiness(ctx, spec.containers, regular, init=False)
    api = ctx.pod.status
    status = PodStatus(
        init_container_statuses=init,
        container_statuses=regular,
        ephemeral_container_statuses=container_statuses(ctx, "ephemeral", restarting_all=False),
        qos_class=qos_class(ctx.pod),
        allocated_resources=effective_requests(ctx.pod),
        resources=pod_resources(ctx),
        resource_claim_statuses=api.resource_claim_statuses,
        extended_resource_claim_status=api.extended_resource_claim_status,
        node_allocatable_resource_claim_statuses=api.node_allocatable_resource_claim_statuses,
    )
    status = with_addresses(ctx, _with_phase(ctx, status))
    rule = has_restart_all_rule(ctx.pod)
    conditions = all_conditions(ctx, [*init, *regular], status.phase, restarting_all=restarting if rule else None)
    status = replace(status, conditions=conditions)
    refused = illegal_change(ctx.pod, ctx.last, status)
    if refused:
        return Computed(ctx.last, refused)
    return Computed(settle(ctx.pod, ctx.last, status, now=ctx.now))


def _with_phase(ctx: StatusContext, status: PodStatus) -> PodStatus:
    """The phase with its reason and message: computed, an end that was reached before, the deadline, or what the node said.

    An end that the API has is never changed.
    """
    statuses = [*status.init_container_statuses, *status.container_statuses]
    phase = phase_of(ctx.pod, statuses, stopped=ctx.stopped, initialized=_initialized(ctx))
    last, api = ctx.last, ctx.pod.status
    if phase not in TERMINAL:
        phase = next((p for p in (last.phase, api.phase) if p in TERMINAL), phase)
    reason: str | None = None
    message: str | None = None
    if phase == last.phase:
        reason, message = last.reason or api.reason, last.message or api.message
    if deadline.past_deadline(ctx.pod, last, now=ctx.now):
        phase, reason, message = FAILED, deadline.REASON, deadline.MESSAGE
    if api.phase in TERMINAL:
        phase = api.phase
    elif ctx.override is not None:
        phase, reason, message = ctx.override.phase, ctx.override.reason, ctx.override.message
    return replace(status, phase=phase, reason=reason, message=message)


def _initialized(ctx: StatusContext) -> bool:
    """A regular container was made in the sandbox that is in use."""
    if ctx.seen is None or not ctx.seen.sandboxes or not ctx.seen.sandboxes[0].ready:
        return False
    current = ctx.seen.sandboxes[0].id
    regular = {c.name for c in ctx.pod.spec.containers}
    return any(c.sandbox_id == current and c.name in regular for c in ctx.seen.containers)


def _restarting_all(ctx: StatusContext) -> bool:
    """RestartAllContainers is under way: something asked for it, and the old containers are not all gone yet."""
    if not has_restart_all_rule(ctx.pod) or ctx.stopped or ctx.seen is None:
        return False
    own = {c.name: c for c in [*ctx.pod.spec.init_containers, *ctx.pod.spec.containers]}
    if not any(instance.name in own for instance in ctx.seen.containers):
        return False
    if is_true(ctx.last.conditions, RESTARTING):
        return True
    return _asked_by_runtime(ctx.seen, own) or _asked_by_status(ctx.pod, ctx.last)


def _asked_by_runtime(seen: pleg.RuntimePod, own: dict[str, Container]) -> bool:
    newest: dict[str, pleg.ContainerState] = {}
    for instance in seen.containers:
        newest.setdefault(instance.name, instance)
    return any(
        instance.state == "exited" and _asks(own[name], instance.exit_code)
        for name, instance in newest.items()
        if name in own
    )


def _asked_by_status(pod: Pod, status: PodStatus) -> bool:
    statuses = {s.name: s for s in [*status.init_container_statuses, *status.container_statuses]}
    return any(
        _ended_asking(statuses[c.name], c)
        for c in [*pod.spec.init_containers, *pod.spec.containers]
        if c.name in statuses
    )


def _ended_asking(status: ContainerStatus, container: Container) -> bool:
    ended = status.state.terminated
    return ended is not None and _asks(container, ended.exit_code)


def _asks(container: Container, exit_code: int) -> bool:
    return container.restart_policy is not None and matching_action(container, exit_code) == RESTART_ALL
