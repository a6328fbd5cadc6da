"""DNS configuration of sandboxes."""

from dataclasses import replace

import pytest

from services.pod_sync.environment.dns import Resolver, parse_resolver, pod_resolver
from services.pod_sync.environment.model import ConfigError
from tests.pod_sync.environment.manifests import NODE, UID, make_pod

HOST = Resolver(("192.0.2.53",), ("corp.example", "cluster.local"), ("timeout:3",))
CLUSTER_SEARCHES = ("shop.svc.cluster.local", "svc.cluster.local", "cluster.local", "corp.example")


def test_a_resolver_file_is_read_as_resolvers_read_it() -> None:
    text = (
        "# comment\n  # indented\nnameserver 1.1.1.1\nnameserver 8.8.8.8 ignored\nsearch one.\n"
        "search a.example. . b.example\noptions ndots:1 attempts:3\noptions ndots:2 debug\nsortlist x\n\n"
    )
    assert parse_resolver(text) == Resolver(
        ("1.1.1.1", "8.8.8.8"), ("a.example", "b.example"), ("ndots:2", "attempts:3", "debug")
    )
    assert parse_resolver("") == Resolver()


def test_a_nameserver_line_without_address_is_refused() -> None:
    with pytest.raises(ConfigError, match="nameserver list is empty"):
        parse_resolver("nameserver\n")


@pytest.mark.parametrize(
    ("spec", "result"),
    [
        ({}, Resolver(("10.96.0.10",), CLUSTER_SEARCHES, ("ndots:5",))),
        ({"dnsPolicy": "ClusterFirst"}, Resolver(("10.96.0.10",), CLUSTER_SEARCHES, ("ndots:5",))),
        ({"dnsPolicy": "ClusterFirst", "hostNetwork": True}, HOST),
        (
            {"dnsPolicy": "ClusterFirstWithHostNet", "hostNetwork": True},
            Resolver(("10.96.0.10",), CLUSTER_SEARCHES, ("ndots:5",)),
        ),
        ({"dnsPolicy": "Default"}, HOST),
        ({"dnsPolicy": "None"}, Resolver()),
        (
            {
                "dnsPolicy": "None",
                "dnsConfig": {
                    "nameservers": ["9.9.9.9", "9.9.9.9"],
                    "searches": ["x"],
                    "options": [{"name": "ndots", "value": "2"}, {"name": "edns0"}],
                },
            },
            Resolver(("9.9.9.9",), ("x",), ("ndots:2", "edns0")),
        ),
        (
            {
                "dnsPolicy": "Default",
                "dnsConfig": {
                    "nameservers": ["192.0.2.53", "9.9.9.9"],
                    "searches": ["corp.example", "x"],
                    "options": [{"name": "timeout", "value": "1"}],
                },
            },
            Resolver(("192.0.2.53", "9.9.9.9"), ("corp.example", "cluster.local", "x"), ("timeout:1",)),
        ),
    ],
)
def test_the_policy_decides_the_base_and_the_pods_own_settings_are_added(
    spec: dict[str, object], result: Resolver
) -> None:
    assert pod_resolver(make_pod(spec), NODE, HOST) == (result, [])


def test_without_a_cluster_domain_only_the_hosts_searches_remain() -> None:
    node = replace(NODE, cluster_domain="")
    assert pod_resolver(make_pod(), node, HOST)[0].searches == HOST.searches


def test_without_cluster_dns_the_pod_falls_back_and_is_told() -> None:
    resolver, warnings = pod_resolver(make_pod(), replace(NODE, cluster_dns=()), HOST)
    assert resolver == HOST
    general = (
        'kubelet does not have ClusterDNS IP configured and cannot create Pod using "ClusterFirst" policy. '
        'Falling back to "Default" policy.'
    )
    assert [(w.reason, w.message, w.on_node) for w in warnings] == [
        ("MissingClusterDNS", f'pod: "web_shop({UID})". {general}', general)
    ]


def test_without_a_resolver_file_the_pod_asks_itself() -> None:
    node = replace(NODE, has_resolver_file=False, node_ips=("192.0.2.10", "fd00::10"))
    resolver, _ = pod_resolver(make_pod({"dnsPolicy": "Default"}), node, Resolver())
    assert resolver == Resolver(("127.0.0.1", "::1"), (".",))


def test_more_than_three_servers_are_cut_and_told() -> None:
    spec = {"dnsPolicy": "None", "dnsConfig": {"nameservers": ["1.1.1.1", "2.2.2.2", "3.3.3.3", "4.4.4.4"]}}
    resolver, warnings = pod_resolver(make_pod(spec), NODE, HOST)
    assert resolver.servers == ("1.1.1.1", "2.2.2.2", "3.3.3.3")
    assert [(w.reason, w.message) for w in warnings] == [
        (
            "DNSConfigForming",
            "Nameserver limits were exceeded, some nameservers have been omitted, the applied nameserver line is: "
            "1.1.1.1 2.2.2.2 3.3.3.3",
        )
    ]


@pytest.mark.parametrize(
    ("searches", "kept"),
    [
        ([f"d{i}" for i in range(32)], 32),
        ([f"d{i}" for i in range(33)], 32),
        (["x" * 254, "ok"], 1),
        (["x" * 253, "ok"], 2),
        ([f"{i}" + "y" * 252 for i in range(9)], 8),  # 9 * 253 + 8 blanks are beyond 2048, 8 * 253 + 7 are not
    ],
)
def test_a_search_line_that_old_resolvers_cannot_hold_is_cut_and_told(searches: list[str], kept: int) -> None:
    pod = make_pod({"dnsPolicy": "None", "dnsConfig": {"searches": searches}})
    resolver, warnings = pod_resolver(pod, NODE, HOST)
    assert len(resolver.searches) == kept
    assert len(" ".join(resolver.searches)) <= 2048
    cut = kept < len(searches)
    expected = (
        "Search Line limits were exceeded, some search paths have been omitted, the applied search line is: "
        + " ".join(resolver.searches)
    )
    assert [w.message for w in warnings] == ([expected] if cut else [])
