"""Channels to Unix sockets."""

import grpc
import grpc.aio

from shared.errors import Invalid

MAX_MESSAGE_BYTES = 16 * 1024 * 1024
"""The largest message taken in (upstream `cri-client`: `maxMsgSize`)."""

RECONNECT_FIRST_MS = 100
RECONNECT_MAX_MS = 1_000
"""Back-off between dials. Upstream ends at 3 s; a dial of a Unix socket costs nothing, and a runtime that is back
should be noticed within a second."""

CONNECT_TIMEOUT_MS = 5_000
"""How long a peer may take to greet (gRPC's name for it is `min_reconnect_backoff_ms`, which does not delay dials)."""


def socket_path(endpoint: str) -> str:
    """The path of a `unix://` endpoint; a bare path is one too. Raises Invalid for any other kind."""
    scheme, separator, rest = endpoint.partition("://")
    path = rest if separator else endpoint
    if (separator and scheme != "unix") or not path.startswith("/"):
        raise Invalid(f"endpoint {endpoint!r}: only support unix socket endpoint")
    return path


def open_channel(endpoint: str, *, max_message_bytes: int = MAX_MESSAGE_BYTES) -> grpc.aio.Channel:
    """A channel that dials at its first call and again after each loss. Needs a running loop. Raises Invalid."""
    options = [
        # Servers written in Go reject the escaped path that gRPC would send as the authority.
        ("grpc.default_authority", "localhost"),
        ("grpc.max_receive_message_length", max_message_bytes),
        ("grpc.max_send_message_length", -1),
        ("grpc.initial_reconnect_backoff_ms", RECONNECT_FIRST_MS),
        ("grpc.min_reconnect_backoff_ms", CONNECT_TIMEOUT_MS),
        ("grpc.max_reconnect_backoff_ms", RECONNECT_MAX_MS),
        ("grpc.enable_http_proxy", 0),
        # Channels of one process must not share a connection's back-off: a new channel dials at once.
        ("grpc.use_local_subchannel_pool", 1),
        # The one retry that gRPC does by itself would hide a lost connection from the callers, who retry.
        ("grpc.enable_retries", 0),
    ]
    return grpc.aio.insecure_channel(f"unix://{socket_path(endpoint)}", options=options)
