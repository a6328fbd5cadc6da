from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.errors import Invalid
from shared.kube.types import Pod
from tests.shared.kube.test_manifest import PATH, decode, document


@given(st.binary(max_size=60))
def test_any_bytes_are_a_pod_or_invalid(data: bytes) -> None:
    with pytest.raises(Invalid):
        decode(data)


words = st.sampled_from(
    [
        "apiVersion: v1",
        "kind: Pod",
        "metadata:",
        "  name: a",
        "spec:",
        "  containers:",
        "  - name: x",
        "    image: y",
        "&a",
        "*a",
        "<<: *a",
        "- ",
        "? ",
        "|",
        ">",
        "!!int x",
        "{",
        "}",
        "[",
        "]",
        ",",
        "'",
        '"',
        "\\",
        "%",
        "---",
        "\x00",
        "~",
        "0x",
        "1:30",
        "1e9",
        "y",
    ]
)


@given(st.lists(words, max_size=25), st.sampled_from(["\n", " ", ""]))
def test_any_yaml_is_a_pod_or_invalid(parts: list[str], joint: str) -> None:
    try:
        decode(joint.join(parts).encode())
    except Invalid as error:
        assert str(error).startswith(PATH)


scalars = (
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=8)
)
anything = st.recursive(
    scalars, lambda v: st.lists(v, max_size=3) | st.dictionaries(st.text(max_size=8), v, max_size=3), max_leaves=8
)


def whole_pod() -> dict[str, Any]:
    return document(
        volumes=[{"name": "v", "emptyDir": {}}],
        initContainers=[{"name": "i", "image": "i", "restartPolicy": "Always"}],
        tolerations=[{"key": "a", "operator": "Exists"}],
        securityContext={"sysctls": [{"name": "net.x", "value": "1"}]},
        dnsConfig={"nameservers": ["10.0.0.1"], "options": [{"name": "x"}]},
        hostAliases=[{"ip": "1.2.3.4", "hostnames": ["a"]}],
        affinity={
            "nodeAffinity": {
                "requiredDuringSchedulingIgnoredDuringExecution": {
                    "nodeSelectorTerms": [{"matchExpressions": [{"key": "a", "operator": "In", "values": ["b"]}]}]
                }
            }
        },
        containers=[
            {
                "name": "web",
                "image": "i",
                "ports": [{"name": "http", "containerPort": 80, "hostPort": 80}],
                "env": [{"name": "A", "valueFrom": {"fieldRef": {"fieldPath": "metadata.labels['a']"}}}],
                "volumeMounts": [{"name": "v", "mountPath": "/x"}],
                "resources": {"limits": {"cpu": "1"}, "claims": []},
                "livenessProbe": {"exec": {"command": ["x"]}},
                "lifecycle": {"preStop": {"sleep": {"seconds": 1}}},
                "securityContext": {"seccompProfile": {"type": "RuntimeDefault"}},
                "restartPolicy": "Never",
                "restartPolicyRules": [{"action": "Restart", "exitCodes": {"operator": "In", "values": [1]}}],
            }
        ],
    )


def spots(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(spot for key, one in inner for spot in spots(one, (*path, key)))]


def test_the_pod_that_the_fuzzer_starts_from_is_sound() -> None:
    assert decode(whole_pod()).ignored == ()


@given(st.sampled_from(spots(whole_pod())[1:]), anything)
def test_any_value_in_any_field_is_accepted_or_refused_and_nothing_else(path: tuple[Any, ...], value: Any) -> None:
    raw = whole_pod()
    holder: Any = raw
    for key in path[:-1]:
        holder = holder[key]
    holder[path[-1]] = value
    try:
        decoded = decode(raw).pod
    except Invalid:
        return
    assert msgspec.msgpack.decode(msgspec.msgpack.encode(decoded), type=Pod) == decoded
