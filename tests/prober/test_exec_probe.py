"""exec probes over a runtime that answers as real ones do."""

import asyncio
from pathlib import Path

import grpc
import grpc.aio
import pytest

from services.prober.exec_probe import probe_exec
from services.prober.model import Verdict
from services.prober.ports import Finding
from services.prober.targets import ExecTarget
from shared.cri import api
from shared.cri.client import RuntimeClient


async def exec_sync(
    request: api.ExecSyncRequest, context: "grpc.aio.ServicerContext[object, object]"
) -> api.ExecSyncResponse:
    """A runtime in which each command does what its name says."""
    match request.cmd[0]:
        case "good":
            return api.ExecSyncResponse(stdout=b"out", stderr=b"err")
        case "bad":
            return api.ExecSyncResponse(stdout=b"\xffout", stderr=b"err", exit_code=3)
        case "chatty":
            return api.ExecSyncResponse(stdout=b"x" * 10_000, stderr=b"y" * 10_000, exit_code=1)
        case "slow":
            await context.abort(grpc.StatusCode.DEADLINE_EXCEEDED, f"timeout {request.timeout}s exceeded")
    await context.abort(grpc.StatusCode.UNKNOWN, "no such container")
    raise AssertionError


async def ask(socket: Path, *command: str, timeout_s: float = 1.0) -> Finding:
    server = grpc.aio.server()
    method = grpc.unary_unary_rpc_method_handler(
        exec_sync,
        request_deserializer=api.ExecSyncRequest.FromString,
        response_serializer=api.ExecSyncResponse.SerializeToString,
    )
    handler = grpc.method_handlers_generic_handler("runtime.v1.RuntimeService", {"ExecSync": method})
    server.add_generic_rpc_handlers((handler,))
    server.add_insecure_port(f"unix://{socket}")
    await server.start()
    try:
        async with RuntimeClient(f"unix://{socket}") as cri:
            return await probe_exec(cri, ExecTarget(command), "c1", timeout_s)
    finally:
        await server.stop(None)


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        (("good",), Finding(Verdict.SUCCESS, "outerr")),
        (("bad",), Finding(Verdict.FAILURE, "\N{REPLACEMENT CHARACTER}outerr")),
        (("chatty",), Finding(Verdict.FAILURE, "x" * 10_000 + "y" * 240)),
        (("slow", "-x"), Finding(Verdict.FAILURE, 'command timed out: "slow -x" timed out after 1s')),
        (("gone",), Finding(Verdict.UNKNOWN, "rpc error: code = Unknown desc = no such container", error=True)),
    ],
)
def test_the_exit_status_decides_and_a_runtime_that_refuses_decides_nothing(
    tmp_path: Path, command: tuple[str, ...], expected: Finding
) -> None:
    assert asyncio.run(ask(tmp_path / "s", *command)) == expected


def test_a_runtime_that_is_away_decides_nothing(tmp_path: Path) -> None:
    async def scenario() -> Finding:
        async with RuntimeClient(f"unix://{tmp_path}/none", timeout_s=0.2) as cri:
            return await probe_exec(cri, ExecTarget(("x",)), "c1", 0.2)

    found = asyncio.run(scenario())
    assert (found.verdict, found.error) == (Verdict.UNKNOWN, True)
