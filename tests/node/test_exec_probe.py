"""exec probes through real runtimes: which of their answers is a verdict, and which is none."""

import asyncio

from services.prober.exec_probe import probe_exec
from services.prober.model import Verdict
from services.prober.ports import Finding
from services.prober.targets import ExecTarget
from shared.cri import api
from shared.cri.client import RuntimeClient
from tests.node.surroundings import Surroundings
from tests.shared.cri.pods import run_pod


def test_an_exit_status_and_a_lack_of_time_are_verdicts_and_everything_else_is_none(runtime: Surroundings) -> None:
    async def scenario() -> dict[str, Finding]:
        async with RuntimeClient(runtime.endpoint) as cri:
            parent, logs = f"{runtime.cgroup_root}/uid-probe", f"{runtime.layout.volatile}/logs"
            _, container_id = await run_pod(cri, "uid-probe", cgroup_parent=parent, log_directory=logs)

            async def ask(*command: str) -> Finding:
                return await probe_exec(cri, ExecTarget(command), container_id, 1.0)

            found = {
                "good": await ask("sh", "-c", "echo out; echo err >&2"),
                "bad": await ask("sh", "-c", "echo why; exit 3"),
                "slow": await ask("sleep", "30"),
                "missing": await ask("/no/such/program"),
            }
            await cri.stop_container(api.StopContainerRequest(container_id=container_id, timeout=0))
            found["dead"] = await ask("true")
            return found

    found = asyncio.run(asyncio.wait_for(scenario(), 60))
    assert found["good"] == Finding(Verdict.SUCCESS, "out\nerr\n")
    assert found["bad"] == Finding(Verdict.FAILURE, "why\n")
    assert found["slow"] == Finding(Verdict.FAILURE, 'command timed out: "sleep 30" timed out after 1s')
    for name in ("missing", "dead"):
        assert (found[name].verdict, found[name].error) == (Verdict.UNKNOWN, True), found[name]
        assert found[name].output.startswith("rpc error: code = ")
