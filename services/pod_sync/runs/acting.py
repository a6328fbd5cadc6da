"""Carries out the plan of one sync. Source: upstream `kuberuntime.SyncPod`."""

import asyncio
from dataclasses import dataclass, field, replace

from msgspec import structs

from services.pod_sync.containers import core
from services.pod_sync.containers.backoff import backoff_key
from services.pod_sync.containers.core_restart import newest
from services.pod_sync.containers.core_sandbox import NETWORK_MODE_NODE, NETWORK_MODE_POD
from services.pod_sync.containers.model import Kill, PodActions, Why
from services.pod_sync.environment.model import PodContext
from services.pod_sync.ports import StatusInputs
from services.pod_sync.records.progress import WaitingReason
from services.pod_sync.runs.context import pod_context
from services.pod_sync.runs.held_events import HeldEvents
from services.pod_sync.runs.parts import ActClock, Parts
from services.pod_sync.runtime.model import (
    CREATE_CONTAINER,
    CREATE_SANDBOX,
    NORMAL,
    WARNING,
    EventSink,
    KillOrder,
    KillReason,
    KillTarget,
    Sandbox,
    StartError,
)
from services.pod_sync.runtime.ordering import TerminationOrder
from services.pod_sync.workers.model import BackingOff, Cancelled, Done, Failed, Outcome, Unsettled
from shared.errors import OctoletError
from shared.kube.duration import format_go_duration
from shared.kube.pods import host_network, is_restartable_init, pod_format
from shared.kube.types import Container, Pod
from shared.messages.pleg import ContainerState, RuntimePod, SandboxState

CRASH_LOOP: str = "CrashLoopBackOff"


@dataclass
class PlanRun:
    """One plan for one pod. `run` never raises for the pod's sake: what went wrong is in events, reasons, outcome."""

    parts: Parts
    pod: Pod
    seen: RuntimePod | None
    cancel: asyncio.Event
    clock: ActClock
    _started: set[str] = field(default_factory=set)
    _until: list[float] = field(default_factory=list)
    _failed: bool = False
    _unsettled: bool = False

    async def run(self, plan: PodActions) -> Outcome:
        event = self.parts.events_of(self.pod)
        if plan.sandbox_changed:
            event(None, NORMAL, "SandboxChanged", "Pod sandbox changed, it will be killed and re-created.")
        try:
            await self._make_way(plan, event)
            sandbox = await self._sandbox(plan, event)
        except OctoletError as error:
            self._note("prepare pod", error)
            return Unsettled() if self._unsettled else Failed()
        if sandbox is not None and not self.cancel.is_set():
            await self._start_all(plan, sandbox, event)
        return self._outcome()

    def _outcome(self) -> Outcome:
        if self._unsettled:
            return Unsettled()
        if self._until:
            wait_s = min(self._until) - self.parts.wall()
            return BackingOff(self.parts.now() + wait_s)
        if self._failed:
            return Failed()
        return Cancelled() if self.cancel.is_set() else Done()

    async def _make_way(self, plan: PodActions, event: EventSink) -> None:
        """End what must not go on, before anything is started."""
        if plan.kill_pod:
            await self._kill_pod(event)
            if plan.create_sandbox:
                await self._prune(core.all_init_instances(self.pod, self.seen))
            return
        for kill in plan.to_kill:
            await self._kill(kill, event)
        await self._remove(plan.to_remove, keep_logs=True)
        if plan.init_to_start:
            await self._prune(core.prunable_init_instances(self.pod, self.seen))

    async def _kill_pod(self, event: EventSink) -> None:
        containers = self.seen.containers if self.seen is not None else []
        sandboxes = self.seen.sandboxes if self.seen is not None else []
        running = [c for c in containers if c.state == "running"]
        if running:
            turns = TerminationOrder.of(self.pod, [c.name for c in running])
            targets = [KillTarget.of(c, self.pod) for c in running]
            await self.parts.runtime.kill_containers(targets, KillOrder(), event=event, turns=turns)
            self.clock.acted()
        for sandbox in sandboxes:
            if sandbox.ready or running:
                await self.parts.runtime.stop_sandbox(sandbox.id)
                self.clock.acted()

    async def _kill(self, kill: Kill, event: EventSink) -> None:
        state = self._instance(kill.container_id)
        if state is None:
            return
        grace_s = 0 if kill.why is Why.RESTART_ALL else None
        order = KillOrder(message=kill.message, reason=_KILL_REASONS.get(kill.why, KillReason.OTHER), grace_s=grace_s)
        await self.parts.runtime.kill_container(KillTarget.of(state, self.pod), order, event=event)
        self.clock.acted()

    async def _remove(self, ids: tuple[str, ...], *, keep_logs: bool = False) -> None:
        for container_id in ids:
            state = self._instance(container_id)
            if state is not None:
                await self.parts.runtime.remove_container(state, keep_logs=keep_logs)
                self.clock.acted()

    async def _prune(self, ids: tuple[str, ...]) -> None:
        """Remove what nobody needs. A failure hinders no start: whoever collects garbage may be removing it just now."""
        for container_id in ids:
            try:
                await self._remove((container_id,))
            except OctoletError as error:
                self.parts.log.debug("container.not_pruned", container_id=container_id, error=str(error))

    def _instance(self, container_id: str) -> ContainerState | None:
        containers = self.seen.containers if self.seen is not None else []
        return next((c for c in containers if c.id == container_id), None)

    async def _sandbox(self, plan: PodActions, event: EventSink) -> Sandbox | None:
        """The sandbox to start containers in; None when there is nothing to start."""
        if not plan.create_sandbox:
            if plan.kill_pod or not (plan.ephemeral_to_start or plan.init_to_start or plan.to_start):
                return None
            current = next(s for s in (self.seen.sandboxes if self.seen is not None else []) if s.id == plan.sandbox_id)
            return Sandbox(current.id, current.attempt, tuple(current.ips))
        if self.cancel.is_set():
            return None
        context = pod_context(self.pod, self.seen, self.parts.peers)
        held = HeldEvents(_unless_cancelled(event, self.cancel))
        began = self.parts.now()
        try:
            sandbox = await self.parts.runtime.create_sandbox(context, plan.attempt, event=held)
        except StartError as error:
            self._unsettled = self.parts.is_young and error.reason in _MAY_BE_UNSETTLED
            if not self._unsettled:
                held.tell()
                self.parts.watch.sandbox_failed(context.runtime_handler)
            raise
        held.tell()
        self.clock.acted()
        self.parts.watch.sandbox_made(context.runtime_handler, self.parts.now() - began)
        seen = _with_sandbox(self.pod, self.seen, sandbox)
        await self.parts.statuses.update(self.pod.metadata.uid, StatusInputs(pod=self.pod, seen=seen))
        return sandbox

    async def _start_all(self, plan: PodActions, sandbox: Sandbox, event: EventSink) -> None:
        """Ephemeral, then init, then regular containers, one after the other."""
        context = pod_context(self.pod, self.seen, self.parts.peers, ips=sandbox.ips)
        context = await self.parts.runtime.pull_image_volumes(context, sandbox=sandbox, event=event)
        for name in plan.ephemeral_to_start:
            context = await self._start(context, name, sandbox, event)
        by_name = {c.name: c for c in (*self.pod.spec.init_containers, *self.pod.spec.containers)}
        for name in plan.init_to_start:
            context = await self._start(context, name, sandbox, event)
            if name not in self._started and not is_restartable_init(by_name[name]):
                return  # nothing may be started that comes after an init container that was not
        for name in plan.to_start:
            context = await self._start(context, name, sandbox, event)

    async def _start(self, context: PodContext, name: str, sandbox: Sandbox, event: EventSink) -> PodContext:
        """Start one container, if its back-off allows. What came of it is noted; nothing is raised for the pod."""
        if self.cancel.is_set():
            return context
        last = newest(self.seen, name)
        container = next(
            (c for c in (*self.pod.spec.init_containers, *self.pod.spec.containers) if c.name == name), None
        )
        if container is not None and self._backs_off(container, event):
            return context
        held = HeldEvents(event)
        sink = held if self.parts.is_young else event
        try:
            attempt = await self._attempt(name, last)
            self.parts.progress.note_begun(self.pod.metadata.uid, name, attempt)
            container_id = await self.parts.runtime.start_container(
                context, name, sandbox=sandbox, attempt=attempt, event=sink
            )
        except StartError as error:
            if self.parts.is_young and error.reason in _MAY_BE_UNSETTLED:
                self._unsettled = True
                self.clock.acted()
                return context
            held.tell()
            self.parts.watch.container_failed(_kind(self.pod, name), error.reason)
            self._heard(name, WaitingReason(error.reason, error.message))
            self._failed = True
            if error.reason not in _NOTHING_MADE:
                self.clock.acted()
            return context
        except (OctoletError, OSError) as error:
            self._unsettled = self._unsettled or self.parts.is_young
            self._note(f"start container {name}", error)
            return context
        held.tell()
        self.parts.watch.container_started(_kind(self.pod, name))
        self._heard(name, None)
        self._started.add(name)
        self.clock.acted()
        return replace(context, container_ids={**context.container_ids, name: container_id})

    async def _attempt(self, name: str, last: ContainerState | None) -> int:
        """One that was made but never started is made again as the same instance: nothing of it ever ran.

        Raises OctoletError while the runtime is still at starting it, for a caller that has died.
        """
        if last is not None and last.state == "created":
            await self.parts.runtime.remove_container(last, keep_logs=True)
            self.clock.acted()
            return last.attempt
        begun = self.parts.progress.begun(self.pod.metadata.uid).get(name)
        if last is None and begun is not None:
            return begun  # removed by a former life of this process, which did not get to making it again
        return self.parts.runtime.next_attempt(self.pod, name, last)

    def _backs_off(self, container: Container, event: EventSink) -> bool:
        """Whether the container must wait because it keeps exiting; if not, its next wait is longer."""
        instances = self.seen.containers if self.seen is not None else []
        exited = next((c for c in instances if c.name == container.name and c.state == "exited"), None)
        if exited is None:
            return False
        key = backoff_key(self.pod, container)
        finished_at, now = exited.finished_at_ns / 1e9, self.parts.wall()
        if self.parts.backoff.resume(key, finished_at):
            return False
        loops = self.parts.backoff.loops
        until = loops.wait_until(key, finished_at, now)
        if until is None:
            self.parts.backoff.update(loops.started(key, finished_at, now, self.parts.limits))
            return False
        pod = pod_format(self.pod)
        event(container.name, WARNING, "BackOff", f"Back-off restarting failed container {container.name} in pod {pod}")
        delay = format_go_duration(loops.delay_of(key))
        message = f"back-off {delay} restarting failed container={container.name} pod={pod}"
        self._heard(container.name, WaitingReason(CRASH_LOOP, message))
        self._until.append(until)
        return True

    def _heard(self, name: str, reason: WaitingReason | None) -> None:
        """What came of an attempt to start a container: recorded at once, for a crash must not forget it."""
        self.parts.statuses.set_reasons(self.pod.metadata.uid, {name: reason})

    def _note(self, act: str, error: Exception) -> None:
        self._failed = True
        pod = f"{self.pod.metadata.namespace}/{self.pod.metadata.name}"
        say = self.parts.log.debug if self._unsettled else self.parts.log.warning
        say("pod.act_failed", pod=pod, pod_uid=self.pod.metadata.uid, act=act, error=str(error))


_KILL_REASONS = {Why.LIVENESS_PROBE: KillReason.LIVENESS, Why.STARTUP_PROBE: KillReason.STARTUP}
_MAY_BE_UNSETTLED = frozenset({CREATE_SANDBOX, CREATE_CONTAINER})
"""waiting reasons that a name still taken by a former life of this process can have"""
_NOTHING_MADE = frozenset(
    {
        "ErrImagePull",
        "ImagePullBackOff",
        "ErrImageNeverPull",
        "ImageInspectError",
        "InvalidImageName",
        "RegistryUnavailable",
        "SignatureValidationFailed",
        "CreateContainerConfigError",
        "PreCreateHookError",
    }
)
"""waiting reasons that are given before the runtime was asked to make a container"""


def _kind(pod: Pod, name: str) -> str:
    if any(c.name == name for c in pod.spec.containers):
        return "container"
    return "init_container" if any(c.name == name for c in pod.spec.init_containers) else "ephemeral_container"


def _with_sandbox(pod: Pod, seen: RuntimePod | None, sandbox: Sandbox) -> RuntimePod:
    """The listing as the next one will show it: the status says that the sandbox is ready before images are pulled."""
    meta = pod.metadata
    made = SandboxState(
        id=sandbox.id,
        name=meta.name,
        namespace=meta.namespace,
        attempt=sandbox.attempt,
        ready=True,
        created_at_ns=0,
        ips=list(sandbox.ips),
        network_mode=NETWORK_MODE_NODE if host_network(pod) else NETWORK_MODE_POD,
    )
    older = [_stopped(box) for box in seen.sandboxes] if seen is not None else []
    containers = seen.containers if seen is not None else []
    return RuntimePod(
        name=meta.name, namespace=meta.namespace, listed_at_mono=0.0, sandboxes=[made, *older], containers=containers
    )


def _stopped(box: SandboxState) -> SandboxState:
    return structs.replace(box, ready=False)


def _unless_cancelled(event: EventSink, cancel: asyncio.Event) -> EventSink:
    """A sandbox that could not be made because the pod is ending is nobody's concern."""

    def quiet(container: str | None, type: str, reason: str, message: str) -> None:
        if not cancel.is_set():
            event(container, type, reason, message)

    return quiet
