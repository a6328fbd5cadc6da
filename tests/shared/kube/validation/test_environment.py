from typing import Any

import pytest

from tests.shared.kube.validation.build import container, errors, of_container

ENV = [
    ({"value": "x"}, ["name: Required value"]),
    (
        {"name": "a=b"},
        [
            'name: Invalid value: "a=b": a valid environment variable name must consist only of '
            "printable ASCII characters other than '='"
        ],
    ),
    ({"name": "1.a-b c"}, []),
    (
        {"name": "A", "valueFrom": {}},
        [
            'valueFrom: Invalid value: "": must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef`, '
            "`secretKeyRef` or `fileKeyRef`"
        ],
    ),
    (
        {"name": "A", "value": "x", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}},
        ['valueFrom: Invalid value: "": may not be specified when `value` is not empty'],
    ),
    (
        {
            "name": "A",
            "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}, "secretKeyRef": {"name": "s", "key": "k"}},
        },
        ['valueFrom: Invalid value: "": may not have more than one field specified at a time'],
    ),
    ({"name": "A", "valueFrom": {"fieldRef": {}}}, ["valueFrom.fieldRef.fieldPath: Required value"]),
    (
        {"name": "A", "valueFrom": {"fieldRef": {"fieldPath": "status.x"}}},
        [
            'valueFrom.fieldRef.fieldPath: Invalid value: "status.x": '
            "error converting fieldPath: field label not supported: status.x"
        ],
    ),
    (
        {"name": "A", "valueFrom": {"fieldRef": {"fieldPath": "metadata.labels"}}},
        [
            'valueFrom.fieldRef.fieldPath: Unsupported value: "metadata.labels": supported values: "metadata.name", '
            '"metadata.namespace", "metadata.uid", "spec.nodeName", "spec.serviceAccountName", "status.hostIP", '
            '"status.hostIPs", "status.podIP", "status.podIPs"'
        ],
    ),
    ({"name": "A", "valueFrom": {"fieldRef": {"fieldPath": "metadata.annotations['My/Key']"}}}, []),
    ({"name": "A", "valueFrom": {"resourceFieldRef": {}}}, ["valueFrom.resourceFieldRef.resource: Required value"]),
    (
        {"name": "A", "valueFrom": {"resourceFieldRef": {"resource": "limits.cpu", "divisor": "1k"}}},
        [
            'valueFrom.resourceFieldRef.divisor: Invalid value: "1k": '
            "only divisor's values 1m, 1 are supported with the cpu resource"
        ],
    ),
    ({"name": "A", "valueFrom": {"resourceFieldRef": {"resource": "requests.hugepages-2Mi", "divisor": "1Mi"}}}, []),
    (
        {"name": "A", "valueFrom": {"resourceFieldRef": {"resource": "limits.x"}}},
        [
            'valueFrom.resourceFieldRef.resource: Unsupported value: "limits.x": supported values: "limits.cpu", '
            '"limits.ephemeral-storage", "limits.memory", "requests.cpu", "requests.ephemeral-storage", '
            '"requests.memory"'
        ],
    ),
    (
        {"name": "A", "valueFrom": {"configMapKeyRef": {}}},
        ["valueFrom.configMapKeyRef.name: Required value", "valueFrom.configMapKeyRef.key: Required value"],
    ),
    (
        {"name": "A", "valueFrom": {"secretKeyRef": {"name": "s", "key": "a b"}}},
        [
            'valueFrom.secretKeyRef.key: Invalid value: "a b": a valid config key must consist of alphanumeric characters, '
            "'-', '_' or '.' (e.g. 'key.name',  or 'KEY_NAME',  or 'key-name', "
            "regex used for validation is '[-._a-zA-Z0-9]+')"
        ],
    ),
    (
        {"name": "A", "valueFrom": {"fileKeyRef": {"path": "../x"}}},
        [
            "valueFrom.fileKeyRef.key: Required value",
            "valueFrom.fileKeyRef.volumeName: Required value",
            "valueFrom.fileKeyRef.path: Invalid value: \"../x\": must not contain '..'",
        ],
    ),
]


@pytest.mark.parametrize(("variable", "expected"), ENV)
def test_environment_variables(variable: dict[str, Any], expected: list[str]) -> None:
    assert of_container(env=[variable]) == [f"env[0].{text}" for text in expected]


ENV_FROM = [
    ({}, '[0]: Invalid value: "": must specify one of: `configMapRef` or `secretRef`'),
    ({"configMapRef": {}}, "[0].configMapRef.name: Required value"),
    (
        {"configMapRef": {"name": "a"}, "secretRef": {"name": "b"}},
        '[0]: Invalid value: "": may not have more than one field specified at a time',
    ),
]


@pytest.mark.parametrize(("source", "expected"), ENV_FROM)
def test_sources_of_many_variables(source: dict[str, Any], expected: str) -> None:
    assert of_container(envFrom=[source]) == [f"envFrom{expected}"]


MOUNTS = [
    ({"mountPath": "/x"}, ["name: Required value"]),
    ({"name": "other", "mountPath": "/x"}, ['name: Not found: "other"']),
    ({"name": "v"}, ["mountPath: Required value"]),
    ({"name": "v", "mountPath": "/x", "subPath": "/y"}, ['subPath: Invalid value: "/y": must be a relative path']),
    ({"name": "v", "mountPath": "/x", "subPath": "a/.."}, ["subPath: Invalid value: \"a/..\": must not contain '..'"]),
    (
        {"name": "v", "mountPath": "/x", "subPath": "a", "subPathExpr": "b"},
        ['subPathExpr: Invalid value: "b": subPathExpr and subPath are mutually exclusive'],
    ),
    (
        {"name": "v", "mountPath": "/x", "mountPropagation": "Some"},
        ['mountPropagation: Unsupported value: "Some": supported values: "Bidirectional", "HostToContainer", "None"'],
    ),
    (
        {"name": "v", "mountPath": "/x", "mountPropagation": "Bidirectional"},
        ["mountPropagation: Forbidden: Bidirectional mount propagation is available only to privileged containers"],
    ),
    (
        {"name": "v", "mountPath": "/x", "recursiveReadOnly": "Enabled", "mountPropagation": "HostToContainer"},
        [
            "recursiveReadOnly: Forbidden: may only be specified when readOnly is true",
            "recursiveReadOnly: Forbidden: may only be specified when mountPropagation is None or not specified",
        ],
    ),
    (
        {"name": "v", "mountPath": "/x", "recursiveReadOnly": "Yes"},
        ['recursiveReadOnly: Unsupported value: "Yes": supported values: "Disabled", "Enabled", "IfPossible"'],
    ),
]


@pytest.mark.parametrize(("mount", "expected"), MOUNTS)
def test_mounts(mount: dict[str, Any], expected: list[str]) -> None:
    assert of_container(volumeMounts=[mount]) == [f"volumeMounts[0].{text}" for text in expected]


def test_each_place_is_mounted_once() -> None:
    mount = {"name": "v", "mountPath": "/x"}
    assert of_container(volumeMounts=[mount, mount]) == [
        'volumeMounts[1].mountPath: Invalid value: "/x": must be unique'
    ]


def test_a_privileged_container_may_propagate_mounts_both_ways() -> None:
    mount = {"name": "v", "mountPath": "/x", "mountPropagation": "Bidirectional"}
    assert of_container(volumeMounts=[mount], securityContext={"privileged": True}) == []


def test_block_devices_come_from_claims() -> None:
    assert of_container(volumeDevices=[{"name": "v", "devicePath": "/dev/x"}]) == [
        'volumeDevices[0].name: Invalid value: "v": '
        "can only use volume source type of PersistentVolumeClaim or Ephemeral for block mode"
    ]
    claim = [{"name": "v", "persistentVolumeClaim": {"claimName": "x"}}]
    both = container(volumeDevices=[{"name": "v", "devicePath": "/x"}], volumeMounts=[{"name": "v", "mountPath": "/x"}])
    assert errors(containers=[both], volumes=claim) == [
        'spec.containers[0].volumeMounts[0].name: Invalid value: "v": must not already exist in volumeDevices',
        'spec.containers[0].volumeMounts[0].mountPath: Invalid value: "/x": '
        "must not already exist as a path in volumeDevices",
    ]
    odd = [{"devicePath": "/a/../b"}, {"name": "w"}, {"name": "w", "devicePath": "/a/../b"}]
    assert of_container(volumeDevices=odd) == [
        "volumeDevices[0].name: Required value",
        "volumeDevices[0].devicePath: Invalid value: \"/a/../b\": must not contain '..'",
        'volumeDevices[1].name: Not found: "w"',
        "volumeDevices[1].devicePath: Required value",
        'volumeDevices[2].name: Not found: "w"',
        'volumeDevices[2].name: Invalid value: "w": must be unique',
        'volumeDevices[2].devicePath: Invalid value: "/a/../b": must be unique',
        "volumeDevices[2].devicePath: Invalid value: \"/a/../b\": must not contain '..'",
    ]
