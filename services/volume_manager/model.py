"""What the planner knows of one pod's volumes and directory, and what it may ask for. Everything here is frozen."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from shared.messages.volume_manager import MountedVolume

FOREVER: Final = float("inf")
"""`Backoff.until_mono` of an operation that waits for something to become known, not for time to pass."""


class Stage(StrEnum):
    """What may be done with a pod's volumes now. It only moves down this list, for a pod never comes back to life."""

    UNKNOWN = "unknown"
    """nobody has said yet whether the pod still exists: touch nothing"""
    RUN = "run"
    """its containers may be started: directory and volumes are wanted"""
    KEEP = "keep"
    """its containers are being stopped: nothing new is mounted, nothing is unmounted"""
    UNMOUNT = "unmount"
    """no container runs or will run: unmount"""
    REMOVE = "remove"
    """nobody needs its files any more: unmount, then remove its directory"""


class Operation(StrEnum):
    """What is done to a volume or a pod directory; the values are upstream's operation names where it has one."""

    SET_UP = "volume_mount"
    TEAR_DOWN = "volume_unmount"
    MAKE_DIR = "make_pod_dir"
    REMOVE_DIR = "remove_pod_dir"


@dataclass(frozen=True, order=True)
class VolumeKey:
    """One volume of a pod: the plugin's full name (`kubernetes.io/empty-dir`) and the name of its directory.

    The directory is named after the volume, or after the PersistentVolume when it comes from a claim.
    """

    plugin: str
    name: str


@dataclass(frozen=True)
class DesiredPod:
    """What the owner of the pods wants now. `volumes` holds only those that a container refers to, by pod volume name."""

    stage: Stage
    volumes: Mapping[str, VolumeKey] = field(default_factory=dict)


@dataclass(frozen=True)
class Backoff:
    """An operation failed and is not tried again before `until_mono`; another operation on the same thing may be."""

    operation: Operation
    delay_s: float
    until_mono: float


@dataclass(frozen=True)
class Attempt:
    """What is going on with one volume or directory: at most one operation at a time."""

    running: Operation | None = None
    error: str = ""
    backoff: Backoff | None = None


class VolumeState(StrEnum):
    """Only `mounted` is offered to containers; both are torn down before the pod directory goes (upstream `volumemanager`)."""

    UNCERTAIN = "uncertain"
    """found on disk at start, or an attempt failed and may have left something behind"""
    MOUNTED = "mounted"


@dataclass(frozen=True)
class ActualVolume:
    """One volume as far as this process knows. `stale` asks for one more set-up of a mounted volume (new content)."""

    state: VolumeState
    mounted: MountedVolume | None = None
    attempt: Attempt = Attempt()
    stale: bool = False


class DirState(StrEnum):
    ABSENT = "absent"
    FOUND = "found"
    """it exists, but this process has not made sure of its parts and modes"""
    PRESENT = "present"


@dataclass(frozen=True)
class ActualPod:
    directory: DirState = DirState.ABSENT
    attempt: Attempt = Attempt()
    volumes: Mapping[VolumeKey, ActualVolume] = field(default_factory=dict)


@dataclass(frozen=True)
class Action:
    """Carry out `operation` on one volume, or on the pod's directory when `volume` is None."""

    operation: Operation
    volume: VolumeKey | None = None


@dataclass(frozen=True)
class Plan:
    """What to start now, and when to look again although nothing happened (monotonic seconds; None: never)."""

    actions: tuple[Action, ...] = ()
    wake_at_mono: float | None = None


@dataclass(frozen=True)
class Done:
    """An operation succeeded; `mounted` is the result of a set-up."""

    mounted: MountedVolume | None = None


@dataclass(frozen=True)
class Failed:
    """An operation failed. `waiting`: it needs a fact that is not known yet, so time alone is no reason to retry."""

    error: str
    waiting: bool = False


Outcome = Done | Failed
