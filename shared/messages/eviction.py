"""What eviction publishes: pressure on the node, and what it threw away."""

from shared.messages.base import Message, Service, Table


class NodePressure(Message, frozen=True):
    """Under the one key `node`. `conditions` holds MemoryPressure, DiskPressure, PIDPressure while they are true."""

    conditions: list[str] = []
    signals: dict[str, str] = {}
    """last observation by signal, `available/capacity` as quantity strings"""
    observed_at_mono: float = 0.0


NODE_PRESSURE = Table("node_pressure", key="node", value=NodePressure, owner=Service.EVICTION)


class RemovedImage(Message, frozen=True):
    at: float
    size_bytes: int = 0


REMOVED_IMAGES = Table("removed_images", key="image_id", value=RemovedImage, owner=Service.EVICTION)
