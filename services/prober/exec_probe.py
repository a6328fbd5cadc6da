"""exec: a command in the container, through the runtime (upstream `probe/exec`)."""

import math
from typing import Final

from services.prober.model import Verdict
from services.prober.ports import Finding
from services.prober.targets import ExecTarget
from shared.cri import api
from shared.cri.client import CommandTimedOut, RuntimeClient
from shared.errors import OctoletError

MAX_OUTPUT_BYTES: Final = 10 * 1024
"""upstream `probe/exec`: maxReadLength"""


async def probe_exec(cri: RuntimeClient, target: ExecTarget, container_id: str, timeout_s: float) -> Finding:
    """Success when it ends with 0, failure for another status or none in time; a runtime that refuses is an error."""
    request = api.ExecSyncRequest(container_id=container_id, cmd=target.command, timeout=math.ceil(timeout_s))
    try:
        reply = await cri.exec_sync(request)
    except CommandTimedOut as e:
        return Finding(Verdict.FAILURE, str(e))
    except OctoletError as e:
        return Finding(Verdict.UNKNOWN, str(e), error=True)
    output = (reply.stdout + reply.stderr)[:MAX_OUTPUT_BYTES].decode(errors="replace")
    return Finding(Verdict.SUCCESS if reply.exit_code == 0 else Verdict.FAILURE, output)
