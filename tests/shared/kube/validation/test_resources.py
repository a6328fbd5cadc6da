from typing import Any

import pytest

from tests.shared.kube.validation.build import container, errors, of_container

RESOURCES = [
    (
        {"requests": {"cpu": "2"}, "limits": {"cpu": "1"}},
        ['requests: Invalid value: "2": must be less than or equal to cpu limit of 1'],
    ),
    (
        {"requests": {"cpu": "-1"}},
        ['requests[cpu]: Invalid value: "-1": must be greater than or equal to 0'],
    ),
    (
        {"requests": {"disk": "1"}},
        ['requests[disk]: Invalid value: "disk": must be a standard resource for containers'],
    ),
    (
        {"requests": {"example.com/gpu": "1"}},
        ["limits: Required value: Limit must be set for non overcommitable resources"],
    ),
    (
        {"requests": {"example.com/gpu": "1"}, "limits": {"example.com/gpu": "2"}},
        ['requests: Invalid value: "1": must be equal to example.com/gpu limit of 2'],
    ),
    (
        {"limits": {"example.com/gpu": "1500m"}},
        [
            'limits[example.com/gpu]: Invalid value: "1500m": must be an integer',
            'requests[example.com/gpu]: Invalid value: "1500m": must be an integer',
        ],
    ),
    (
        {"limits": {"requests.example.com/gpu": "1"}, "requests": {"requests.example.com/gpu": "1"}},
        [
            'limits[requests.example.com/gpu]: Invalid value: "requests.example.com/gpu": '
            "doesn't follow extended resource name standard",
            'requests[requests.example.com/gpu]: Invalid value: "requests.example.com/gpu": '
            "doesn't follow extended resource name standard",
        ],
    ),
    ({"limits": {"hugepages-2Mi": "4Mi"}}, [": Forbidden: HugePages require cpu or memory"]),
    (
        {"limits": {"hugepages-2Mi": "3Mi", "cpu": "1"}},
        [
            'limits[hugepages-2Mi]: Invalid value: "3Mi": 3Mi is not positive integer multiple of 2Mi',
            'requests[hugepages-2Mi]: Invalid value: "3Mi": 3Mi is not positive integer multiple of 2Mi',
        ],
    ),
    ({"claims": [{"name": "x"}]}, ['claims[0]: Not found: "x"']),
    ({"claims": [{}]}, ["claims[0]: Required value"]),
    ({"limits": {"cpu": "1", "memory": "1Gi", "ephemeral-storage": "1Gi", "example.com/gpu": "1"}}, []),
]


@pytest.mark.parametrize(("resources", "expected"), RESOURCES)
def test_resources(resources: dict[str, Any], expected: list[str]) -> None:
    assert of_container(resources=resources) == [
        f"resources{text}" if text.startswith(":") else f"resources.{text}" for text in expected
    ]


def test_pod_level_resources_hold_what_the_containers_ask_for() -> None:
    asks = container(resources={"requests": {"cpu": "2"}, "limits": {"memory": "2Gi"}})
    level = {"requests": {"cpu": "1", "disk": "1"}, "limits": {"memory": "1Gi"}, "claims": [{"name": "x"}]}
    assert errors(containers=[asks], resources=level) == [
        "spec.resources.claims: Forbidden: claims cannot be set for Resources at pod-level",
        'spec.resources.requests[disk]: Invalid value: "disk": must be a standard resource for containers',
        'spec.resources.requests: Invalid value: "2Gi": must be less than or equal to memory limit of 1Gi',
        'spec.resources.requests[disk]: Unsupported value: "disk": supported values: "cpu", "hugepages-", "memory"',
        'spec.resources.requests[cpu]: Invalid value: "1": must be greater than or equal to '
        "aggregate container requests of 2",
        'spec.containers[0].resources.limits[memory]: Invalid value: "2Gi": '
        "must be less than or equal to pod limits of 1Gi",
    ]
    assert errors(containers=[asks], resources={"requests": {"cpu": "2"}, "limits": {"memory": "4Gi"}}) == []


PROBES = [
    ({}, ": Required value: must specify a handler type"),
    ({"exec": {"command": []}}, ".exec.command: Required value"),
    (
        {"exec": {"command": ["x"]}, "tcpSocket": {"port": 1}},
        ".tcpSocket: Forbidden: may not specify more than 1 handler type",
    ),
    ({"httpGet": {"port": 0}}, ".httpGet.port: Invalid value: 0: must be between 1 and 65535, inclusive"),
    (
        {"httpGet": {"port": "no name"}},
        '.httpGet.port: Invalid value: "no name": must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)',
    ),
    (
        {"httpGet": {"port": 1, "scheme": "ftp"}},
        '.httpGet.scheme: Unsupported value: "ftp": supported values: "HTTP", "HTTPS"',
    ),
    (
        {"httpGet": {"port": 1, "httpHeaders": [{"name": "a b", "value": "x"}]}},
        '.httpGet.httpHeaders[0].name: Invalid value: "a b": a valid HTTP header must consist of alphanumeric characters or '
        "'-' (e.g. 'X-Header-Name', regex used for validation is '[-A-Za-z0-9]+')",
    ),
    ({"tcpSocket": {"port": 70000}}, ".tcpSocket.port: Invalid value: 70000: must be between 1 and 65535, inclusive"),
    ({"grpc": {"port": 0}}, ".grpc.port: Invalid value: 0: must be between 1 and 65535, inclusive"),
    (
        {"exec": {"command": ["x"]}, "periodSeconds": -1},
        ".periodSeconds: Invalid value: -1: must be greater than or equal to 0",
    ),
    (
        {"exec": {"command": ["x"]}, "initialDelaySeconds": -1},
        ".initialDelaySeconds: Invalid value: -1: must be greater than or equal to 0",
    ),
    ({"exec": {"command": ["x"]}, "successThreshold": 2}, ".successThreshold: Invalid value: 2: must be 1"),
    (
        {"exec": {"command": ["x"]}, "terminationGracePeriodSeconds": 0},
        ".terminationGracePeriodSeconds: Invalid value: 0: must be greater than 0",
    ),
]


@pytest.mark.parametrize(("probe", "expected"), PROBES)
def test_probes(probe: dict[str, Any], expected: str) -> None:
    for name in ("livenessProbe", "startupProbe"):
        assert of_container(**{name: probe}) == [f"{name}{expected}"]


def test_readiness_may_ask_for_more_successes_but_has_no_grace_period() -> None:
    probe = {"exec": {"command": ["x"]}, "successThreshold": 3}
    assert of_container(readinessProbe=probe) == []
    assert of_container(readinessProbe=probe | {"terminationGracePeriodSeconds": 5}) == [
        "readinessProbe.terminationGracePeriodSeconds: Invalid value: 5: must not be set for readinessProbes"
    ]


def test_hooks_have_one_handler_and_sleep_within_the_grace_period() -> None:
    assert of_container(lifecycle={"preStop": {}}) == ["lifecycle.preStop: Required value: must specify a handler type"]
    assert of_container(lifecycle={"preStop": {"sleep": {"seconds": 30}}}) == []
    assert of_container(lifecycle={"postStart": {"sleep": {"seconds": 31}}}) == [
        "lifecycle.postStart.sleep.seconds: Invalid value: 31: "
        "must be non-negative and less than terminationGracePeriodSeconds (30)"
    ]
