"""supervisord's XML-RPC over its Unix socket, with the standard library alone."""

import http.client
import socket
import xmlrpc.client
from pathlib import Path
from typing import Any

from shared.supervision.layout import supervisor_socket


class _Connection(http.client.HTTPConnection):
    def __init__(self, path: str) -> None:
        super().__init__("localhost", timeout=2.0)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        try:
            self.sock.connect(self._path)
        except OSError:
            self.sock.close()
            raise


class _Transport(xmlrpc.client.Transport):
    def __init__(self, path: Path) -> None:
        super().__init__()
        self._path = str(path)

    def make_connection(self, host: Any) -> http.client.HTTPConnection:
        connection = _Connection(self._path)
        self._connection = host, connection  # what `close` closes
        return connection


def supervised_daemons(run_dir: Path) -> dict[str, dict[str, Any]]:
    """What the supervisor says of each daemon (see `Supervision.daemons`); empty when there is no supervisor."""
    transport = _Transport(supervisor_socket(run_dir))
    try:
        with xmlrpc.client.ServerProxy("http://localhost/RPC2", transport=transport) as proxy:
            rows: Any = proxy.octolet.daemons()
    except (OSError, http.client.HTTPException, xmlrpc.client.Error):
        return {}
    return {row["name"]: row for row in rows}
