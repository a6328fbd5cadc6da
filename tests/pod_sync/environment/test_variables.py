"""Environment variables of containers."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.pod_sync.environment.model import ConfigError, EnvObjects, ServiceFacts, ServicePort
from services.pod_sync.environment.variables import EnvFile, ObjectNames, environment, referred_files, referred_objects
from shared.kube.types import Container
from shared.messages.volume_manager import MountedVolume
from tests.pod_sync.environment.manifests import NODE, context, make_container, make_pod

SERVICE = ServiceFacts("default", "kubernetes", "10.96.0.1", (ServicePort(443),))
OBJECTS = EnvObjects(
    config_maps={"cm": {"k": "v", "not.an-identifier": "kept"}},
    secrets={"se": {"password": b"p\xff"}},
    files={"/vols/env/a.env": "K='from file'\nEMPTY=\n", "/vols/env/bad.env": "K=unquoted\n", "/vols/env/gone": None},
)
VOLUMES = {"env": MountedVolume(host_path="/vols/env")}


def variables(
    *env: dict[str, Any], env_from: list[dict[str, Any]] | None = None, objects: EnvObjects = OBJECTS, **spec: Any
) -> dict[str, str]:
    pod = make_pod({"containers": [make_container(env=list(env), envFrom=env_from or [])], **spec})
    made = context(pod, services=(SERVICE,), volumes=VOLUMES)
    result = environment(made, pod.spec.containers[0], node=NODE, objects=objects)
    return {name: value for name, value in result.items() if not name.startswith("KUBERNETES_")}


def source(**fields: Any) -> dict[str, Any]:
    return {"name": "X", "valueFrom": fields}


def test_literal_values_are_expanded_from_what_came_before() -> None:
    assert variables(
        {"name": "A", "value": "1"},
        {"name": "B", "value": "$(A)-$(C)-$$(A)-$(KUBERNETES_SERVICE_HOST)"},
        {"name": "C", "value": "late"},
        {"name": "A", "value": "$(A)2"},
        {"name": "D", "value": ""},
        {"name": "E"},
    ) == {"A": "12", "B": "1-$(C)-$(A)-10.96.0.1", "C": "late", "D": "", "E": ""}


def test_whole_objects_come_first_and_later_entries_replace_earlier_ones() -> None:
    assert variables(
        {"name": "k", "value": "own"},
        {"name": "SEEN", "value": "$(P_k)"},
        env_from=[
            {"configMapRef": {"name": "cm"}},
            {"prefix": "P_", "configMapRef": {"name": "cm"}},
            {"secretRef": {"name": "se"}},
            {"secretRef": {"name": "none", "optional": True}},
        ],
    ) == {
        "k": "own",
        "not.an-identifier": "kept",
        "P_k": "v",
        "P_not.an-identifier": "kept",
        "password": "p\udcff",
        "SEEN": "v",
    }


def test_values_from_sources_are_not_expanded() -> None:
    objects = replace(OBJECTS, config_maps={"cm": {"k": "$(A)"}})
    entry = source(configMapKeyRef={"name": "cm", "key": "k"})
    assert variables({"name": "A", "value": "1"}, entry, objects=objects)["X"] == "$(A)"


@pytest.mark.parametrize(
    ("entry", "value"),
    [
        (source(configMapKeyRef={"name": "cm", "key": "k"}), "v"),
        (source(secretKeyRef={"name": "se", "key": "password"}), "p\udcff"),
        (source(fieldRef={"fieldPath": "metadata.name"}), "web"),
        (source(resourceFieldRef={"resource": "limits.cpu"}), "4"),
        (source(fileKeyRef={"volumeName": "env", "path": "a.env", "key": "K"}), "from file"),
        (source(configMapKeyRef={"name": "none", "key": "k", "optional": True}), None),
        (source(configMapKeyRef={"name": "cm", "key": "none", "optional": True}), None),
        (source(secretKeyRef={"name": "none", "key": "k", "optional": True}), None),
        (source(secretKeyRef={"name": "se", "key": "none", "optional": True}), None),
        (source(fileKeyRef={"volumeName": "env", "path": "a.env", "key": "EMPTY", "optional": True}), None),
        (source(fileKeyRef={"volumeName": "env", "path": "a.env", "key": "none", "optional": True}), None),
    ],
)
def test_each_source_gives_its_value_or_nothing_when_it_is_optional(entry: dict[str, Any], value: str | None) -> None:
    assert variables(entry) == ({} if value is None else {"X": value})


@pytest.mark.parametrize(
    ("entry", "text"),
    [
        (source(configMapKeyRef={"name": "none", "key": "k"}), 'configmap "none" not found'),
        (source(configMapKeyRef={"name": "cm", "key": "z"}), "couldn't find key z in ConfigMap shop/cm"),
        (source(secretKeyRef={"name": "none", "key": "k"}), 'secret "none" not found'),
        (source(secretKeyRef={"name": "se", "key": "z"}), "couldn't find key z in Secret shop/se"),
        (source(fieldRef={"fieldPath": "spec.nope"}), "unsupported fieldPath: spec.nope"),
        (
            source(fileKeyRef={"volumeName": "env", "path": "a.env", "key": "z"}),
            'environment variable key "z" not found in file "/vols/env/a.env"',
        ),
        (source(fileKeyRef={"volumeName": "env", "path": "bad.env", "key": "K"}), "couldn't parse env file"),
        (
            source(fileKeyRef={"volumeName": "env", "path": "gone", "key": "K", "optional": True}),
            "couldn't parse env file",
        ),
    ],
)
def test_what_is_missing_and_not_optional_is_told_in_upstreams_words(entry: dict[str, Any], text: str) -> None:
    with pytest.raises(ConfigError) as caught:
        variables(entry)
    assert str(caught.value) == text


@pytest.mark.parametrize("kind", ["configMapRef", "secretRef"])
def test_a_missing_whole_object_is_told(kind: str) -> None:
    with pytest.raises(ConfigError, match=f'{kind.removesuffix("Ref").lower()} "none" not found'):
        variables(env_from=[{kind: {"name": "none"}}])


def test_service_variables_only_fill_names_that_are_free() -> None:
    pod = make_pod({"containers": [make_container(env=[{"name": "KUBERNETES_SERVICE_HOST", "value": "mine"}])]})
    made = context(pod, services=(SERVICE,))
    result = environment(made, pod.spec.containers[0], node=NODE, objects=EnvObjects())
    assert result["KUBERNETES_SERVICE_HOST"] == "mine"
    assert result["KUBERNETES_SERVICE_PORT"] == "443"


def test_a_pod_without_a_choice_about_service_links_is_refused() -> None:
    pod = make_pod({"enableServiceLinks": None})
    with pytest.raises(ConfigError, match=r"nil pod\.spec\.enableServiceLinks encountered, cannot construct envvars"):
        environment(context(pod), pod.spec.containers[0], node=NODE, objects=EnvObjects())


def test_only_static_pods_start_before_services_were_read() -> None:
    pod = make_pod()
    with pytest.raises(ConfigError, match="services have not yet been read at least once, cannot construct envvars"):
        environment(context(pod, services=None), pod.spec.containers[0], node=NODE, objects=EnvObjects())
    static = make_pod(annotations={"kubernetes.io/config.source": "file"})
    made = context(static, services=None)
    assert environment(made, static.spec.containers[0], node=NODE, objects=EnvObjects()) == {}


def test_the_objects_to_fetch_are_those_that_the_container_names() -> None:
    pod = make_pod(
        {
            "containers": [
                make_container(
                    envFrom=[{"configMapRef": {"name": "a"}}, {"secretRef": {"name": "b"}}],
                    env=[
                        source(configMapKeyRef={"name": "c", "key": "k"}),
                        source(secretKeyRef={"name": "d", "key": "k"}),
                        {"name": "X", "value": "literal", "valueFrom": {"secretKeyRef": {"name": "e", "key": "k"}}},
                    ],
                )
            ]
        }
    )
    names = referred_objects(pod.spec.containers[0])
    assert names == ObjectNames(frozenset({"a", "c"}), frozenset({"b", "d"}))
    assert not referred_objects(Container())


def test_the_files_to_read_lie_on_the_pods_volumes() -> None:
    entries = [
        source(fileKeyRef={"volumeName": "env", "path": "sub/a.env", "key": "K"}),
        source(fileKeyRef={"volumeName": "unknown", "path": "a", "key": "K"}),
    ]
    pod = make_pod({"containers": [make_container(env=entries)]})
    assert referred_files(pod.spec.containers[0], context(pod, volumes=VOLUMES)) == {EnvFile("/vols/env", "sub/a.env")}


_NAMES = st.sampled_from(["A", "B", "C"])
_PARTS = st.lists(st.sampled_from(["$(A)", "$(B)", "$(C)", "$$", "x"]), max_size=4).map("".join)


@given(st.lists(st.tuples(_NAMES, _PARTS), max_size=8))
def test_a_later_variable_never_changes_an_earlier_one(entries: list[tuple[str, str]]) -> None:
    env = [{"name": name, "value": value} for name, value in entries]
    whole = variables(*env)
    for cut in range(len(env)):
        later = {entry["name"] for entry in env[cut:]}
        part = variables(*env[:cut])
        assert {name: value for name, value in part.items() if name not in later}.items() <= whole.items()
