"""grpc: the health protocol's Check, in plain text, within one deadline (upstream `probe/grpc`)."""

import asyncio
from typing import Final

import grpc
import grpc.aio

from services.prober.model import Verdict
from services.prober.ports import Finding
from services.prober.targets import USER_AGENT, GrpcTarget, join_host_port
from shared.health import api
from shared.kube.duration import format_go_duration
from shared.rpc.errors import code_name

_CHECK: Final = "/grpc.health.v1.Health/Check"
_OPTIONS: Final = [
    ("grpc.primary_user_agent", USER_AGENT),
    ("grpc.initial_reconnect_backoff_ms", 100),
    ("grpc.min_reconnect_backoff_ms", 1000),
    ("grpc.max_reconnect_backoff_ms", 1000),
    ("grpc.enable_http_proxy", 0),
    ("grpc.use_local_subchannel_pool", 1),
    ("grpc.enable_retries", 0),
]


async def probe_grpc(target: GrpcTarget, timeout_s: float) -> Finding:
    """Success when the service says SERVING. Connecting and asking share the time; a refused connection is dialled again."""
    address = join_host_port(target.host, target.port)
    within = format_go_duration(timeout_s)
    deadline = asyncio.get_running_loop().time() + timeout_s
    async with grpc.aio.insecure_channel(address, options=_OPTIONS) as channel:
        try:
            async with asyncio.timeout_at(deadline):
                await channel.channel_ready()
        except TimeoutError:
            text = f'timeout: failed to connect service "{address}" within {within}: context deadline exceeded'
            return Finding(Verdict.FAILURE, text)
        check = channel.unary_unary(
            _CHECK,
            request_serializer=api.HealthCheckRequest.SerializeToString,
            response_deserializer=api.HealthCheckResponse.FromString,
        )
        left = max(0.001, deadline - asyncio.get_running_loop().time())
        try:
            reply = await check(api.HealthCheckRequest(service=target.service), timeout=left)
        except grpc.aio.AioRpcError as e:
            return Finding(Verdict.FAILURE, _refusal(e, within))
    if reply.status != api.HealthCheckResponse.SERVING:
        return Finding(Verdict.FAILURE, f'service unhealthy (responded with "{_status_name(reply.status)}")')
    return Finding(Verdict.SUCCESS, "service healthy")


def _refusal(error: grpc.aio.AioRpcError, within: str) -> str:
    details = error.details() or ""
    match error.code():
        case grpc.StatusCode.UNIMPLEMENTED:
            return f"error: this server does not implement the grpc health protocol (grpc.health.v1.Health): {details}"
        case grpc.StatusCode.DEADLINE_EXCEEDED:
            return f"timeout: health rpc did not complete within {within}"
        case code:
            return f"error: health rpc probe failed: rpc error: code = {code_name(code)} desc = {details}"


def _status_name(status: int) -> str:
    known = api.HealthCheckResponse.ServingStatus.keys()
    return known[status] if 0 <= status < len(known) else str(status)
