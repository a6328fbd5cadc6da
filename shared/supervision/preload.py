"""The modules that supervisord imports once, so that each daemon forked from it has them without paying again.

Importing any of these has no side effect: no thread, socket, gRPC channel or event loop before `main()`.
"""

import contextlib
import gc
import importlib
import os
import sys
from collections.abc import Callable, Iterator
from typing import Final

LIBRARIES: Final = (
    "asyncio",
    "concurrent.futures.thread",
    "json",
    "logging",
    "msgpack",
    "msgspec",
    "zmq",
    "structlog",
    "prometheus_client",
    "yaml",
    "grpc",
    "grpc.aio",
    "google.protobuf.message",
    "setproctitle",
)

SHARED: Final = (
    "shared.errors",
    "shared.kube.types",
    "shared.kube.quantity",
    "shared.kube.pods",
    "shared.messages.registry",
    "shared.bus",
    "shared.service",
    "shared.checkpoint",
    "shared.cri",
    "shared.cri.client",
)

DAEMONS: Final = tuple(
    f"services.{name}.{part}"
    for name in (
        "pod_sync",
        "pleg",
        "volume_manager",
        "container_manager",
        "eviction",
        "prober",
        "node_status",
        "server",
    )
    for part in ("settings", "shell")
)
"""Each daemon's own code too: a page of it costs the same once, and a restart then imports nothing."""

MODULES: Final = LIBRARIES + SHARED + DAEMONS


def preload(report: Callable[[str], None], modules: tuple[str, ...] = MODULES) -> None:
    """Import the modules and put what they made out of the garbage collector's reach, so that it stays shared.

    A module that cannot be imported is reported and left out: its daemon will fail alone, and say why.
    """
    os.environ["GRPC_ENABLE_FORK_SUPPORT"] = "0"  # no channel exists before the fork, so its handlers only cost
    with _hidden("rich"):  # structlog loads it for coloured tracebacks: 3 MiB that no daemon has a use for
        _load(modules, report)
    _learn_messages()
    if (context := sys.modules.get("shared.service.context")) is not None:
        context.version()  # 0.7 MiB when each daemon looks for it
    gc.collect()
    gc.freeze()


def _load(modules: tuple[str, ...], report: Callable[[str], None]) -> None:
    for name in modules:
        try:
            importlib.import_module(name)
        except Exception as error:
            report(f"preload {name}: {type(error).__name__}: {error}")


def _learn_messages() -> None:
    """Have msgspec look at every message once: what it finds out stays with the types, and so is shared by the daemons.

    Left to them it is 1.5 MiB in each that follows `pods`.
    """
    registry = sys.modules.get("shared.messages.registry")
    if registry is None:
        return
    import msgspec

    for table in registry.TABLES.values():
        msgspec.msgpack.Decoder(table.value)
    for request in registry.REQUESTS.values():
        msgspec.msgpack.Decoder(request.request)
        msgspec.msgpack.Decoder(request.reply)


@contextlib.contextmanager
def _hidden(name: str) -> Iterator[None]:
    """Make an optional module look as if it were not installed, unless it is loaded already."""
    if name in sys.modules:
        yield
        return
    sys.modules[name] = None  # type: ignore[assignment]
    try:
        yield
    finally:
        del sys.modules[name]
