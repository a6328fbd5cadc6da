"""CreateContainer and StartContainer that may be repeated."""

from dataclasses import dataclass
from enum import StrEnum

from services.pod_sync.environment.model import CONTAINER_NAME_LABEL, POD_UID_LABEL
from services.pod_sync.runtime.ports import RuntimeService
from services.pod_sync.runtime.reserved import StillBeingMade, is_name_reserved
from shared.cri import api
from shared.errors import NotFound, OctoletError


class Former(StrEnum):
    """What a former life of this process had done with a container instance."""

    NOTHING = "nothing"
    RUNNING = "running"
    EXITED = "exited"


@dataclass(frozen=True)
class Created:
    """A container instance in the runtime, and whether it was found there as started already."""

    id: str
    former: Former = Former.NOTHING


@dataclass(frozen=True)
class ContainerCreation:
    """Makes and starts container instances, at most one per name and attempt whatever was interrupted before."""

    cri: RuntimeService

    async def create(self, request: api.CreateContainerRequest) -> Created:
        """A container with that configuration. Raises what the runtime answered, or StillBeingMade.

        A former life of this process may have made this instance and not lived to hear of it. One that was never
        started is removed and made anew, for its files and variables may have changed. One that was started is ours.
        """
        try:
            return Created((await self.cri.create_container(request)).container_id)
        except OctoletError as error:
            if not is_name_reserved(error):
                raise
        started = await self._settle_former(request)
        return started or Created((await self.cri.create_container(request)).container_id)

    async def _settle_former(self, request: api.CreateContainerRequest) -> Created | None:
        labels = request.config.labels
        selector = {key: labels[key] for key in (POD_UID_LABEL, CONTAINER_NAME_LABEL)}
        query = api.ListContainersRequest(filter=api.ContainerFilter(label_selector=selector))
        listed = (await self.cri.list_containers(query)).containers
        former = [item for item in listed if item.metadata.attempt == request.config.metadata.attempt]
        for item in former:
            if item.state == api.ContainerState.CONTAINER_RUNNING:
                return Created(item.id, Former.RUNNING)
            if item.state == api.ContainerState.CONTAINER_EXITED:
                return Created(item.id, Former.EXITED)
            await self.remove(item.id)
        if not former:
            name = request.config.metadata.name
            raise StillBeingMade(f"container {name} attempt {request.config.metadata.attempt} is still being created")
        return None

    async def start(self, container_id: str) -> None:
        """Start it. Raises what the runtime answered."""
        await self.cri.start_container(api.StartContainerRequest(container_id=container_id))

    async def remove(self, container_id: str) -> None:
        """Remove it. NotFound is success."""
        try:
            await self.cri.remove_container(api.RemoveContainerRequest(container_id=container_id))
        except NotFound:
            return
