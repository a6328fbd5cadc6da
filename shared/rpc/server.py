"""Serves the methods of a plain object as a gRPC service."""

from collections.abc import Callable, Mapping
from typing import Any

import grpc
import grpc.aio

from shared.rpc.methods import Method


def service_handler(methods: Mapping[str, Method], servicer: object) -> grpc.GenericRpcHandler:
    """A handler for `grpc.aio.Server.add_generic_rpc_handlers`.

    Each rpc is the attribute of `servicer` in Python's style: a coroutine function of request and context, or an async
    generator function where the reply is a stream. An rpc without such an attribute is answered with UNIMPLEMENTED.
    """
    handlers = {
        name: _handler(method, getattr(servicer, method.attribute))
        for name, method in methods.items()
        if hasattr(servicer, method.attribute)
    }
    path = next(iter(methods.values())).path
    return grpc.method_handlers_generic_handler(path.split("/")[1], handlers)


def _handler(method: Method, function: Callable[..., Any]) -> "grpc.RpcMethodHandler[Any, Any]":
    if method.client_streaming:
        make = (
            grpc.stream_stream_rpc_method_handler if method.server_streaming else grpc.stream_unary_rpc_method_handler
        )
    else:
        make = grpc.unary_stream_rpc_method_handler if method.server_streaming else grpc.unary_unary_rpc_method_handler
    return make(
        function,
        request_deserializer=method.request.FromString,
        response_serializer=method.reply.SerializeToString,
    )
