"""Failures to connect, in the words that people know from the kubelet (Go's `net.OpError`)."""

import errno
import os
import socket
import ssl

from services.prober.targets import join_host_port


def dial_error(error: OSError | UnicodeError, host: str, port: int) -> str:
    """`dial tcp 10.0.0.5:80: connect: connection refused` and its like."""
    if isinstance(error, socket.gaierror | UnicodeError):
        return f"dial tcp: lookup {host}: no such host"
    if isinstance(error, ssl.SSLError):
        if error.reason in ("WRONG_VERSION_NUMBER", "RECORD_LAYER_FAILURE", "HTTP_REQUEST"):
            return "http: server gave HTTP response to HTTPS client"
        return f"tls: {error.reason or error}"
    if isinstance(error, ConnectionResetError):
        return "read: connection reset by peer"
    return f"dial tcp {join_host_port(host, port)}: connect: {_words(error)}"


def _words(error: OSError) -> str:
    code = error.errno
    if code is None:  # several addresses were tried
        code = next(
            (c for c in (errno.ECONNREFUSED, errno.EHOSTUNREACH, errno.ENETUNREACH) if os.strerror(c) in str(error)), 0
        )
    return os.strerror(code).lower() if code else str(error).lower()
