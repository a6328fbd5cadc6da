"""The gRPC health checking protocol: `api` holds its messages, generated from `protos/health` by `make protos`."""

try:
    from shared.health.stubs.health.v1 import health_pb2 as api
except ModuleNotFoundError as error:
    raise ImportError("the code generated from protos/ is missing: run `make protos`") from error

__all__ = ["api"]
