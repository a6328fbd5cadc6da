"""What node_status publishes: the Node object and where this node's certificates are."""

from shared.kube.types import Node
from shared.messages.base import Message, Service, Table


class NodeEntry(Message, frozen=True):
    """This node as computed here, under the one key `node`; `uid` is empty until an API server has given one."""

    node: Node
    registered: bool = False


NODE = Table("node", key="node", value=NodeEntry, owner=Service.NODE_STATUS)


class CredentialPaths(Message, frozen=True):
    """Paths, serials, expiry; never keys. Keys: `client`, `serving`."""

    certificate_path: str
    key_path: str
    serial: str = ""
    expires_at: float = 0.0


CREDENTIALS = Table("credentials", key="use", value=CredentialPaths, owner=Service.NODE_STATUS)
