"""Host names and /etc/hosts."""

import pytest

from services.pod_sync.environment import hostname
from services.pod_sync.environment.model import ConfigError
from tests.pod_sync.environment.manifests import make_pod


@pytest.mark.parametrize(
    ("spec", "metadata", "result"),
    [
        ({}, {}, ("web", "")),
        ({"hostname": "db-0"}, {}, ("db-0", "")),
        ({"subdomain": "db"}, {}, ("web", "db.shop.svc.cluster.local")),
        ({"hostname": "db-0", "subdomain": "db"}, {}, ("db-0", "db.shop.svc.cluster.local")),
        ({"hostnameOverride": "a.example.com", "hostname": "x", "subdomain": "db"}, {}, ("a.example.com", "")),
        ({}, {"name": "p" * 70}, ("p" * 63, "")),
        ({}, {"name": "p" * 61 + ".-x"}, ("p" * 61, "")),
    ],
)
def test_a_pod_is_called(spec: dict[str, object], metadata: dict[str, object], result: tuple[str, str]) -> None:
    assert hostname.hostname_and_domain(make_pod(spec, **metadata), "cluster.local") == result


@pytest.mark.parametrize(
    ("spec", "text"),
    [
        ({"hostname": "Web"}, 'pod Hostname "Web" is not a valid DNS label'),
        ({"subdomain": "a.b"}, 'pod Subdomain "a.b" is not a valid DNS label'),
        ({"hostnameOverride": "a..b"}, 'pod HostnameOverride "a..b" is not a valid DNS subdomain'),
    ],
)
def test_a_name_that_dns_cannot_hold_is_refused(spec: dict[str, object], text: str) -> None:
    with pytest.raises(ConfigError) as caught:
        hostname.hostname_and_domain(make_pod(spec), "cluster.local")
    assert str(caught.value).startswith(text)


def test_the_kernel_gets_the_short_name_unless_asked_for_the_full_one() -> None:
    assert hostname.kernel_hostname(make_pod({"subdomain": "db"}), "cluster.local") == "web"
    full = make_pod({"subdomain": "db", "setHostnameAsFQDN": True})
    assert hostname.kernel_hostname(full, "cluster.local") == "web.db.shop.svc.cluster.local"
    assert hostname.kernel_hostname(make_pod({"setHostnameAsFQDN": True}), "cluster.local") == "web"


def test_a_full_name_that_the_kernel_cannot_hold_is_refused_in_upstreams_words() -> None:
    pod = make_pod({"subdomain": "s" * 40, "setHostnameAsFQDN": True})
    fqdn = f"web.{'s' * 40}.shop.svc.cluster.local"
    with pytest.raises(ConfigError) as caught:
        hostname.kernel_hostname(pod, "cluster.local")
    assert str(caught.value) == (
        f"failed to construct FQDN from pod hostname and cluster domain, FQDN {fqdn} is too long "
        f"(64 characters is the max, {len(fqdn)} characters requested)"
    )


LOCAL = (
    "127.0.0.1\tlocalhost\n"
    "::1\tlocalhost ip6-localhost ip6-loopback\n"
    "fe00::0\tip6-localnet\n"
    "fe00::0\tip6-mcastprefix\n"
    "fe00::1\tip6-allnodes\n"
    "fe00::2\tip6-allrouters\n"
)


def test_the_hosts_file_names_the_pod_under_each_address() -> None:
    pod = make_pod({"subdomain": "db"})
    assert hostname.hosts_file(pod, ["10.0.0.1", "fd00::1"], "cluster.local") == (
        "# Kubernetes-managed hosts file.\n" + LOCAL + "10.0.0.1\tweb.db.shop.svc.cluster.local\tweb\n"
        "fd00::1\tweb.db.shop.svc.cluster.local\tweb\n"
    )


ALIASES = {"hostAliases": [{"ip": "1.2.3.4", "hostnames": ["a", "b"]}, {"ip": "5.6.7.8", "hostnames": ["c"]}]}


def test_aliases_follow_after_a_blank_line() -> None:
    assert hostname.hosts_file(make_pod(ALIASES), ["10.0.0.1"], "cluster.local") == (
        "# Kubernetes-managed hosts file.\n"
        + LOCAL
        + "10.0.0.1\tweb\n\n# Entries added by HostAliases.\n1.2.3.4\ta\tb\n5.6.7.8\tc\n"
    )


def test_a_pod_in_the_hosts_network_sees_the_nodes_own_names() -> None:
    text = hostname.host_network_hosts_file(make_pod({**ALIASES, "hostNetwork": True}), "127.0.0.1 n1\n")
    assert text == (
        "# Kubernetes-managed hosts file (host network).\n127.0.0.1 n1\n"
        "\n# Entries added by HostAliases.\n1.2.3.4\ta\tb\n5.6.7.8\tc\n"
    )
