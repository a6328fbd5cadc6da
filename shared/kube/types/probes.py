"""Probes, hooks and what they do: run a command, connect, ask over HTTP or gRPC, sleep."""

from shared.kube.types.base import ApiObject


class ExecAction(ApiObject, frozen=True, kw_only=True):
    """A command run in the container, without a shell."""

    command: list[str] = []


class GRPCAction(ApiObject, frozen=True, kw_only=True):
    """The gRPC health service at that port."""

    mode: str | None = None
    port: int = 0
    service: str | None = None


class HTTPHeader(ApiObject, frozen=True, kw_only=True):
    """One header; repeated names are allowed."""

    name: str = ""
    value: str = ""


class HTTPGetAction(ApiObject, frozen=True, kw_only=True):
    """A GET; `port` is a number or the name of a container port. Host empty: the pod's IP."""

    host: str | None = None
    http_headers: list[HTTPHeader] = []
    path: str | None = None
    port: int | str = 0
    protocol: str | None = None
    scheme: str | None = None


class TCPSocketAction(ApiObject, frozen=True, kw_only=True):
    """Opening a connection; `port` is a number or the name of a container port."""

    host: str | None = None
    port: int | str = 0


class SleepAction(ApiObject, frozen=True, kw_only=True):
    """Waiting that many seconds."""

    seconds: int = 0


class Probe(ApiObject, frozen=True, kw_only=True):
    """Exactly one handler, and when to run it. Times in seconds."""

    exec: ExecAction | None = None
    failure_threshold: int | None = None
    grpc: GRPCAction | None = None
    http_get: HTTPGetAction | None = None
    initial_delay_seconds: int | None = None
    period_seconds: int | None = None
    success_threshold: int | None = None
    tcp_socket: TCPSocketAction | None = None
    termination_grace_period_seconds: int | None = None
    timeout_seconds: int | None = None


class LifecycleHandler(ApiObject, frozen=True, kw_only=True):
    """Exactly one handler."""

    exec: ExecAction | None = None
    http_get: HTTPGetAction | None = None
    sleep: SleepAction | None = None
    tcp_socket: TCPSocketAction | None = None


class Lifecycle(ApiObject, frozen=True, kw_only=True):
    """Hooks after the start and before the stop, and the stop signal."""

    post_start: LifecycleHandler | None = None
    pre_stop: LifecycleHandler | None = None
    stop_signal: str | None = None
