from typing import Any

import pytest

from tests.shared.kube.validation.build import container, errors, of_volume

VOLUMES = [
    ({"hostPath": {}}, ["hostPath.path: Required value"]),
    ({"hostPath": {"path": "/a/../b"}}, ["hostPath.path: Invalid value: \"/a/../b\": must not contain '..'"]),
    (
        {"hostPath": {"path": "/a", "type": "Pipe"}},
        [
            'hostPath.type: Unsupported value: "Pipe": supported values: "BlockDevice", "CharDevice", "Directory", '
            '"DirectoryOrCreate", "File", "FileOrCreate", "Socket"'
        ],
    ),
    (
        {"hostPath": {"path": "/a"}, "emptyDir": {}, "nfs": {}},
        [
            "hostPath: Forbidden: may not specify more than 1 volume type",
            "nfs: Forbidden: may not specify more than 1 volume type",
        ],
    ),
    (
        {"emptyDir": {"sizeLimit": "-1"}},
        ["emptyDir.sizeLimit: Forbidden: SizeLimit field must be a valid resource quantity"],
    ),
    (
        {"emptyDir": {"medium": "Tape"}},
        ['emptyDir.medium: Unsupported value: "Tape": supported values: "", "HugePages", "HugePages-<size>", "Memory"'],
    ),
    ({"image": {}}, ["image.reference: Required value"]),
    ({"nfs": {"path": "x"}}, ["nfs.server: Required value", 'nfs.path: Invalid value: "x": must be an absolute path']),
    ({"iscsi": {"lun": 256}}, None),
    ({"fc": {}}, ["fc.targetWWNs: Required value: must specify either targetWWNs or wwids, but not both"]),
    ({"fc": {"targetWWNs": ["x"]}}, ["fc.lun: Required value: lun is required if targetWWNs is specified"]),
    ({"csi": {}}, ["csi.driver: Required value"]),
    ({"persistentVolumeClaim": {}}, ["persistentVolumeClaim.claimName: Required value"]),
    ({"azureDisk": {}}, ["azureDisk.diskName: Required value", "azureDisk.diskURI: Required value"]),
    ({"secret": {}}, ["secret.secretName: Required value"]),
    ({"configMap": {}}, ["configMap.name: Required value"]),
    (
        {"secret": {"secretName": "s", "defaultMode": 0o1000}},
        ["secret.defaultMode: Invalid value: 512: must be a number between 0 and 0777 (octal), both inclusive"],
    ),
    (
        {"configMap": {"name": "c", "items": [{"path": "/x"}]}},
        [
            "configMap.items[0].key: Required value",
            'configMap.items[0].path: Invalid value: "/x": must be a relative path',
        ],
    ),
    (
        {"configMap": {"name": "c", "items": [{"key": "k", "path": "..x"}]}},
        ["configMap.items[0].path: Invalid value: \"..x\": must not start with '..'"],
    ),
    (
        {"downwardAPI": {"items": [{"path": "x"}]}},
        ["downwardAPI.items[0].fieldRef: Required value: one of fieldRef and resourceFieldRef is required"],
    ),
    (
        {"downwardAPI": {"items": [{"path": "x", "resourceFieldRef": {"resource": "limits.cpu"}}]}},
        ["downwardAPI.items[0].resourceFieldRef.containerName: Required value"],
    ),
    (
        {"downwardAPI": {"items": [{"path": "x", "fieldRef": {"fieldPath": "status.podIP"}}]}},
        [
            'downwardAPI.items[0].fieldRef.fieldPath: Unsupported value: "status.podIP": supported values: '
            '"metadata.annotations", "metadata.labels", "metadata.name", "metadata.namespace", "metadata.uid"'
        ],
    ),
    (
        {
            "downwardAPI": {
                "items": [
                    {
                        "path": "x",
                        "fieldRef": {"fieldPath": "metadata.name"},
                        "resourceFieldRef": {"containerName": "c", "resource": "limits.cpu"},
                    }
                ]
            }
        },
        [
            'downwardAPI.items[0]: Invalid value: "resource": '
            "fieldRef and resourceFieldRef can not be specified simultaneously"
        ],
    ),
    ({"projected": {"sources": [{}]}}, ["projected.sources[0]: Required value: must specify a projection type"]),
    (
        {"projected": {"sources": [{"secret": {"name": "s"}, "configMap": {"name": "c"}}]}},
        ["projected.sources[0].configMap: Forbidden: may not specify more than 1 volume type"],
    ),
    (
        {
            "projected": {
                "sources": [
                    {"serviceAccountToken": {"path": "a"}},
                    {"downwardAPI": {"items": [{"path": "a", "fieldRef": {"fieldPath": "metadata.name"}}]}},
                ]
            }
        },
        ['projected: Invalid value: "a": conflicting duplicate paths'],
    ),
    (
        {"projected": {"sources": [{"serviceAccountToken": {"path": "a", "expirationSeconds": 599}}]}},
        [
            "projected.sources[0].serviceAccountToken.expirationSeconds: Invalid value: 599: "
            "may not specify a duration less than 10 minutes"
        ],
    ),
    (
        {"projected": {"sources": [{"clusterTrustBundle": {"path": "a"}}]}},
        ["projected.sources[0].clusterTrustBundle: Required value: either name or signerName must be specified"],
    ),
    (
        {
            "projected": {
                "sources": [{"podCertificate": {"signerName": "x", "keyType": "RSA1", "maxExpirationSeconds": 1}}]
            }
        },
        None,
    ),
    (
        {"ephemeral": {"volumeClaimTemplate": {"spec": {}}}},
        [
            "ephemeral.volumeClaimTemplate.spec.accessModes: Required value: at least 1 access mode is required",
            "ephemeral.volumeClaimTemplate.spec.resources[storage]: Required value",
        ],
    ),
    ({"ephemeral": {}}, ["ephemeral.volumeClaimTemplate: Required value"]),
]


@pytest.mark.parametrize(("source", "expected"), VOLUMES)
def test_volumes(source: dict[str, Any], expected: list[str] | None) -> None:
    found = of_volume(**source)
    if "iscsi" in source:
        expected = [
            "iscsi.targetPortal: Required value",
            "iscsi.iqn: Required value",
            "iscsi.lun: Invalid value: 256: must be between 0 and 255, inclusive",
        ]
    if expected is None:
        assert len(found) == 4
        assert all(text.startswith("projected.sources[0].podCertificate") for text in found)
    else:
        assert sorted(found) == sorted(expected)


def test_names_of_volumes_are_labels_and_unique() -> None:
    volumes = [
        {"name": "v", "emptyDir": {}},
        {"name": "v", "emptyDir": {}},
        {"emptyDir": {}},
        {"name": "V", "emptyDir": {}},
    ]
    found = errors(volumes=volumes)
    assert found[:2] == ['spec.volumes[1].name: Duplicate value: "v"', "spec.volumes[2].name: Required value"]
    assert found[2].startswith('spec.volumes[3].name: Invalid value: "V": a lowercase RFC 1123 label')


def test_a_mount_of_a_broken_volume_is_not_found() -> None:
    broken = [{"name": "v", "hostPath": {}}]
    assert errors(volumes=broken, containers=[container(volumeMounts=[{"name": "v", "mountPath": "/x"}])]) == [
        "spec.volumes[0].hostPath.path: Required value",
        'spec.containers[0].volumeMounts[0].name: Not found: "v"',
    ]
