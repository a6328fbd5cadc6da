from typing import Any

import pytest

from tests.shared.kube.validation.build import errors

SUBDOMAIN = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end "
    "with an alphanumeric character (e.g. 'example.com', regex used for validation is "
    "'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
)
QUALIFIED = (
    "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric "
    "character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is "
    "'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
)
VALUE = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end "
    "with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is "
    "'(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"
)

METADATA = [
    ({"name": "Web"}, f'name: Invalid value: "Web": {SUBDOMAIN}'),
    ({"name": "a" * 254}, f'name: Invalid value: "{"a" * 254}": must be no more than 253 bytes'),
    ({"namespace": ""}, "namespace: Required value"),
    ({"generation": -1}, "generation: Invalid value: -1: must be greater than or equal to 0"),
    ({"labels": {"a b": "x"}}, f'labels: Invalid value: "a b": {QUALIFIED}'),
    ({"labels": {"a": "x y"}}, f'labels: Invalid value: "x y": {VALUE}'),
    ({"labels": {"a": "x" * 64}}, f'labels: Invalid value: "{"x" * 64}": must be no more than 63 bytes'),
    ({"labels": {"/a": "x"}}, 'labels: Invalid value: "/a": prefix part must be non-empty'),
    ({"labels": {"A/a": "x"}}, f'labels: Invalid value: "A/a": prefix part {SUBDOMAIN}'),
    ({"annotations": {"a": "x" * 262144}}, "annotations: Too long: may not be more than 262144 bytes"),
    (
        {"ownerReferences": [{"apiVersion": "v1", "kind": "Node", "name": "n"}]},
        'ownerReferences[0].uid: Invalid value: "": uid must not be empty',
    ),
    ({"finalizers": ["a b"]}, f'finalizers: Invalid value: "a b": {QUALIFIED}'),
]


@pytest.mark.parametrize(("metadata", "expected"), METADATA)
def test_metadata(metadata: dict[str, Any], expected: str) -> None:
    assert errors(metadata) == [f"metadata.{expected}"]


def test_names_with_too_many_or_missing_parts() -> None:
    whole = QUALIFIED.replace("name part", "a qualified name")
    whole += " with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"
    assert errors({"labels": {"a/b/c": "x"}}) == [f'metadata.labels: Invalid value: "a/b/c": {whole}']
    assert errors({"labels": {"example.com/": "x"}}) == [
        'metadata.labels: Invalid value: "example.com/": name part must be non-empty',
        f'metadata.labels: Invalid value: "example.com/": {QUALIFIED}',
    ]
    assert errors({"annotations": {"Example.com/Key": "any\ntext"}, "labels": {"a_B.c/d": ""}}) == [
        f'metadata.labels: Invalid value: "a_B.c/d": prefix part {SUBDOMAIN}'
    ]


SPEC = [
    (
        {"restartPolicy": "Maybe"},
        'restartPolicy: Unsupported value: "Maybe": supported values: "Always", "Never", "OnFailure"',
    ),
    (
        {"dnsPolicy": "Cluster"},
        'dnsPolicy: Unsupported value: "Cluster": '
        'supported values: "ClusterFirst", "ClusterFirstWithHostNet", "Default", "None"',
    ),
    (
        {"dnsPolicy": "None"},
        "dnsConfig.nameservers: Required value: must provide at least one DNS nameserver when `dnsPolicy` is None",
    ),
    (
        {"dnsConfig": {"nameservers": ["1.1.1.1"] * 4}},
        'dnsConfig.nameservers: Invalid value: ["1.1.1.1","1.1.1.1","1.1.1.1","1.1.1.1"]: '
        "must not have more than 3 nameservers",
    ),
    (
        {"dnsConfig": {"nameservers": ["x"]}},
        'dnsConfig.nameservers[0]: Invalid value: "x": must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)',
    ),
    ({"dnsConfig": {"options": [{}]}}, "dnsConfig.options[0]: Required value: must not be empty"),
    ({"dnsConfig": {"searches": ["A"]}}, f'dnsConfig.searches[0]: Invalid value: "A": {SUBDOMAIN}'),
    (
        {"activeDeadlineSeconds": 0},
        "activeDeadlineSeconds: Invalid value: 0: must be between 1 and 2147483647, inclusive",
    ),
    ({"nodeSelector": {"a": "x y"}}, f'nodeSelector: Invalid value: "x y": {VALUE}'),
    ({"hostname": "a.b"}, None),
    ({"subdomain": "A"}, None),
    ({"hostnameOverride": "a" * 65}, "hostnameOverride: Too long: may not be more than 64 bytes"),
    (
        {"hostnameOverride": "a.b", "setHostnameAsFQDN": True},
        "hostnameOverride: Forbidden: may not be specified when setHostnameAsFQDN is true",
    ),
    (
        {"hostnameOverride": "a.b", "hostNetwork": True},
        "hostnameOverride: Forbidden: may not be specified when hostNetwork is true",
    ),
    ({"runtimeClassName": "A"}, f'runtimeClassName: Invalid value: "A": {SUBDOMAIN}'),
    ({"priorityClassName": "A"}, f'priorityClassName: Invalid value: "A": {SUBDOMAIN}'),
    (
        {"preemptionPolicy": "Sometimes"},
        'preemptionPolicy: Unsupported value: "Sometimes": supported values: "Never", "PreemptLowerPriority"',
    ),
    ({"os": {"name": "plan9"}}, 'os.name: Unsupported value: "plan9": supported values: "linux", "windows"'),
    ({"overhead": {"cpu": "-1"}}, 'overhead[cpu]: Invalid value: "-1": must be greater than or equal to 0'),
    (
        {"hostAliases": [{"ip": "x", "hostnames": []}]},
        'hostAliases[0].ip: Invalid value: "x": must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)',
    ),
    (
        {"readinessGates": [{"conditionType": "a b"}]},
        f'readinessGates[0].conditionType: Invalid value: "a b": {QUALIFIED}',
    ),
    (
        {"nodeName": "n", "schedulingGates": [{"name": "x"}]},
        "nodeName: Forbidden: cannot be set until all schedulingGates have been cleared",
    ),
    (
        {"tolerations": [{"operator": "Equal"}]},
        'tolerations[0].operator: Invalid value: "Equal": '
        'operator must be Exists when `key` is empty, which means "match all values and all keys"',
    ),
    (
        {"tolerations": [{"key": "a", "tolerationSeconds": 3}]},
        "tolerations[0].effect: Invalid value: \"\": effect must be 'NoExecute' when `tolerationSeconds` is set",
    ),
    (
        {"tolerations": [{"key": "a", "operator": "Exists", "value": "x"}]},
        'tolerations[0].operator: Invalid value: {"key":"a","operator":"Exists","value":"x"}: '
        "value must be empty when `operator` is 'Exists'",
    ),
    (
        {"tolerations": [{"key": "a", "operator": "Like"}]},
        'tolerations[0].operator: Unsupported value: "Like": supported values: "Equal", "Exists"',
    ),
    (
        {"tolerations": [{"key": "a", "effect": "Never"}]},
        'tolerations[0].effect: Unsupported value: "Never": supported values: "NoExecute", "NoSchedule", "PreferNoSchedule"',
    ),
    (
        {"resourceClaims": [{"name": "x"}]},
        'resourceClaims[0]: Invalid value: {"name":"x"}: '
        "must specify one of: `resourceClaimName`, `resourceClaimTemplateName`",
    ),
    (
        {"resourceClaims": [{"name": "x", "resourceClaimName": "a"}, {"name": "x", "resourceClaimName": "b"}]},
        'resourceClaims[1].name: Duplicate value: "x"',
    ),
    (
        {"shareProcessNamespace": True, "hostPID": True},
        "shareProcessNamespace: Invalid value: true: ShareProcessNamespace and HostPID cannot both be enabled",
    ),
    ({"hostUsers": False, "hostPID": True}, "hostPID: Forbidden: when `hostUsers` is false"),
]


@pytest.mark.parametrize(("spec", "expected"), SPEC)
def test_the_spec(spec: dict[str, Any], expected: str | None) -> None:
    found = errors(**spec)
    if expected is None:
        (text,) = found
        assert text.startswith(f"spec.{next(iter(spec))}: Invalid value: ")
        assert "RFC 1123 label" in text
    else:
        assert found == [f"spec.{expected}"]


AFFINITY = [
    ({"nodeSelectorTerms": []}, ".nodeSelectorTerms: Required value: must have at least one node selector term"),
    ({"operator": "In"}, ".values: Required value: must be specified when `operator` is 'In' or 'NotIn'"),
    (
        {"operator": "Exists", "values": ["x"]},
        ".values: Forbidden: may not be specified when `operator` is 'Exists' or 'DoesNotExist'",
    ),
    (
        {"operator": "Gt", "values": ["1", "2"]},
        ".values: Required value: must be specified single value when `operator` is 'Lt' or 'Gt'",
    ),
    ({"operator": "Is"}, '.operator: Invalid value: "Is": not a valid selector operator'),
]


@pytest.mark.parametrize(("requirement", "expected"), AFFINITY)
def test_node_affinity(requirement: dict[str, Any], expected: str) -> None:
    path = "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution"
    selector = requirement
    if "nodeSelectorTerms" not in requirement:
        selector = {"nodeSelectorTerms": [{"matchExpressions": [{"key": "a", **requirement}]}]}
        path += ".nodeSelectorTerms[0].matchExpressions[0]"
    affinity = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": selector}}
    assert errors(affinity=affinity) == [f"{path}{expected}"]


def test_preferred_node_affinity_has_a_weight() -> None:
    preferred = [{"weight": 0, "preference": {"matchExpressions": [{"key": "a", "operator": "Exists"}]}}]
    affinity = {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": preferred}}
    assert errors(affinity=affinity) == [
        "spec.affinity.nodeAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].weight: "
        "Invalid value: 0: must be in the range 1-100"
    ]


SECURITY = [
    ({"fsGroup": -1}, "fsGroup: Invalid value: -1: must be between 0 and 2147483647, inclusive"),
    (
        {"supplementalGroups": [1, -1]},
        "supplementalGroups[1]: Invalid value: -1: must be between 0 and 2147483647, inclusive",
    ),
    (
        {"fsGroupChangePolicy": "Never"},
        'fsGroupChangePolicy: Unsupported value: "Never": supported values: "Always", "OnRootMismatch"',
    ),
    (
        {"supplementalGroupsPolicy": "Loose"},
        'supplementalGroupsPolicy: Unsupported value: "Loose": supported values: "Merge", "Strict"',
    ),
    (
        {"seLinuxChangePolicy": "Never"},
        'seLinuxChangePolicy: Unsupported value: "Never": supported values: "MountOption", "Recursive"',
    ),
    ({"sysctls": [{"value": "1"}]}, "sysctls[0].name: Required value"),
    (
        {"sysctls": [{"name": "kernel.x", "value": "1"}, {"name": "kernel/x", "value": "1"}]},
        'sysctls[1].name: Duplicate value: "kernel/x"',
    ),
    ({"seccompProfile": {"type": "Off"}}, None),
]


@pytest.mark.parametrize(("security", "expected"), SECURITY)
def test_security_of_the_pod(security: dict[str, Any], expected: str | None) -> None:
    found = errors(securityContext=security)
    if expected is None:
        assert found == [
            'spec.securityContext.seccompProfile.type: Unsupported value: "Off": '
            'supported values: "Localhost", "RuntimeDefault", "Unconfined"'
        ]
    else:
        assert found == [f"spec.securityContext.{expected}"]


@pytest.mark.parametrize("name", ["A.b", "a..b", "a" * 254, "-a"])
def test_names_of_kernel_parameters(name: str) -> None:
    (text,) = errors(securityContext={"sysctls": [{"name": name, "value": "1"}]})
    assert text.startswith(
        f'spec.securityContext.sysctls[0].name: Invalid value: "{name}": must have at most 253 characters'
    )
