"""tcpSocket: the port is open, or it is not (upstream `probe/tcp`)."""

import asyncio

from services.prober.dial import dial_error
from services.prober.model import Verdict
from services.prober.ports import Finding
from services.prober.targets import TcpTarget, join_host_port


async def probe_tcp(target: TcpTarget, timeout_s: float) -> Finding:
    """Success when a connection opens within the time; it is closed at once."""
    try:
        async with asyncio.timeout(timeout_s):
            _, writer = await asyncio.open_connection(target.host, target.port)
    except TimeoutError:
        return Finding(Verdict.FAILURE, f"dial tcp {join_host_port(target.host, target.port)}: i/o timeout")
    except (OSError, UnicodeError) as e:
        return Finding(Verdict.FAILURE, dial_error(e, target.host, target.port))
    writer.close()
    return Finding(Verdict.SUCCESS)
