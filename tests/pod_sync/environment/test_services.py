"""Environment variables about Services."""

from services.pod_sync.environment.model import ServiceFacts, ServicePort
from services.pod_sync.environment.services import service_variables

MASTER = ServiceFacts("default", "kubernetes", "10.96.0.1", (ServicePort(443, "TCP", "https"),))


def test_one_service_gives_all_names_that_programs_know() -> None:
    service = ServiceFacts("shop", "my-db", "10.96.0.5", (ServicePort(5432), ServicePort(53, "UDP", "dns-udp")))
    assert service_variables([service], namespace="shop", enable_service_links=True) == {
        "MY_DB_SERVICE_HOST": "10.96.0.5",
        "MY_DB_SERVICE_PORT": "5432",
        "MY_DB_SERVICE_PORT_DNS_UDP": "53",
        "MY_DB_PORT": "tcp://10.96.0.5:5432",
        "MY_DB_PORT_5432_TCP": "tcp://10.96.0.5:5432",
        "MY_DB_PORT_5432_TCP_PROTO": "tcp",
        "MY_DB_PORT_5432_TCP_PORT": "5432",
        "MY_DB_PORT_5432_TCP_ADDR": "10.96.0.5",
        "MY_DB_PORT_53_UDP": "udp://10.96.0.5:53",
        "MY_DB_PORT_53_UDP_PROTO": "udp",
        "MY_DB_PORT_53_UDP_PORT": "53",
        "MY_DB_PORT_53_UDP_ADDR": "10.96.0.5",
    }


def test_an_ipv6_address_is_bracketed_only_in_urls() -> None:
    variables = service_variables(
        [ServiceFacts("shop", "six", "fd00::5", (ServicePort(80),))], namespace="shop", enable_service_links=True
    )
    assert variables["SIX_PORT"] == "tcp://[fd00::5]:80"
    assert variables["SIX_SERVICE_HOST"] == variables["SIX_PORT_80_TCP_ADDR"] == "fd00::5"


def test_without_links_only_the_api_server_is_announced() -> None:
    own = ServiceFacts("shop", "db", "10.96.0.5", (ServicePort(1),))
    variables = service_variables([own, MASTER], namespace="shop", enable_service_links=False)
    assert variables["KUBERNETES_SERVICE_HOST"] == "10.96.0.1"
    assert not [name for name in variables if name.startswith("DB_")]
    assert service_variables([MASTER], namespace="default", enable_service_links=False) != {}


def test_a_service_of_the_pods_namespace_hides_the_api_server_in_either_order() -> None:
    own = ServiceFacts("shop", "kubernetes", "10.96.0.9", (ServicePort(1),))
    for services in ([own, MASTER], [MASTER, own]):
        variables = service_variables(services, namespace="shop", enable_service_links=True)
        assert variables["KUBERNETES_SERVICE_HOST"] == "10.96.0.9"


def test_services_of_other_namespaces_and_without_an_address_are_left_out() -> None:
    services = [
        ServiceFacts("other", "a", "10.96.0.7", (ServicePort(1),)),
        ServiceFacts("shop", "headless", "None", (ServicePort(1),)),
        ServiceFacts("shop", "external", "", (ServicePort(1),)),
    ]
    assert service_variables(services, namespace="shop", enable_service_links=True) == {}
