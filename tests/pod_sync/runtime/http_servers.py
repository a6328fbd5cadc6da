"""Small HTTP servers on loopback, plain and with TLS."""

import asyncio
import datetime
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID


class Server:
    """Answers each request with the next of `answers` (the last one over and over); keeps the requests' heads."""

    def __init__(self, answers: list[bytes]) -> None:
        self.answers = answers
        self.requests: list[str] = []
        self.port = 0

    async def handle(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            self.requests.append((await reader.readuntil(b"\r\n\r\n")).decode())
            answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
            writer.write(answer)
            await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError, ssl.SSLError):
            pass  # the client went away, which is what some tests are about
        finally:
            writer.close()


@asynccontextmanager
async def serving(*answers: bytes, tls: ssl.SSLContext | None = None) -> AsyncIterator[Server]:
    """A server on a free port of 127.0.0.1."""
    served = Server(list(answers))
    server = await asyncio.start_server(served.handle, "127.0.0.1", 0, ssl=tls)
    served.port = server.sockets[0].getsockname()[1]
    async with server:
        yield served


def self_signed(folder: Path) -> ssl.SSLContext:
    """A certificate that nobody vouches for."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "somebody.else")])
    now = datetime.datetime.now(datetime.UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .sign(key, hashes.SHA256())
    )
    pem = key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    file = folder / "server.pem"
    file.write_bytes(pem + certificate.public_bytes(serialization.Encoding.PEM))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(file)
    return context


def answer(status: str = "200 OK", body: bytes = b"", **headers: str) -> bytes:
    """One whole response."""
    lines = [f"HTTP/1.1 {status}", f"Content-Length: {len(body)}", *(f"{k}: {v}" for k, v in headers.items())]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body
