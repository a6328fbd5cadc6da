"""All tables and requests of the node, and the order in which daemons may ask each other.

The lists are read from the owners' modules, so that they cannot drift. A request goes only from a higher rank to a
lower one: then no two daemons can wait for each other.
"""

from types import ModuleType
from typing import Any, Final

from shared.messages import (
    container_manager,
    daemon,
    eviction,
    node_status,
    pleg,
    pod_sync,
    prober,
    server,
    volume_manager,
)
from shared.messages.base import Request, Service, Table

MODULES: Final[dict[str, ModuleType]] = {
    Service.POD_SYNC: pod_sync,
    Service.PLEG: pleg,
    Service.VOLUME_MANAGER: volume_manager,
    Service.CONTAINER_MANAGER: container_manager,
    Service.EVICTION: eviction,
    Service.PROBER: prober,
    Service.NODE_STATUS: node_status,
    Service.SERVER: server,
    "daemon": daemon,
}
"""where each owner declares its messages; `daemon` is what all of them publish and answer"""

TABLES: Final[dict[str, Table[Any]]] = {
    value.name: value for module in MODULES.values() for value in vars(module).values() if isinstance(value, Table)
}
REQUESTS: Final[dict[str, Request[Any, Any]]] = {
    value.name: value for module in MODULES.values() for value in vars(module).values() if isinstance(value, Request)
}

RANK: Final[dict[str, int]] = {
    Service.SERVER: 5,
    Service.EVICTION: 4,
    Service.PROBER: 4,
    Service.NODE_STATUS: 4,
    Service.POD_SYNC: 3,
    Service.VOLUME_MANAGER: 2,
    Service.CONTAINER_MANAGER: 2,
    Service.PLEG: 1,
}
"""who may ask whom: only a greater rank a smaller one; equals never"""
