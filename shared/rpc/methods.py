"""The methods of a gRPC service, read from its descriptor."""

import re
from dataclasses import dataclass

from google.protobuf.descriptor import FileDescriptor
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass


@dataclass(frozen=True)
class Method:
    """One rpc. `path` is what travels on the wire: `/package.Service/Name`."""

    name: str
    path: str
    request: type[Message]
    reply: type[Message]
    client_streaming: bool
    server_streaming: bool

    @property
    def attribute(self) -> str:
        """The name in Python's style: `ListPodSandbox` is `list_pod_sandbox`."""
        return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", self.name).lower()


def service_methods(file: FileDescriptor, service: str) -> dict[str, Method]:
    """Each rpc of that service of a .proto file, by name. Raises KeyError when the file has no such service."""
    descriptor = file.services_by_name[service]
    return {
        method.name: Method(
            name=method.name,
            path=f"/{descriptor.full_name}/{method.name}",
            request=GetMessageClass(method.input_type),
            reply=GetMessageClass(method.output_type),
            client_streaming=method.client_streaming,
            server_streaming=method.server_streaming,
        )
        for method in descriptor.methods
    }
