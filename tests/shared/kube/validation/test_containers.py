from typing import Any

import pytest

from shared.kube.validation import Errors
from tests.shared.kube.validation.build import container, errors, of_container

LABEL = (
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an "
    "alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')"
)


def test_a_small_pod_is_sound() -> None:
    assert errors() == []


SPEC = [
    ({"containers": []}, ["spec.containers: Required value"]),
    ({"containers": [{"image": "i"}]}, ["spec.containers[0].name: Required value"]),
    ({"containers": [container("A")]}, [f'spec.containers[0].name: Invalid value: "A": {LABEL}']),
    (
        {"containers": [container("a" * 64)]},
        [f'spec.containers[0].name: Invalid value: "{"a" * 64}": must be no more than 63 bytes'],
    ),
    ({"containers": [{"name": "c"}]}, ["spec.containers[0].image: Required value"]),
    (
        {"containers": [{"name": "c", "image": " i"}]},
        ['spec.containers[0].image: Invalid value: " i": must not have leading or trailing whitespace'],
    ),
    ({"containers": [container(), container()]}, ['spec.containers[1].name: Duplicate value: "c"']),
    ({"initContainers": [container()]}, ['spec.initContainers[0].name: Duplicate value: "c"']),
    (
        {"initContainers": [container("i", livenessProbe={"exec": {"command": ["x"]}}, lifecycle={})]},
        [
            "spec.initContainers[0].lifecycle: Forbidden: may not be set for init containers without restartPolicy=Always",
            "spec.initContainers[0].livenessProbe: Forbidden: may not be set for init containers without restartPolicy=Always",
        ],
    ),
    ({"initContainers": [container("i", restartPolicy="Always", readinessProbe={"exec": {"command": ["x"]}})]}, []),
    ({"ephemeralContainers": [container("e")]}, ["spec.ephemeralContainers: Forbidden: cannot be set on create"]),
    (
        {"containers": [container(imagePullPolicy="Sometimes")]},
        [
            'spec.containers[0].imagePullPolicy: Unsupported value: "Sometimes": '
            'supported values: "Always", "IfNotPresent", "Never"'
        ],
    ),
    (
        {"containers": [container(terminationMessagePolicy="Log")]},
        [
            'spec.containers[0].terminationMessagePolicy: Unsupported value: "Log": '
            'supported values: "FallbackToLogsOnError", "File"'
        ],
    ),
    (
        {
            "containers": [
                container("a", ports=[{"containerPort": 1, "hostPort": 80}]),
                container("b", ports=[{"containerPort": 2, "hostPort": 80}]),
            ]
        },
        ['spec.containers[1].ports[0].hostPort: Duplicate value: "TCP//80"'],
    ),
    (
        {
            "containers": [container("a", ports=[{"containerPort": 1, "hostPort": 80}])],
            "initContainers": [
                container("s", restartPolicy="Always", ports=[{"containerPort": 1, "hostPort": 80}]),
                container("i", ports=[{"containerPort": 1, "hostPort": 80}]),
            ],
        },
        ['spec.containers[0].ports[0].hostPort: Duplicate value: "TCP//80"'],
    ),
    (
        {
            "containers": [
                container("a", ports=[{"containerPort": 1, "hostPort": 80, "hostIP": "10.0.0.1"}]),
                container("b", ports=[{"containerPort": 2, "hostPort": 80, "protocol": "UDP"}]),
                container("d", ports=[{"containerPort": 2, "hostPort": 80, "hostIP": "10.0.0.2"}]),
            ]
        },
        [],
    ),
    (
        {"hostNetwork": True, "containers": [container(ports=[{"containerPort": 1, "hostPort": 80}])]},
        [
            "spec.containers[0].ports[0].containerPort: Invalid value: 1: "
            "must match `hostPort` when `hostNetwork` is true"
        ],
    ),
]


@pytest.mark.parametrize(("spec", "expected"), SPEC)
def test_containers_of_a_pod(spec: dict[str, Any], expected: list[str]) -> None:
    assert errors(**spec) == expected


PORTS = [
    ({"containerPort": 0}, "containerPort: Required value"),
    ({"containerPort": 65536}, "containerPort: Invalid value: 65536: must be between 1 and 65535, inclusive"),
    ({"containerPort": 1, "hostPort": -1}, "hostPort: Invalid value: -1: must be between 1 and 65535, inclusive"),
    ({"containerPort": 1, "name": "a" * 16}, f'name: Invalid value: "{"a" * 16}": must be no more than 15 characters'),
    (
        {"containerPort": 1, "name": "Http"},
        'name: Invalid value: "Http": must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)',
    ),
    ({"containerPort": 1, "name": "80"}, 'name: Invalid value: "80": must contain at least one letter (a-z)'),
    ({"containerPort": 1, "name": "a--b"}, 'name: Invalid value: "a--b": must not contain consecutive hyphens'),
    ({"containerPort": 1, "name": "-a"}, 'name: Invalid value: "-a": must not begin or end with a hyphen'),
    (
        {"containerPort": 1, "protocol": "tcp"},
        'protocol: Unsupported value: "tcp": supported values: "SCTP", "TCP", "UDP"',
    ),
    (
        {"containerPort": 1, "hostIP": "here"},
        'hostIP: Invalid value: "here": must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)',
    ),
]


@pytest.mark.parametrize(("port", "expected"), PORTS)
def test_ports(port: dict[str, Any], expected: str) -> None:
    assert of_container(ports=[port]) == [f"ports[0].{expected}"]


def test_port_names_are_unique_within_a_container() -> None:
    ports = [{"containerPort": 1, "name": "http"}, {"containerPort": 2, "name": "http"}]
    assert of_container(ports=ports) == ['ports[1].name: Duplicate value: "http"']


RESTART = [
    (
        {"restartPolicy": "Maybe"},
        'restartPolicy: Unsupported value: "Maybe": supported values: "Always", "Never", "OnFailure"',
    ),
    (
        {"restartPolicyRules": [{"action": "Restart", "exitCodes": {"operator": "In", "values": [1]}}]},
        "restartPolicy: Required value: must specify restartPolicy when restart rules are used",
    ),
    (
        {
            "restartPolicy": "Never",
            "restartPolicyRules": [{"action": "Stop", "exitCodes": {"operator": "In", "values": [1]}}],
        },
        'restartPolicyRules[0].action: Unsupported value: "Stop": supported values: "Restart", "RestartAllContainers"',
    ),
    (
        {"restartPolicy": "Never", "restartPolicyRules": [{"action": "Restart"}]},
        "restartPolicyRules[0].exitCodes: Required value: must be specified",
    ),
    (
        {
            "restartPolicy": "Never",
            "restartPolicyRules": [{"action": "Restart", "exitCodes": {"operator": "Eq", "values": [1]}}],
        },
        'restartPolicyRules[0].exitCodes.operator: Unsupported value: "Eq": supported values: "In", "NotIn"',
    ),
    (
        {
            "restartPolicy": "Never",
            "restartPolicyRules": [{"action": "Restart", "exitCodes": {"operator": "In", "values": []}}],
        },
        "restartPolicyRules[0].exitCodes.values: Required value: must specify at least one value",
    ),
    (
        {
            "restartPolicy": "Never",
            "restartPolicyRules": [{"action": "Restart", "exitCodes": {"operator": "In", "values": list(range(256))}}],
        },
        "restartPolicyRules[0].exitCodes.values: Too many: 256: must have at most 255 items",
    ),
    (
        {
            "restartPolicy": "Never",
            "restartPolicyRules": [{"action": "Restart", "exitCodes": {"operator": "In", "values": [1]}}] * 21,
        },
        "restartPolicyRules: Too many: 21: must have at most 20 items",
    ),
    (
        {"resizePolicy": [{"resourceName": "disk", "restartPolicy": "NotRequired"}]},
        'resizePolicy[0]: Unsupported value: "disk": supported values: "cpu", "memory"',
    ),
    (
        {"resizePolicy": [{"resourceName": "cpu", "restartPolicy": "NotRequired"}] * 2},
        'resizePolicy[1]: Duplicate value: "cpu"',
    ),
    (
        {"resizePolicy": [{"resourceName": "cpu", "restartPolicy": "Now"}]},
        'resizePolicy[0]: Unsupported value: "Now": supported values: "NotRequired", "RestartContainer"',
    ),
]


@pytest.mark.parametrize(("fields", "expected"), RESTART)
def test_restart_and_resize_policies(fields: dict[str, Any], expected: str) -> None:
    assert of_container(**fields) == [expected]


SECURITY = [
    ({"runAsUser": -1}, ".runAsUser: Invalid value: -1: must be between 0 and 2147483647, inclusive"),
    ({"runAsGroup": 2**31}, ".runAsGroup: Invalid value: 2147483648: must be between 0 and 2147483647, inclusive"),
    ({"procMount": "All"}, '.procMount: Unsupported value: "All": supported values: "Default", "Unmasked"'),
    ({"seccompProfile": {}}, ".seccompProfile.type: Required value"),
    (
        {"seccompProfile": {"type": "Localhost"}},
        ".seccompProfile.localhostProfile: Required value: must be set when seccomp type is Localhost",
    ),
    (
        {"seccompProfile": {"type": "RuntimeDefault", "localhostProfile": "x"}},
        '.seccompProfile.localhostProfile: Invalid value: "x": can only be set when seccomp type is Localhost',
    ),
    (
        {"seccompProfile": {"type": "Localhost", "localhostProfile": "../x"}},
        ".seccompProfile.localhostProfile: Invalid value: \"../x\": must not contain '..'",
    ),
    (
        {"appArmorProfile": {"type": "Own"}},
        '.appArmorProfile.type: Unsupported value: "Own": supported values: "Localhost", "RuntimeDefault", "Unconfined"',
    ),
    (
        {"allowPrivilegeEscalation": False, "privileged": True},
        ': Invalid value: {"allowPrivilegeEscalation":false,"privileged":true,"procMount":"Default"}: '
        "cannot set `allowPrivilegeEscalation` to false and `privileged` to true",
    ),
    (
        {"allowPrivilegeEscalation": False, "capabilities": {"add": ["CAP_SYS_ADMIN"]}},
        ': Invalid value: {"allowPrivilegeEscalation":false,"capabilities":{"add":["CAP_SYS_ADMIN"]},"procMount":"Default"}: '
        "cannot set `allowPrivilegeEscalation` to false and `capabilities.Add` CAP_SYS_ADMIN",
    ),
]


@pytest.mark.parametrize(("security", "expected"), SECURITY)
def test_security_of_a_container(security: dict[str, Any], expected: str) -> None:
    assert of_container(securityContext=security) == [f"securityContext{expected}"]


def test_only_the_first_errors_are_kept_and_the_rest_is_counted() -> None:
    collected = Errors()
    for number in range(60):
        collected.required(f"x[{number}]")
    assert (collected.count, len(collected.texts)) == (60, 50)
    assert collected.joined().endswith("x[49]: Required value, and 10 more]")
    one = Errors()
    one.required("x")
    assert one.joined() == "x: Required value"
