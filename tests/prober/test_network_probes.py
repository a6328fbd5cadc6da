"""HTTP, TCP and gRPC probes against real servers on loopback, with the texts that events show."""

import asyncio
import socket
import ssl
from collections.abc import Awaitable, Callable, Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path

import grpc
import grpc.aio
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from hypothesis import given, settings
from hypothesis import strategies as st

from services.prober.grpc_probe import probe_grpc
from services.prober.http_probe import probe_http
from services.prober.model import Verdict
from services.prober.ports import Finding
from services.prober.targets import GrpcTarget, HttpTarget, TcpTarget
from services.prober.tcp_probe import probe_tcp
from shared.health import api

Handler = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]
HERE = "127.0.0.1"


def get(port: int, path: str = "/", *, scheme: str = "http", host: str = HERE, **fields: object) -> HttpTarget:
    return HttpTarget(scheme, host, port, path, **fields)  # type: ignore[arg-type]


class Server:
    """Answers each request, keyed by path, with fixed bytes; keeps what it was sent."""

    def __init__(self, answers: dict[str, bytes], *, tls: ssl.SSLContext | None = None, hang: bool = False) -> None:
        self.answers = answers
        self.requests: list[str] = []
        self._tls = tls
        self._hang = hang

    async def __aenter__(self) -> int:
        self._server = await asyncio.start_server(self._serve, HERE, 0, ssl=self._tls)
        port: int = self._server.sockets[0].getsockname()[1]
        return port

    async def __aexit__(self, *_: object) -> None:
        self._server.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode()
            self.requests.append(head)
            writer.write(self.answers.get(head.split(" ")[1], b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"))
            await writer.drain()
            if self._hang:
                await reader.read()
        except (OSError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()


def answer(status: str, body: str = "", *headers: str) -> bytes:
    lines = "".join(f"{h}\r\n" for h in headers)
    return f"HTTP/1.1 {status}\r\n{lines}Content-Length: {len(body)}\r\n\r\n{body}".encode()


async def ask(server: Server, path: str = "/", *, timeout_s: float = 2.0, **fields: object) -> tuple[Finding, int]:
    async with server as port:
        return await probe_http(get(port, path, **fields), timeout_s), port  # type: ignore[arg-type]


def test_a_good_status_is_success_with_the_body() -> None:
    for status in ("200 OK", "299 Odd"):
        found, _ = asyncio.run(ask(Server({"/": answer(status, "fine")})))
        assert found == Finding(Verdict.SUCCESS, "fine")


def test_a_bad_status_is_a_failure_that_keeps_the_body_to_itself() -> None:
    for status in (404, 500):
        found, _ = asyncio.run(ask(Server({"/": answer(f"{status} No", "secret")})))
        assert found == Finding(Verdict.FAILURE, f"HTTP probe failed with statuscode: {status}")


def test_what_goes_over_the_wire() -> None:
    server = Server({"/x?y=1": answer("200 OK")})
    headers = (("User-Agent", "kube-probe/1.37"), ("X-A", "ü"))
    found, port = asyncio.run(ask(server, "/x?y=1", headers=headers, host_header="example.com"))
    assert found.verdict is Verdict.SUCCESS
    assert server.requests == [
        "GET /x?y=1 HTTP/1.1\r\nHost: example.com\r\nUser-Agent: kube-probe/1.37\r\nX-A: ü\r\nConnection: close\r\n\r\n"
    ]
    server = Server({"/": answer("200 OK")})
    _, port = asyncio.run(ask(server))
    assert f"Host: {HERE}:{port}\r\n" in server.requests[0]


def test_a_long_body_is_cut_and_still_success() -> None:
    found, _ = asyncio.run(ask(Server({"/": answer("200 OK", "x" * 50_000)})))
    assert found == Finding(Verdict.SUCCESS, "x" * 10240)


def test_redirects_within_the_host_are_followed_also_to_another_port() -> None:
    async def scenario() -> tuple[Finding, list[str]]:
        second = Server({"/b": answer("200 OK", "there")})
        async with second as port:
            first = Server({"/": answer("302 Found", "", f"Location: http://{HERE}:{port}/b")})
            return (await ask(first))[0], second.requests

    found, requests = asyncio.run(scenario())
    assert found == Finding(Verdict.SUCCESS, "there") and len(requests) == 1


def test_a_redirect_to_another_host_is_a_warning_with_its_body() -> None:
    found, _ = asyncio.run(ask(Server({"/": answer("302 Found", "go away", "Location: http://example.com/")})))
    assert found == Finding(Verdict.WARNING, "Probe terminated redirects, Response body: go away")


def test_going_round_in_circles_fails_after_ten_redirects() -> None:
    server = Server({"/": answer("302 Found", "", "Location: /")})
    found, port = asyncio.run(ask(server))
    assert found == Finding(Verdict.FAILURE, f'Get "http://{HERE}:{port}/": stopped after 10 redirects')
    assert len(server.requests) == 10


@pytest.mark.parametrize(
    ("status", "headers", "text"),
    [
        ("302 Found", [], 'Get "{url}": 302 response missing Location header'),
        ("301 Moved", ["Location: ftp://127.0.0.1/"], 'Get "{url}": unsupported protocol scheme "ftp"'),
    ],
)
def test_a_redirect_that_leads_nowhere_is_a_failure(status: str, headers: list[str], text: str) -> None:
    found, port = asyncio.run(ask(Server({"/": answer(status, "", *headers)})))
    assert found == Finding(Verdict.FAILURE, text.format(url=f"http://{HERE}:{port}/"))


def test_not_modified_is_a_warning() -> None:
    found, _ = asyncio.run(ask(Server({"/": b"HTTP/1.1 304 Not Modified\r\n\r\n"})))
    assert found == Finding(Verdict.WARNING, "Probe terminated redirects, Response body: ")


@pytest.fixture
def closed_port() -> Iterator[int]:
    with closing(socket.socket()) as s:
        s.bind((HERE, 0))
        yield s.getsockname()[1]


def test_a_closed_port_is_told_as_go_tells_it(closed_port: int) -> None:
    found = asyncio.run(probe_http(get(closed_port, "/x"), 1))
    refused = f"dial tcp {HERE}:{closed_port}: connect: connection refused"
    assert found == Finding(Verdict.FAILURE, f'Get "http://{HERE}:{closed_port}/x": {refused}')
    assert asyncio.run(probe_tcp(TcpTarget(HERE, closed_port), 1)) == Finding(Verdict.FAILURE, refused)


@pytest.mark.parametrize("host", ["no-such-host.invalid", "a..b", "x" * 300])
def test_a_name_that_cannot_be_resolved_is_a_failure(host: str) -> None:
    found = asyncio.run(probe_tcp(TcpTarget(host, 80), 5))
    assert found == Finding(Verdict.FAILURE, f"dial tcp: lookup {host}: no such host")


def test_a_server_that_says_nothing_times_out_while_awaiting_headers() -> None:
    found, port = asyncio.run(ask(Server({"/": b""}, hang=True), timeout_s=0.1))
    words = "context deadline exceeded (Client.Timeout exceeded while awaiting headers)"
    assert found == Finding(Verdict.FAILURE, f'Get "http://{HERE}:{port}/": {words}')


def test_a_body_that_never_ends_is_an_error_and_no_verdict() -> None:
    partial = b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nabc"
    found, _ = asyncio.run(ask(Server({"/": partial}, hang=True), timeout_s=0.1))
    words = "context deadline exceeded (Client.Timeout or context cancellation while reading body)"
    assert found == Finding(Verdict.FAILURE, words, error=True)
    found, _ = asyncio.run(ask(Server({"/": partial})))
    assert found == Finding(Verdict.FAILURE, "unexpected EOF", error=True)


def test_a_server_that_hangs_up_is_a_failure() -> None:
    found, port = asyncio.run(ask(Server({"/": b""})))
    assert found == Finding(Verdict.FAILURE, f'Get "http://{HERE}:{port}/": EOF')


@settings(max_examples=60, deadline=None)
@given(st.binary(max_size=200) | st.binary(max_size=100).map(lambda b: b"HTTP/1.1 200 OK\r\n" + b))
def test_no_answer_however_wrong_harms_the_prober(garbage: bytes) -> None:
    found, _ = asyncio.run(ask(Server({"/": garbage}), timeout_s=1.0))
    assert found.verdict in (Verdict.SUCCESS, Verdict.FAILURE, Verdict.WARNING)


@pytest.fixture(scope="module")
def tls(tmp_path_factory: pytest.TempPathFactory) -> ssl.SSLContext:
    """A server's context with a certificate that nobody trusts and that names somebody else."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "somebody else")])
    now = datetime.now(UTC)
    builder = x509.CertificateBuilder(name, name, key.public_key(), 1, now - timedelta(9), now - timedelta(1))
    path: Path = tmp_path_factory.mktemp("tls") / "both.pem"
    pem, none = serialization.Encoding.PEM, serialization.NoEncryption()
    path.write_bytes(
        key.private_bytes(pem, serialization.PrivateFormat.PKCS8, none)
        + builder.sign(key, hashes.SHA256()).public_bytes(pem)
    )
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(path)
    return context


def test_https_takes_any_certificate(tls: ssl.SSLContext) -> None:
    found, _ = asyncio.run(ask(Server({"/": answer("200 OK", "safe")}, tls=tls), scheme="https"))
    assert found == Finding(Verdict.SUCCESS, "safe")


def test_https_to_a_plain_server_says_so() -> None:
    async def babble(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(10)
        writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        writer.close()

    async def scenario() -> tuple[Finding, int]:
        server = await asyncio.start_server(babble, HERE, 0)
        port = server.sockets[0].getsockname()[1]
        async with server:
            return await probe_http(get(port, scheme="https"), 2), port

    found, port = asyncio.run(scenario())
    assert found == Finding(
        Verdict.FAILURE, f'Get "https://{HERE}:{port}/": http: server gave HTTP response to HTTPS client'
    )


def test_an_open_port_is_success() -> None:
    async def scenario() -> Finding:
        async with Server({}) as port:
            return await probe_tcp(TcpTarget(HERE, port), 1)

    assert asyncio.run(scenario()) == Finding(Verdict.SUCCESS)


def test_a_port_that_does_not_answer_is_an_io_timeout() -> None:
    """A listener whose queue is full drops what comes next."""

    async def scenario() -> tuple[Finding, int]:
        with closing(socket.socket()) as listener:
            listener.bind((HERE, 0))
            listener.listen(0)
            port = listener.getsockname()[1]
            fillers = []
            for _ in range(3):
                filler = socket.socket()
                filler.setblocking(False)
                filler.connect_ex((HERE, port))
                fillers.append(filler)
            try:
                return await probe_tcp(TcpTarget(HERE, port), 0.1), port
            finally:
                for filler in fillers:
                    filler.close()

    found, port = asyncio.run(scenario())
    assert found == Finding(Verdict.FAILURE, f"dial tcp {HERE}:{port}: i/o timeout")


async def health(behave: Callable[[str], Awaitable[int]] | None, service: str, timeout_s: float) -> tuple[Finding, int]:
    """Ask a real gRPC server; None: one without the health service."""

    async def check(request: api.HealthCheckRequest, context: object) -> api.HealthCheckResponse:
        assert behave is not None
        if request.service == "nobody":
            await context.abort(grpc.StatusCode.NOT_FOUND, "unknown service")  # type: ignore[attr-defined]
        return api.HealthCheckResponse(status=await behave(request.service))  # type: ignore[arg-type]

    server = grpc.aio.server()
    if behave is not None:
        method = grpc.unary_unary_rpc_method_handler(
            check,
            request_deserializer=api.HealthCheckRequest.FromString,
            response_serializer=api.HealthCheckResponse.SerializeToString,
        )
        handler = grpc.method_handlers_generic_handler("grpc.health.v1.Health", {"Check": method})
        server.add_generic_rpc_handlers((handler,))
    port = server.add_insecure_port(f"{HERE}:0")
    await server.start()
    try:
        return await probe_grpc(GrpcTarget(HERE, port, service), timeout_s), port
    finally:
        await server.stop(None)


async def serving(service: str) -> int:
    return {"": 1, "busy": 2}.get(service, 0)


async def sleeping(service: str) -> int:
    await asyncio.sleep(5)
    return 1


@pytest.mark.parametrize(
    ("behave", "service", "timeout_s", "expected"),
    [
        (serving, "", 2.0, Finding(Verdict.SUCCESS, "service healthy")),
        (serving, "busy", 2.0, Finding(Verdict.FAILURE, 'service unhealthy (responded with "NOT_SERVING")')),
        (
            serving,
            "nobody",
            2.0,
            Finding(
                Verdict.FAILURE, "error: health rpc probe failed: rpc error: code = NotFound desc = unknown service"
            ),
        ),
        (sleeping, "", 1.0, Finding(Verdict.FAILURE, "timeout: health rpc did not complete within 1s")),
    ],
)
def test_the_health_service_is_asked(
    behave: Callable[[str], Awaitable[int]], service: str, timeout_s: float, expected: Finding
) -> None:
    assert asyncio.run(health(behave, service, timeout_s))[0] == expected


def test_a_server_without_the_health_service_is_told_apart() -> None:
    found, _ = asyncio.run(health(None, "", 2.0))
    assert found.verdict is Verdict.FAILURE
    assert found.output.startswith(
        "error: this server does not implement the grpc health protocol (grpc.health.v1.Health): "
    )


def test_a_grpc_server_that_is_not_there_is_a_connect_timeout(closed_port: int) -> None:
    found = asyncio.run(probe_grpc(GrpcTarget(HERE, closed_port), 0.3))
    words = f'timeout: failed to connect service "{HERE}:{closed_port}" within 300ms: context deadline exceeded'
    assert found == Finding(Verdict.FAILURE, words)
