import json
from typing import Any

import msgspec
import pytest
import yaml
from kubernetes.client import ApiClient

from shared.errors import Invalid
from shared.kube.manifest import MAX_BYTES, Manifest, decode_manifest, decode_manifests
from shared.kube.types import Pod

PATH = "/etc/kubernetes/manifests/web.yaml"
HASH = "kubernetes.io/config.hash"


def document(**spec: Any) -> dict[str, Any]:
    spec.setdefault("containers", [{"name": "web", "image": "nginx:1.27"}])
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web"}, "spec": spec}


def decode(raw: Any, path: str = PATH, node: str = "node1", source: str = "file") -> Manifest:
    data = raw if isinstance(raw, bytes) else json.dumps(raw).encode()
    return decode_manifest(data, path, node, source)


def refusal(raw: Any) -> str:
    with pytest.raises(Invalid) as caught:
        decode(raw)
    text = str(caught.value)
    assert text.startswith(f"{PATH}: ")
    return text.removeprefix(f"{PATH}: ")


def test_a_static_pod_gets_identity_place_and_toleration() -> None:
    pod = decode(document(), node="node1").pod
    assert (pod.metadata.name, pod.metadata.namespace, pod.spec.node_name) == ("web-node1", "default", "node1")
    assert len(pod.metadata.uid) == 32
    assert pod.metadata.annotations == {HASH: pod.metadata.uid}
    assert msgspec.to_builtins(pod.spec.tolerations) == [{"operator": "Exists", "effect": "NoExecute"}]
    assert msgspec.to_builtins(pod.status) == {"phase": "Pending"}


def test_a_pod_from_a_url_gets_no_toleration() -> None:
    assert decode(document(), source="http").pod.spec.tolerations == []


def test_the_uid_follows_content_node_and_place_but_not_layout() -> None:
    one = decode(document()).pod.metadata.uid
    reordered = dict(reversed(document().items()))
    assert decode(yaml.safe_dump(reordered).encode() + b"# a comment\n").pod.metadata.uid == one
    others = {
        decode(document(), path="/other.yaml").pod.metadata.uid,
        decode(document(), node="node2").pod.metadata.uid,
        decode(document(), source="http").pod.metadata.uid,
        decode(document(hostNetwork=True)).pod.metadata.uid,
    }
    assert len(others | {one}) == 5


def test_the_uid_of_the_manifest_is_kept() -> None:
    raw = document()
    raw["metadata"]["uid"] = "fixed"
    pod = decode(raw).pod
    assert (pod.metadata.uid, pod.metadata.annotations[HASH]) == ("fixed", "fixed")


def test_the_api_defaults_are_filled_in() -> None:
    raw = document(
        hostNetwork=True,
        volumes=[
            {"name": "scratch"},
            {"name": "facts", "downwardAPI": {"items": [{"path": "name", "fieldRef": {"fieldPath": "metadata.name"}}]}},
            {"name": "host", "hostPath": {"path": "/x"}},
        ],
        terminationGracePeriodSeconds=-5,
        containers=[
            {
                "name": "web",
                "image": "registry:5000/nginx",
                "ports": [{"containerPort": 80}],
                "resources": {"limits": {"cpu": 0.5, "memory": "1024Mi"}, "requests": {"cpu": "0.0001"}},
                "livenessProbe": {"httpGet": {"port": "http"}},
                "env": [{"name": "IP", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}}],
                "lifecycle": {"preStop": {"httpGet": {"port": 1}}},
                "securityContext": {},
            }
        ],
    )
    spec = msgspec.to_builtins(decode(raw).pod.spec)
    assert spec == {
        "containers": [
            {
                "name": "web",
                "image": "registry:5000/nginx",
                "imagePullPolicy": "Always",
                "ports": [{"containerPort": 80, "hostPort": 80, "protocol": "TCP"}],
                "resources": {
                    "limits": {"cpu": "500m", "memory": "1Gi"},
                    "requests": {"cpu": "1m", "memory": "1Gi"},
                },
                "livenessProbe": {
                    "httpGet": {"port": "http", "path": "/", "scheme": "HTTP"},
                    "timeoutSeconds": 1,
                    "periodSeconds": 10,
                    "successThreshold": 1,
                    "failureThreshold": 3,
                },
                "env": [{"name": "IP", "valueFrom": {"fieldRef": {"apiVersion": "v1", "fieldPath": "status.podIP"}}}],
                "lifecycle": {"preStop": {"httpGet": {"port": 1, "path": "/", "scheme": "HTTP"}}},
                "securityContext": {"procMount": "Default"},
                "terminationMessagePath": "/dev/termination-log",
                "terminationMessagePolicy": "File",
            }
        ],
        "volumes": [
            {"name": "scratch", "emptyDir": {}},
            {
                "name": "facts",
                "downwardAPI": {
                    "defaultMode": 420,
                    "items": [{"path": "name", "fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.name"}}],
                },
            },
            {"name": "host", "hostPath": {"path": "/x", "type": ""}},
        ],
        "hostNetwork": True,
        "nodeName": "node1",
        "dnsPolicy": "ClusterFirst",
        "restartPolicy": "Always",
        "schedulerName": "default-scheduler",
        "enableServiceLinks": True,
        "securityContext": {},
        "terminationGracePeriodSeconds": 1,
        "tolerations": [{"operator": "Exists", "effect": "NoExecute"}],
    }


@pytest.mark.parametrize(
    ("image", "policy"),
    [
        ("nginx", "Always"),
        ("nginx:latest", "Always"),
        ("nginx:1.27", "IfNotPresent"),
        ("registry:5000/nginx", "Always"),
        ("registry:5000/nginx:1", "IfNotPresent"),
        ("nginx@sha256:" + "0" * 64, "IfNotPresent"),
        ("nginx:latest@sha256:" + "0" * 64, "Always"),
    ],
)
def test_the_pull_policy_follows_from_the_tag(image: str, policy: str) -> None:
    pod = decode(document(containers=[{"name": "web", "image": image}])).pod
    assert pod.spec.containers[0].image_pull_policy == policy


def test_pod_level_requests_come_from_containers_then_from_limits() -> None:
    containers = [{"name": "web", "image": "i", "resources": {"requests": {"cpu": "1"}, "limits": {"cpu": "1"}}}]
    resources = {"limits": {"cpu": "2", "memory": "1Gi"}}
    pod = decode(document(containers=containers, resources=resources)).pod
    assert pod.spec.resources is not None
    assert pod.spec.resources.requests == {"cpu": "1", "memory": "1Gi"}


def test_nulls_mean_absent_and_unknown_fields_are_named() -> None:
    raw = document(
        volumes=None, colour="red", containers=[{"name": "web", "image": "i", "args": None, "speed": {"a": 1}}]
    )
    raw["metadata"]["creationTimestamp"] = None
    raw["status"] = {"phase": "Running", "qosClass": "Guaranteed"}
    raw["metadata"]["annotations"] = {"kubernetes.io/config.mirror": "x", "note": "kept"}
    found = decode(raw)
    assert found.ignored == (
        "spec.colour",
        "spec.containers[0].speed",
        "status",
        "metadata.annotations[kubernetes.io/config.mirror]",
    )
    assert found.pod.metadata.annotations == {"note": "kept", HASH: found.pod.metadata.uid}
    assert found.pod.status.qos_class is None


def test_only_the_first_document_counts() -> None:
    text = yaml.safe_dump(document()) + "---\nkind: Nonsense\n---\n: [broken"
    assert decode(text.encode()).pod.metadata.name == "web-node1"


def test_a_byte_order_mark_is_no_part_of_the_text() -> None:
    assert decode(b"\xef\xbb\xbf" + json.dumps(document()).encode()).pod.metadata.name == "web-node1"


NOT_A_POD = [
    (b"", "the document is empty"),
    (b"# nothing\n", "the document is empty"),
    (b"just words", "the document is not an object"),
    (b"[1, 2]", "the document is not an object"),
    (b"apiVersion: v1\n", "Object 'Kind' is missing"),
    (b"kind: Pod\n", "Object 'apiVersion' is missing"),
    (b"{apiVersion: v1", "JSON is malformed: object keys must be strings (byte 1)"),
    (b'{"kind": "PodList", "apiVersion": "v1"}', "v1 PodList is not a v1 Pod; one file holds one pod"),
    (b'{"kind": "List", "apiVersion": "v1"}', "v1 List is not a v1 Pod; one file holds one pod"),
    (b'{"kind": "Pod", "apiVersion": "v2"}', "v2 Pod is not a v1 Pod; one file holds one pod"),
    (b'{"kind": ["Pod"], "apiVersion": "v1"}', "v1 ? is not a v1 Pod; one file holds one pod"),
    (b"\xff\xfe", "not UTF-8: byte 0"),
    (b"a: b: c", 'mapping values are not allowed in this context in "<unicode string>", line 1, column 5'),
    (b"\t- x", None),
    (b"%", None),
    (b"a: &x [*x]", "alias *x has no anchor before it (line 1, column 8)"),
    (b"[" * 500, "nested deeper than 200 levels (line 1, column 201)"),
    (b'{"a":' * 100_000, None),
    (b"a: .inf", ".inf has no form in JSON"),
    (b"? [a]\n: b", "a list or map cannot be a key (line 1, column 3)"),
    (b"a: \x01", None),
]


@pytest.mark.parametrize(("data", "why"), NOT_A_POD)
def test_what_is_no_pod_is_refused_with_the_reason(data: bytes, why: str | None) -> None:
    text = refusal(data)
    assert text.startswith("couldn't parse as pod(")
    assert text.endswith("), please check config file")
    if why is not None:
        assert text == f"couldn't parse as pod({why}), please check config file"


def test_aliases_of_aliases_are_refused_before_they_are_followed() -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 10)}]" for i in range(1, 12)]
    assert "more than 100000 values, aliases included" in refusal("\n".join(lines).encode())


def test_more_values_than_any_pod_has_are_refused_in_json_too() -> None:
    assert "more than 100000 values" in refusal(b'{"kind":"Pod","x":[' + b"0," * 100_001 + b"0]}")


def test_more_than_ten_mebibytes_are_refused() -> None:
    data = b"#" * (MAX_BYTES + 1)
    assert refusal(data) == f"couldn't parse as pod(larger than {MAX_BYTES} bytes), please check config file"


def test_a_pod_needs_a_name() -> None:
    raw = document()
    raw["metadata"] = {"namespace": "x"}
    assert refusal(raw) == "invalid pod: name is needed for the pod"
    raw["metadata"] = None
    assert refusal(raw) == "invalid pod: name is needed for the pod"


WRONG_SHAPES = [
    ({"containers": {}}, "spec.containers: expected a list, got an object"),
    ({"containers": [{"name": 3}]}, "spec.containers[0].name: expected a string, got the number 3"),
    ({"containers": ["web"]}, 'spec.containers[0]: expected an object, got "web"'),
    ({"hostNetwork": "true"}, 'spec.hostNetwork: expected true or false, got "true"'),
    ({"priority": "high"}, 'spec.priority: expected a whole number, got "high"'),
    ({"priority": 1.5}, "spec.priority: expected a whole number, got the number 1.5"),
    ({"priority": True}, "spec.priority: expected a whole number, got true"),
    ({"priority": 2**63}, "spec.priority: expected a whole number, got the number 9223372036854775808"),
    ({"nodeSelector": ["a"]}, "spec.nodeSelector: expected a map, got a list"),
    ({"nodeSelector": {"a": True}}, "spec.nodeSelector[a]: expected a string, got true"),
    (
        {"containers": [{"resources": {"limits": {"cpu": "1x"}}}]},
        "spec.containers[0].resources.limits[cpu]: quantities must match the regular expression "
        "'^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$', got \"1x\"",
    ),
    (
        {"containers": [{"livenessProbe": {"httpGet": {"port": 1.5}}}]},
        "spec.containers[0].livenessProbe.httpGet.port: expected a whole number or a name, got the number 1.5",
    ),
]


@pytest.mark.parametrize(("spec", "why"), WRONG_SHAPES)
def test_a_value_of_the_wrong_kind_is_refused_by_field(spec: dict[str, Any], why: str) -> None:
    assert refusal(document(**spec)) == f"couldn't parse as pod({why}), please check config file"


def env(**source: Any) -> dict[str, Any]:
    return {"containers": [{"name": "web", "image": "i", "env": [{"name": "A", "valueFrom": source}]}]}


def volume(**source: Any) -> dict[str, Any]:
    return {"volumes": [{"name": "v", **source}]}


API_REFERENCES = [
    ({"serviceAccountName": "sa"}, "serviceaccounts"),
    ({"serviceAccount": "sa"}, "serviceaccounts"),
    (env(secretKeyRef={"name": "s", "key": "k"}), "secrets"),
    ({"containers": [{"name": "web", "image": "i", "envFrom": [{"secretRef": {"name": "s"}}]}]}, "secrets"),
    ({"imagePullSecrets": [{"name": "s"}]}, "secrets"),
    (volume(secret={"secretName": "s"}), "secrets"),
    (volume(azureFile={"secretName": "s", "shareName": "x"}), "secrets"),
    (volume(rbd={"monitors": ["m"], "image": "i", "secretRef": {"name": "s"}}), "secrets"),
    (volume(projected={"sources": [{"secret": {"name": "s"}}]}), "secrets"),
    (volume(csi={"driver": "d", "nodePublishSecretRef": {"name": "s"}}), "secrets"),
    (env(configMapKeyRef={"name": "c", "key": "k"}), "configmaps"),
    (volume(configMap={"name": "c"}), "configmaps"),
    (volume(projected={"sources": [{"configMap": {"name": "c"}}]}), "configmaps"),
    ({"resourceClaims": [{"name": "r", "resourceClaimName": "x"}]}, "resourceclaims"),
    (volume(csi={"driver": "d"}), "csidrivers (via CSI volumes)"),
    (volume(glusterfs={"endpoints": "e", "path": "p"}), "endpoints (via glusterFS volumes)"),
    (volume(persistentVolumeClaim={"claimName": "c"}), "persistentvolumeclaims"),
    (
        volume(
            ephemeral={
                "volumeClaimTemplate": {
                    "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
                }
            }
        ),
        "persistentvolumeclaims (via ephemeral volumes)",
    ),
    (
        volume(projected={"sources": [{"serviceAccountToken": {"path": "token"}}]}),
        "serviceaccounts (via projected volumes)",
    ),
    (volume(projected={"sources": [{"clusterTrustBundle": {"name": "b", "path": "p"}}]}), "clustertrustbundles"),
    (
        volume(
            projected={
                "sources": [
                    {"podCertificate": {"signerName": "a.b/c", "keyType": "ED25519", "credentialBundlePath": "p"}}
                ]
            }
        ),
        "podcertificates",
    ),
]


@pytest.mark.parametrize(("spec", "what"), API_REFERENCES)
def test_a_static_pod_may_not_refer_to_api_objects(spec: dict[str, Any], what: str) -> None:
    assert refusal(document(**spec)) == f"static pods may not reference {what}"


@pytest.mark.parametrize(
    "source",
    [
        {"hostPath": {"path": "/x"}},
        {"emptyDir": {"medium": "Memory", "sizeLimit": "1Gi"}},
        {"downwardAPI": {"items": [{"path": "labels", "fieldRef": {"fieldPath": "metadata.labels"}}]}},
        {"image": {"reference": "busybox"}},
        {"nfs": {"server": "s", "path": "/p"}},
        {"iscsi": {"targetPortal": "p", "iqn": "iqn.2001-04.com.example:storage", "lun": 0}},
        {"fc": {"targetWWNs": ["w"], "lun": 1}},
        {
            "projected": {
                "sources": [
                    {
                        "downwardAPI": {
                            "items": [
                                {"path": "cpu", "resourceFieldRef": {"containerName": "web", "resource": "limits.cpu"}}
                            ]
                        }
                    }
                ]
            }
        },
    ],
)
def test_volumes_that_need_no_api_server_are_accepted(source: dict[str, Any]) -> None:
    assert decode(document(**volume(**source))).pod.spec.volumes[0].name == "v"


def test_a_url_may_hold_a_list_and_one_bad_pod_refuses_all() -> None:
    first, second = document(), document()
    second["metadata"]["name"] = "db"
    both = {"apiVersion": "v1", "kind": "PodList", "items": [first, {k: second[k] for k in ("metadata", "spec")}]}
    found = decode_manifests(json.dumps(both).encode(), "http://x/", "node1")
    assert [m.pod.metadata.name for m in found] == ["web-node1", "db-node1"]
    assert [m.pod.metadata.name for m in decode_manifests(json.dumps(first).encode(), "u", "n")] == ["web-n"]
    second["spec"]["containers"] = []
    with pytest.raises(Invalid, match=r"u: invalid pod: spec.containers: Required value"):
        decode_manifests(json.dumps(both | {"items": [first, second]}).encode(), "u", "n")
    with pytest.raises(Invalid, match="is not a v1 Pod"):
        decode_manifests(json.dumps(both | {"kind": "List"}).encode(), "u", "n")


def test_a_decoded_pod_is_understood_by_the_official_client() -> None:
    class Response:
        data = msgspec.json.encode(decode(document(hostNetwork=True)).pod).decode()

    client = ApiClient()
    theirs = client.deserialize(Response.data, "V1Pod", "application/json")
    again = msgspec.json.decode(json.dumps(client.sanitize_for_serialization(theirs)), type=Pod)
    assert again == decode(document(hostNetwork=True)).pod


@pytest.mark.parametrize("uid", ["../../etc", "a/b", ".", "..", "-", "a b", "a\n", "ü", "x" * 129, "a\0"])
def test_a_uid_that_cannot_name_a_directory_is_refused(uid: str) -> None:
    document = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "p", "uid": uid},
        "spec": {"containers": [{"name": "c", "image": "i"}]},
    }
    with pytest.raises(Invalid, match=r"invalid pod: metadata\.uid: Invalid value: "):
        decode_manifest(msgspec.json.encode(document), "/m/p.json", "node1")
