"""The container runtime interface: `api` holds its messages, `client.RuntimeClient` speaks it.

`api` is generated from `protos/runtime/v1/api.proto` by `make protos`.
"""

try:
    from shared.cri.stubs.runtime.v1 import api_pb2 as api
except ModuleNotFoundError as error:
    raise ImportError("the code generated from protos/ is missing: run `make protos`") from error

__all__ = ["api"]
