"""Which pods were admitted and with which resources: ROOT/allocated_pods_state, in the kubelet's own format.

The file is JSON `{"data": <text>, "checksum": n}`; the text is JSON again, and the checksum is FNV-1a 32 of `(string)`
followed by the text (upstream `allocation/state`). A node can thus be switched between octolet and the kubelet. Unlike
the kubelet a damaged file does not stop this daemon: it is set aside, and pods are admitted anew.
"""

from pathlib import Path
from typing import Any, Final

import msgspec
import structlog

from shared.checkpoint import write_atomic
from shared.kube.types import Container, Pod, ResourceRequirements

_FNV32_OFFSET: Final = 0x811C9DC5
_FNV32_PRIME: Final = 0x01000193


class Amounts(msgspec.Struct, frozen=True, omit_defaults=True):
    """Requests and limits as quantity strings."""

    limits: dict[str, str] = {}
    requests: dict[str, str] = {}


class Allocation(msgspec.Struct, frozen=True, rename="pascal"):
    """What one pod was given. Only containers with requests or limits matter, but all are listed, as upstream does."""

    container_resources: dict[str, Amounts] = {}
    pod_level_resources: Amounts | None = None
    empty_dir_volume_limits: dict[str, Any] | None = None


class _Data(msgspec.Struct, frozen=True):
    entries: dict[str, Allocation] = {}


class _File(msgspec.Struct, frozen=True):
    data: str
    checksum: int


def checksum(data: str) -> int:
    """FNV-1a 32 of the text as upstream's deep hash prints a string."""
    value = _FNV32_OFFSET
    for byte in b"(string)" + data.encode():
        value = ((value ^ byte) * _FNV32_PRIME) & 0xFFFFFFFF
    return value


class Allocations:
    """Allocations by pod UID. `load` and `save` block for the disk: call them from a thread."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._entries: dict[str, Allocation] = {}
        self._written = 0

    def load(self) -> None:
        """A file that cannot be used is renamed to `*.corrupt` with a warning."""
        try:
            raw = self._path.read_bytes()
        except FileNotFoundError:
            return
        try:
            file = msgspec.json.decode(raw, type=_File)
            if file.checksum != checksum(file.data):
                raise msgspec.ValidationError("its checksum is wrong")
            self._entries = dict(msgspec.json.decode(file.data, type=_Data).entries)
            self._written = file.checksum
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            aside = self._path.with_name(f"{self._path.name}.corrupt")
            self._path.replace(aside)
            structlog.get_logger().warning(
                "checkpoint.set_aside", path=str(self._path), renamed_to=str(aside), error=str(error)
            )

    def __contains__(self, uid: str) -> bool:
        return uid in self._entries

    def uids(self) -> frozenset[str]:
        return frozenset(self._entries)

    def put(self, pod: Pod) -> None:
        """The pod was admitted as it is. Call `save` before acting on it."""
        self._entries[pod.metadata.uid] = allocation_of(pod)

    def delete(self, uid: str) -> None:
        """Removals alone are not worth a write: the next `save` has them."""
        self._entries.pop(uid, None)

    def save(self) -> None:
        """Write the file if its content changed. Raises OSError."""
        data = msgspec.json.encode(_Data(dict(self._entries)), order="sorted").decode()
        wanted = checksum(data)
        if wanted == self._written:
            return
        self._path.parent.mkdir(mode=0o750, parents=True, exist_ok=True)
        write_atomic(self._path, msgspec.json.encode(_File(data, wanted)))
        self._written = wanted

    def allocated(self, pod: Pod) -> Pod:
        """The pod with the resources that it was given; the pod itself when nothing is recorded."""
        entry = self._entries.get(pod.metadata.uid)
        if entry is None or entry == allocation_of(pod):
            return pod
        spec = msgspec.structs.replace(
            pod.spec,
            containers=[_with(c, entry) for c in pod.spec.containers],
            init_containers=[_with(c, entry) for c in pod.spec.init_containers],
        )
        if entry.pod_level_resources is not None and pod.spec.resources is not None:
            level = entry.pod_level_resources
            own = msgspec.structs.replace(pod.spec.resources, limits=level.limits, requests=level.requests)
            spec = msgspec.structs.replace(spec, resources=own)
        return msgspec.structs.replace(pod, spec=spec)


def allocation_of(pod: Pod) -> Allocation:
    """What the pod's spec asks for."""
    containers = [*pod.spec.init_containers, *pod.spec.containers]
    level = pod.spec.resources
    return Allocation(
        container_resources={c.name: _amounts(c.resources) for c in containers},
        pod_level_resources=_amounts(level) if level is not None else None,
    )


def _amounts(resources: ResourceRequirements | None) -> Amounts:
    if resources is None:
        return Amounts()
    return Amounts(limits=dict(resources.limits), requests=dict(resources.requests))


def _with(container: Container, entry: Allocation) -> Container:
    given = entry.container_resources.get(container.name)
    if given is None or given == _amounts(container.resources):
        return container
    old = container.resources if container.resources is not None else ResourceRequirements()
    return msgspec.structs.replace(
        container, resources=msgspec.structs.replace(old, limits=given.limits, requests=given.requests)
    )
