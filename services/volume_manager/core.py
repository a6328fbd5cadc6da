"""Which volumes to set up and tear down: a planner over one pod, without I/O.

    stage      pod directory          volumes
    unknown    -                      -
    run        make it                set up the wanted ones that are not mounted, or whose content is stale
    keep       -                      after a restart as for run (they are in use), else nothing new
    unmount    -                      tear down all that is mounted or uncertain
    remove     remove it, once the    tear down all that is mounted or uncertain
               last volume is gone

Each volume, and the directory, has at most one operation at a time. A failed one is tried again after 500 ms, doubling
to 2 min 2 s; a different operation on the same thing does not wait for that (upstream `goroutinemap/exponentialbackoff`,
`volumemanager/reconciler`, `volumemanager/populator`). What was found on disk counts as uncertain: it is set up again
when the pod may run, which every volume type bears, and torn down when it may not.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Final

from services.volume_manager.model import (
    FOREVER,
    Action,
    ActualPod,
    ActualVolume,
    Attempt,
    Backoff,
    DesiredPod,
    DirState,
    Done,
    Failed,
    Operation,
    Outcome,
    Plan,
    Stage,
    VolumeKey,
    VolumeState,
)
from shared.messages.pod_sync import PodEntry, PodPhase
from shared.messages.volume_manager import MountedVolume, PodVolumes, VolumesPhase

FIRST_DELAY_S: Final = 0.5
MAX_DELAY_S: Final = 122.0
"""upstream `goroutinemap/exponentialbackoff`: initial and largest durationBeforeRetry"""


def stage_of(entry: PodEntry) -> Stage:
    """What the owner of the pods allows. A pod that was not admitted never gets a volume mounted."""
    if entry.content_removable and entry.runtime_removable:
        return Stage.REMOVE
    if entry.runtime_removable:
        return Stage.UNMOUNT
    if entry.may_run and entry.admitted and entry.phase is PodPhase.SYNC:
        return Stage.RUN
    return Stage.KEEP


def orphan_stage(*, pods_complete: bool, runtime_complete: bool, running: bool) -> Stage:
    """What to do with a pod directory whose UID no longer is in the table of pods.

    Absence says nothing before the table is complete, and a pod whose containers still run keeps its files whatever
    the table says (upstream: an orphan is neither in the pod manager nor among the runtime's running pods).
    """
    if pods_complete and runtime_complete and not running:
        return Stage.REMOVE
    return Stage.UNKNOWN


def plan(desired: DesiredPod, actual: ActualPod, now: float) -> Plan:
    """What to start now for one pod. Empty when nothing differs or all that differs is running or backing off."""
    wanted: list[tuple[Action, Attempt]] = []
    match desired.stage:
        case Stage.UNKNOWN:
            pass
        case Stage.RUN if actual.directory is not DirState.PRESENT:
            wanted.append((Action(Operation.MAKE_DIR), actual.attempt))
        case Stage.RUN:
            wanted.extend(_set_ups(desired.volumes.values(), actual.volumes, new=True))
        case Stage.KEEP:
            # A directory that was found may have had any of the volumes: not all kinds leave something on disk.
            found = actual.directory is DirState.FOUND
            wanted.extend(_set_ups(desired.volumes.values(), actual.volumes, new=found))
        case Stage.UNMOUNT | Stage.REMOVE:
            wanted.extend(
                (Action(Operation.TEAR_DOWN, key), v.attempt) for key, v in sorted(actual.volumes.items(), key=_key)
            )
            if desired.stage is Stage.REMOVE and not actual.volumes and actual.directory is not DirState.ABSENT:
                wanted.append((Action(Operation.REMOVE_DIR), actual.attempt))
    return _due(wanted, now)


def _key(item: tuple[VolumeKey, ActualVolume]) -> VolumeKey:
    return item[0]


def _set_ups(
    wanted: Iterable[VolumeKey], actual: Mapping[VolumeKey, ActualVolume], *, new: bool
) -> Iterable[tuple[Action, Attempt]]:
    for key in sorted(set(wanted)):
        volume = actual.get(key)
        if volume is None:
            if new:
                yield Action(Operation.SET_UP, key), Attempt()
        elif volume.state is VolumeState.UNCERTAIN or (volume.stale and new):
            yield Action(Operation.SET_UP, key), volume.attempt


def _due(wanted: Iterable[tuple[Action, Attempt]], now: float) -> Plan:
    actions: list[Action] = []
    wake: float | None = None
    for action, attempt in wanted:
        if attempt.running is not None:
            continue
        backoff = attempt.backoff
        if backoff is None or backoff.operation is not action.operation or backoff.until_mono <= now:
            actions.append(action)
        elif backoff.until_mono != FOREVER:
            wake = backoff.until_mono if wake is None else min(wake, backoff.until_mono)
    return Plan(tuple(actions), wake)


def refuse(reason: str) -> ActualPod:
    """A pod that no directory can be made for, ever."""
    return ActualPod(attempt=Attempt(error=reason, backoff=Backoff(Operation.MAKE_DIR, 0.0, FOREVER)))


def begin(actual: ActualPod, action: Action) -> ActualPod:
    """The operation is being started. From now on a new volume counts as uncertain, whatever becomes of this process."""
    if action.volume is None:
        return replace(actual, attempt=replace(actual.attempt, running=action.operation))
    volume = actual.volumes.get(action.volume, ActualVolume(VolumeState.UNCERTAIN))
    volume = replace(volume, stale=False, attempt=replace(volume.attempt, running=action.operation))
    return replace(actual, volumes={**actual.volumes, action.volume: volume})


def end(actual: ActualPod, action: Action, outcome: Outcome, now: float) -> ActualPod:
    """The operation ended. A failed refresh leaves a mounted volume mounted; a failed first mount leaves it uncertain."""
    if action.volume is None:
        return _end_directory(actual, action, outcome, now)
    key = action.volume
    volume = actual.volumes[key]
    match action.operation, outcome:
        case Operation.TEAR_DOWN, Done():
            return replace(actual, volumes={k: v for k, v in actual.volumes.items() if k != key})
        case _, Done(mounted=mounted):
            volume = replace(volume, state=VolumeState.MOUNTED, mounted=mounted, attempt=Attempt())
        case Operation.TEAR_DOWN, Failed() as failed:
            attempt = _after_failure(volume.attempt, action.operation, failed, now)
            volume = replace(volume, state=VolumeState.UNCERTAIN, mounted=None, attempt=attempt)
        case _, Failed() as failed:
            attempt = _after_failure(volume.attempt, action.operation, failed, now)
            volume = replace(volume, stale=volume.state is VolumeState.MOUNTED, attempt=attempt)
    return replace(actual, volumes={**actual.volumes, key: volume})


def _end_directory(actual: ActualPod, action: Action, outcome: Outcome, now: float) -> ActualPod:
    match outcome:
        case Failed() as failed:
            # Neither a half-made nor a half-removed directory may be taken for a whole one.
            attempt = _after_failure(actual.attempt, action.operation, failed, now)
            return replace(actual, directory=DirState.FOUND, attempt=attempt)
        case Done():
            made = action.operation is Operation.MAKE_DIR
            return replace(actual, directory=DirState.PRESENT if made else DirState.ABSENT, attempt=Attempt())


def _after_failure(before: Attempt, operation: Operation, failed: Failed, now: float) -> Attempt:
    if failed.waiting:
        return Attempt(error=failed.error, backoff=Backoff(operation, 0.0, FOREVER))
    last = before.backoff
    repeated = last is not None and last.operation is operation and last.delay_s > 0
    delay = min(last.delay_s * 2, MAX_DELAY_S) if last is not None and repeated else FIRST_DELAY_S
    return Attempt(error=failed.error, backoff=Backoff(operation, delay, now + delay))


def poke(actual: ActualPod) -> ActualPod:
    """A fact that operations wait for may have become known: let the waiting ones run again."""
    waiting = {
        key: replace(volume, attempt=replace(volume.attempt, backoff=None))
        for key, volume in actual.volumes.items()
        if volume.attempt.backoff is not None and volume.attempt.backoff.until_mono == FOREVER
    }
    return replace(actual, volumes={**actual.volumes, **waiting}) if waiting else actual


def refresh(actual: ActualPod, keys: Iterable[VolumeKey]) -> ActualPod:
    """The content of these volumes may have to change: set those that are mounted up once more."""
    stale = {k: replace(actual.volumes[k], stale=True) for k in keys if k in actual.volumes}
    return replace(actual, volumes={**actual.volumes, **stale}) if stale else actual


def is_settled(desired: DesiredPod, actual: ActualPod) -> bool:
    """Whether each thing that is wanted was tried at least once, so that the published row says something."""
    if desired.stage not in (Stage.RUN, Stage.KEEP):
        return True
    if desired.stage is Stage.RUN and actual.directory is not DirState.PRESENT:
        return bool(actual.attempt.error)
    known = [actual.volumes.get(key) for key in desired.volumes.values()]
    if desired.stage is Stage.KEEP and actual.directory is not DirState.FOUND:
        known = [volume for volume in known if volume is not None]
    return all(v is not None and (v.state is VolumeState.MOUNTED or v.attempt.error) for v in known)


def is_gone(actual: ActualPod) -> bool:
    """Nothing of this pod is on the machine, and nothing is being done about it."""
    return actual.directory is DirState.ABSENT and actual.attempt.running is None and not actual.volumes


def published(desired: DesiredPod, actual: ActualPod, pod_dir: str) -> PodVolumes:
    """The pod's row: what containers may use, or that nothing is mounted any more."""
    if desired.stage in (Stage.UNMOUNT, Stage.REMOVE):
        errors = {key.name: v.attempt.error for key, v in actual.volumes.items() if v.attempt.error}
        phase = VolumesPhase.PENDING if actual.volumes else VolumesPhase.UNMOUNTED
        removed = desired.stage is Stage.REMOVE and not actual.volumes and actual.directory is DirState.ABSENT
        return PodVolumes(
            phase=phase, errors=errors, pod_dir=pod_dir, dir_error=actual.attempt.error, dir_removed=removed
        )
    volumes: dict[str, MountedVolume] = {}
    errors = {}
    for name, key in desired.volumes.items():
        volume = actual.volumes.get(key)
        if volume is not None and volume.state is VolumeState.MOUNTED and volume.mounted is not None:
            volumes[name] = volume.mounted
        elif volume is not None and volume.attempt.error:
            errors[name] = volume.attempt.error
    directory = actual.directory is DirState.PRESENT or (
        desired.stage is Stage.KEEP and actual.directory is DirState.FOUND
    )
    whole = directory and len(volumes) == len(desired.volumes)
    return PodVolumes(
        phase=VolumesPhase.MOUNTED if whole else VolumesPhase.PENDING,
        volumes=volumes,
        errors=errors,
        pod_dir=pod_dir,
        dir_error=actual.attempt.error,
    )
