"""Carries out a probe by its kind."""

from services.prober.exec_probe import probe_exec
from services.prober.grpc_probe import probe_grpc
from services.prober.http_probe import probe_http
from services.prober.ports import Finding
from services.prober.targets import ExecTarget, GrpcTarget, HttpTarget, Target, TcpTarget
from services.prober.tcp_probe import probe_tcp
from shared.cri.client import RuntimeClient


class RealAsker:
    """See `ports.Asker`."""

    def __init__(self, cri: RuntimeClient) -> None:
        self._cri = cri

    async def ask(self, target: Target, container_id: str, timeout_s: float) -> Finding:
        match target:
            case ExecTarget():
                return await probe_exec(self._cri, target, container_id, timeout_s)
            case HttpTarget():
                return await probe_http(target, timeout_s)
            case TcpTarget():
                return await probe_tcp(target, timeout_s)
            case GrpcTarget():
                return await probe_grpc(target, timeout_s)
