"""The differences that the mux tells, one by one and as a property: applied in order they make the source's list."""

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from services.pod_sync.sources.mux import CONFIG_SEEN, CONFIG_SOURCE, Kind, Mux, duplicate_message
from shared.kube.types import Container, ObjectMeta, Pod, PodSpec, PodStatus

NOW_NS = 1_796_083_200_000_000_001


def pod(uid: str, name: str = "", *, image: str = "i", phase: str = "", **meta: object) -> Pod:
    metadata = ObjectMeta(name=name or uid, namespace="ns", uid=uid, **meta)  # type: ignore[arg-type]
    return Pod(
        metadata=metadata, spec=PodSpec(containers=[Container(name="c", image=image)]), status=PodStatus(phase=phase)
    )


def kinds(mux: Mux, *pods: Pod, source: str = "file") -> list[tuple[Kind, list[str]]]:
    merged = mux.merge(source, pods, NOW_NS)
    return [(o.kind, [p.metadata.uid for p in o.pods]) for o in merged.operations]


def test_changes_are_told_by_kind_and_in_order() -> None:
    mux = Mux(frozenset({"file"}))
    assert kinds(mux, pod("a"), pod("b"), pod("c"), pod("d")) == [(Kind.ADD, ["a", "b", "c", "d"])]
    changed = [pod("b", image="new"), pod("c", deletion_timestamp="T"), pod("d", phase="Running"), pod("e")]
    assert kinds(mux, *changed) == [
        (Kind.REMOVE, ["a"]),
        (Kind.ADD, ["e"]),
        (Kind.UPDATE, ["b"]),
        (Kind.DELETE, ["c"]),
        (Kind.RECONCILE, ["d"]),
    ]
    assert kinds(mux, *changed) == []


def test_an_empty_first_list_is_told_and_counts_as_read() -> None:
    mux = Mux(frozenset({"file", "http"}))
    assert kinds(mux) == [(Kind.ADD, [])]
    assert not mux.all_read
    assert kinds(mux, source="http") == [(Kind.ADD, [])]
    assert mux.all_read
    assert kinds(mux) == []


def test_pods_are_stamped_once() -> None:
    mux = Mux(frozenset({"file"}))
    first = mux.merge("file", [pod("a")], NOW_NS).operations[0].pods[0]
    seen = first.metadata.annotations[CONFIG_SEEN]
    assert seen.endswith(".000000001Z")
    assert first.metadata.annotations[CONFIG_SOURCE] == "file"
    second = mux.merge("file", [pod("a", image="new")], NOW_NS + 5).operations[0].pods[0]
    assert second.metadata.annotations[CONFIG_SEEN] == seen
    assert second.spec.containers[0].image == "new"


def test_annotations_of_this_node_are_no_change_but_a_config_hash_is() -> None:
    mux = Mux(frozenset({"file"}))
    kinds(mux, pod("a", annotations={"kubernetes.io/config.hash": "1"}))
    noted = {"kubernetes.io/config.hash": "1", CONFIG_SEEN: "later", "kubernetes.io/config.mirror": "m"}
    assert kinds(mux, pod("a", annotations=noted)) == []
    assert kinds(mux, pod("a", annotations={"kubernetes.io/config.hash": "2"})) == [(Kind.UPDATE, ["a"])]


def test_a_second_pod_of_one_full_name_is_dropped_with_upstreams_words() -> None:
    mux = Mux(frozenset({"file"}))
    merged = mux.merge("file", [pod("a", "web"), pod("b", "web")], NOW_NS)
    assert [p.metadata.uid for p in merged.operations[0].pods] == ["a"]
    assert [duplicate_message(p, "file") for p in merged.duplicates] == [
        'Error validating pod web_ns(b) from file due to duplicate pod name "web", ignoring'
    ]


pods = st.lists(
    st.builds(
        lambda uid, image, phase, deleted: pod(
            uid, image=image, phase=phase, deletion_timestamp="T" if deleted else None
        ),
        st.sampled_from("abcde"),
        st.sampled_from(["x", "y"]),
        st.sampled_from(["", "Running"]),
        st.booleans(),
    ),
    max_size=5,
    unique_by=lambda p: p.metadata.uid,
)


@given(st.lists(pods, max_size=6))
def test_what_is_told_applied_in_order_makes_the_sources_list(lists: list[list[Pod]]) -> None:
    mux = Mux(frozenset({"file"}))
    held: dict[str, Pod] = {}
    for listed in lists:
        operations = mux.merge("file", listed, NOW_NS).operations
        told = [p.metadata.uid for o in operations for p in o.pods]
        assert len(told) == len(set(told)), "one operation per pod and list"
        for operation in operations:
            for one in operation.pods:
                uid = one.metadata.uid
                assert (uid in held) == (operation.kind is not Kind.ADD)
                held.pop(uid, None)
                if operation.kind is not Kind.REMOVE:
                    held[uid] = one
        plain = {u: replace(p, metadata=replace(p.metadata, annotations={})) for u, p in held.items()}
        assert plain == {p.metadata.uid: p for p in listed}
