"""Listening sockets: plain or TLS, each connection in a task of its own."""

import asyncio
import socket
import ssl
import time
from asyncio import sslproto
from dataclasses import dataclass
from typing import Final

import structlog.typing

from services.server.http.connection import Connection, Handler
from shared.errors import Fatal
from shared.telemetry.repeats import Repeats

BACKLOG = 1024
MAX_CONNECTIONS: Final = 1000
"""per port, so that whoever reaches the port cannot use up the node's memory: one costs about 100 KiB with TLS"""
HANDSHAKE_S: Final = 10.0
"""a client that has not ended its TLS handshake by then is dropped; asyncio alone would hold it for a minute"""
TLS_READ_BYTES: Final = 16 * 1024
"""what asyncio sets aside for each TLS connection at once: the largest record. Its own 256 KiB are never given back"""
COMPLAINT_S: Final = 60.0
_VERSIONS = {
    "": ssl.TLSVersion.TLSv1_2,
    "VersionTLS12": ssl.TLSVersion.TLSv1_2,
    "VersionTLS13": ssl.TLSVersion.TLSv1_3,
}


@dataclass(frozen=True)
class Tls:
    """What a TLS listener offers. With a `client_ca_path`, clients are asked for a certificate and need not have one; one
    that this CA did not sign ends the handshake (Python's ssl module cannot hand it on unverified)."""

    certificate_path: str
    key_path: str
    client_ca_path: str = ""
    min_version: str = ""
    cipher_suites: tuple[str, ...] = ()

    def context(self) -> ssl.SSLContext:
        """Raises Fatal when the pair cannot be loaded or a setting is unknown."""
        if self.min_version not in _VERSIONS:
            raise Fatal(f"tlsMinVersion: unknown version {self.min_version!r}, must be one of {sorted(_VERSIONS)[1:]}")
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.minimum_version = _VERSIONS[self.min_version]
        try:
            context.load_cert_chain(self.certificate_path, self.key_path)
            if self.client_ca_path:
                context.load_verify_locations(self.client_ca_path)
                context.verify_mode = ssl.CERT_OPTIONAL
            if self.cipher_suites:
                context.set_ciphers(":".join(_openssl_name(name) for name in self.cipher_suites))
        except (OSError, ssl.SSLError) as error:
            raise Fatal(f"load serving certificate {self.certificate_path}: {error}") from error
        return context


def _openssl_name(name: str) -> str:
    """`TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256` as OpenSSL calls it."""
    return name.removeprefix("TLS_").replace("_WITH_", "-").replace("AES_", "AES").replace("_", "-")


class Listener:
    """One bound port. `close` ends it and every connection on it."""

    def __init__(self, name: str, handler: Handler, log: structlog.typing.FilteringBoundLogger) -> None:
        self.name = name
        self.handler = handler
        self.log = log
        self.tasks: set[asyncio.Task[None]] = set()
        self.server: asyncio.Server | None = None
        self._said = Repeats(COMPLAINT_S)

    async def bind(self, address: str, port: int, context: ssl.SSLContext | None = None) -> None:
        """Raises Fatal, naming the port, when it is taken or cannot be bound."""
        try:
            bound = socket.create_server(
                (address, port), family=socket.AF_INET6 if ":" in address else socket.AF_INET, backlog=BACKLOG
            )
            sslproto.SSLProtocol.max_size = TLS_READ_BYTES  # there is no argument for it
            handshake_s = HANDSHAKE_S if context is not None else None
            self.server = await asyncio.start_server(
                self._accept, sock=bound, ssl=context, ssl_handshake_timeout=handshake_s
            )
        except OSError as error:
            raise Fatal(f"listen on {address}:{port} for {self.name}: {error.strerror or error}") from error
        self.log.info("listener.bound", listener=self.name, address=address, port=port, tls=context is not None)

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        if len(self.tasks) >= MAX_CONNECTIONS:
            if not self._said.is_repeat("full", time.monotonic()):
                self.log.warning("connection.refused", listener=self.name, open=len(self.tasks))
            writer.close()
            return
        self.tasks.add(task)
        try:
            await Connection(reader, writer, self.handler).run()
        finally:
            self.tasks.discard(task)

    async def close(self) -> None:
        if self.server is not None:
            self.server.close()
        for task in list(self.tasks):
            task.cancel()
        await asyncio.gather(*self.tasks, return_exceptions=True)
