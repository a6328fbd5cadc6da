"""Tells people what became of volumes: Kubernetes Events on the pod, one log line per change, metrics."""

from collections.abc import Callable, Sequence
from typing import Any, Final

from services.volume_manager.metrics import Metrics
from services.volume_manager.model import Action, Done, Failed, Operation, Outcome, VolumeKey
from services.volume_manager.volumes.base import FIND_PLUGIN_STEP, SET_UP_STEP
from services.volume_manager.volumes.registry import type_of_key
from services.volume_manager.volumes.unknown import Unknown
from shared.kube.types import Pod
from shared.messages.daemon import ObjectReference
from shared.messages.volume_manager import PodVolumes
from shared.service import Context

FAILED_MOUNT: Final = "FailedMount"
FAILED: Final = "Failed"
"""event reasons (upstream `kubelet/events`)"""


def reference_to(pod: Pod, uid: str) -> ObjectReference:
    """The Pod as an Event names it."""
    return ObjectReference(kind="Pod", name=pod.metadata.name, namespace=pod.metadata.namespace, uid=uid)


def failed_mount_message(action: Action, error: str) -> str:
    """Upstream's words, with blanks on both sides of the second colon (`operationexecutor.GenerateMountVolumeFunc`)."""
    assert action.volume is not None
    step = FIND_PLUGIN_STEP if isinstance(type_of_key(action.volume), Unknown) else SET_UP_STEP
    return f'{step} failed for volume "{action.volume.name}" : {error}'


class EventsAndLog:
    """See `reconciler.Report`."""

    def __init__(
        self, ctx: Context[Any], metrics: Metrics, *, published: Callable[[str, PodVolumes | None], None]
    ) -> None:
        self._ctx = ctx
        self._metrics = metrics
        self.published = published

    def operation_ended(self, uid: str, pod: Pod | None, action: Action, outcome: Outcome, duration_s: float) -> None:
        failed = outcome if isinstance(outcome, Failed) else None
        if action.volume is not None:
            self._metrics.operations.labels(
                volume_plugin=action.volume.plugin,
                operation_name=action.operation,
                status="fail-unknown" if failed else "success",
                migrated="false",
            ).observe(duration_s)
            if action.operation is Operation.TEAR_DOWN and isinstance(type_of_key(action.volume), Unknown):
                (self._metrics.force_clean_errors if failed else self._metrics.force_cleaned).inc()
        elif pod is None and action.operation is Operation.REMOVE_DIR:
            (self._metrics.orphan_errors if failed else self._metrics.orphans_cleaned).inc()
        self._log(uid, pod, action, outcome)
        if failed is None or failed.waiting or pod is None:
            return
        if action.operation is Operation.SET_UP:
            self._ctx.event(reference_to(pod, uid), "Warning", FAILED_MOUNT, failed_mount_message(action, failed.error))
        elif action.operation is Operation.MAKE_DIR:
            text = f"error making pod data directories: {failed.error}"
            self._ctx.event(reference_to(pod, uid), "Warning", FAILED, text)

    def all_mounted(self, uid: str, volumes: Sequence[VolumeKey], duration_s: float) -> None:
        for key in volumes:
            self._metrics.overall.labels(key.plugin, "overall_volume_mount").observe(duration_s)
        self._ctx.log.info("pod_volumes.mounted", pod_uid=uid, volumes=len(volumes), duration_s=round(duration_s, 4))

    def _log(self, uid: str, pod: Pod | None, action: Action, outcome: Outcome) -> None:
        log = self._ctx.log.bind(pod_uid=uid, operation=str(action.operation))
        if pod is not None:
            log = log.bind(pod=f"{pod.metadata.namespace}/{pod.metadata.name}")
        if action.volume is not None:
            log = log.bind(volume=action.volume.name, plugin=action.volume.plugin)
        match outcome:
            case Failed(error=error, waiting=True):
                log.info("volume.waiting", error=error)
            case Failed(error=error):
                log.warning("volume_operation.failed", error=error)
            case Done():
                log.debug("volume_operation.succeeded")
