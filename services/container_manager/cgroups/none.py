"""`cgroupsPerQOS` off: pods have no groups of their own and run in the runtime's."""

from services.container_manager.cgroups.model import Limits
from shared.cgroups.names import CgroupName, PodGroups


class NoGroups:
    """Every group is there at once and gone at once; nothing is written."""

    version = 2
    sizes: tuple[str, ...] = ()

    def exists(self, name: CgroupName) -> bool:
        return True

    def create(self, name: CgroupName, limits: Limits) -> list[str]:
        return []

    def update(self, name: CgroupName, limits: Limits) -> list[str]:
        return []

    def finish(self, name: CgroupName, limits: Limits) -> list[str]:
        return []

    def list_pods(self, groups: PodGroups) -> dict[str, CgroupName]:
        return {}

    def destroy(self, name: CgroupName) -> None:
        return None
