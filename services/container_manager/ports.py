"""What the daemon needs of the machine's groups; `cgroups.cgroupfs` is the real one."""

from typing import Protocol

from services.container_manager.cgroups.model import Limits
from shared.cgroups.names import CgroupName, PodGroups


class Groups(Protocol):
    """See `cgroups.cgroupfs.CgroupFs`. Every method blocks."""

    version: int
    sizes: tuple[str, ...]

    def exists(self, name: CgroupName) -> bool: ...
    def create(self, name: CgroupName, limits: Limits) -> list[str]: ...
    def update(self, name: CgroupName, limits: Limits) -> list[str]: ...
    def finish(self, name: CgroupName, limits: Limits) -> list[str]: ...
    def list_pods(self, groups: PodGroups) -> dict[str, CgroupName]: ...
    def destroy(self, name: CgroupName) -> None: ...
