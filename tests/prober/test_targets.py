"""From a probe of the API to what exactly is asked."""

import msgspec
import pytest

from services.prober.targets import ExecTarget, GrpcTarget, HttpTarget, TcpTarget, request_path, target_of
from shared.errors import Invalid, Transient
from shared.kube.types import Container, Probe
from tests.prober.examples import container

C = container(
    ports=[{"name": "web", "containerPort": 8080}, {"name": "bad", "containerPort": 70000}],
    env=[{"name": "A", "value": "x"}, {"name": "S", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k"}}}],
)
DEFAULTS = (("User-Agent", "kube-probe/1.37"), ("Accept", "*/*"))


def target(probe: dict[str, object], of: Container = C, ip: str = "10.0.0.5") -> object:
    return target_of(msgspec.convert(probe, Probe), of, ip)


def test_the_pods_address_and_the_named_port_are_filled_in() -> None:
    got = target({"httpGet": {"port": "web", "path": "/healthz"}})
    assert got == HttpTarget("http", "10.0.0.5", 8080, "/healthz", DEFAULTS)
    assert isinstance(got, HttpTarget) and got.url == "http://10.0.0.5:8080/healthz"
    assert target({"tcpSocket": {"port": 1, "host": "example"}}) == TcpTarget("example", 1)
    assert target({"grpc": {"port": 5, "service": "s"}}) == GrpcTarget("10.0.0.5", 5, "s")


def test_an_ipv6_address_gets_brackets() -> None:
    got = target({"httpGet": {"port": 80, "scheme": "HTTPS"}}, ip="fd00::5")
    assert isinstance(got, HttpTarget) and got.url == "https://[fd00::5]:80/"


@pytest.mark.parametrize(
    ("headers", "sent", "host"),
    [
        ([("X-A", "1"), ("X-A", "2")], (("X-A", "1"), ("X-A", "2"), *DEFAULTS), ""),
        ([("Host", "example.com")], DEFAULTS, "example.com"),
        ([("user-agent", "me")], (("user-agent", "me"), DEFAULTS[1]), ""),
        ([("Accept", "")], (DEFAULTS[0],), ""),
        ([("Accept", "text/html")], (("Accept", "text/html"), DEFAULTS[0]), ""),
    ],
)
def test_headers_are_sent_as_given_with_the_kubelets_defaults(
    headers: list[tuple[str, str]], sent: tuple[tuple[str, str], ...], host: str
) -> None:
    got = target({"httpGet": {"port": 80, "httpHeaders": [{"name": n, "value": v} for n, v in headers]}})
    assert isinstance(got, HttpTarget) and (got.headers, got.host_header) == (sent, host)


@pytest.mark.parametrize(
    ("port", "text"),
    [("none", 'port "none" not found'), (0, "invalid port number: 0"), (65536, "invalid port number: 65536"),
     ("bad", "invalid port number: 70000")],
)  # fmt: skip
def test_a_port_that_leads_nowhere_is_refused(port: int | str, text: str) -> None:
    with pytest.raises(Invalid) as caught:
        target({"tcpSocket": {"port": port}})
    assert str(caught.value) == text


def test_a_number_written_as_a_string_is_a_port() -> None:
    assert target({"tcpSocket": {"port": "81"}}) == TcpTarget("10.0.0.5", 81)


def test_without_an_address_the_probe_has_to_wait_unless_it_names_a_host_or_runs_a_command() -> None:
    for probe in ({"httpGet": {"port": 80}}, {"tcpSocket": {"port": 80}}, {"grpc": {"port": 80}}):
        with pytest.raises(Transient):
            target(dict(probe), ip="")
    assert target({"httpGet": {"port": 80, "host": "h"}}, ip="") == HttpTarget("http", "h", 80, "/", DEFAULTS)
    assert target({"exec": {"command": ["true"]}}, ip="") == ExecTarget(("true",))


def test_a_command_is_expanded_from_literal_values_only() -> None:
    probe = {"exec": {"command": ["$(A)", "[$(S)]", "$(NONE)", "$$(A)", "$A"]}}
    assert target(dict(probe)) == ExecTarget(("x", "[]", "$(NONE)", "$(A)", "$A"))


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("/", "/"),
        ("healthz", "/healthz"),
        ("/a?b=c&d=%20", "/a?b=c&d=%20"),
        ("/a b", "/a%20b"),
        ("/ä", "/%C3%A4"),
        ("/a%2Fb", "/a%2Fb"),
        ("http://elsewhere/x?y", "/x?y"),
        ("/a#fragment", "/a"),
        ("//[broken", "/[broken".replace("[", "%5B")),
    ],
)
def test_the_request_line_gets_a_path_that_servers_take(text: str, path: str) -> None:
    assert request_path(text) == path


def test_a_probe_without_a_handler_is_refused() -> None:
    with pytest.raises(Invalid, match="missing probe handler"):
        target({})
