from typing import Any

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from services.pod_sync.sources.mux import Kind, Merged, Mux, duplicate_message
from shared.kube.types import Pod

SOURCE = "kubernetes.io/config.source"
SEEN = "kubernetes.io/config.seen"
HASH = "kubernetes.io/config.hash"
NOW_NS = 1_700_000_000_000_000_042


def pod(uid: str = "u1", name: str | None = None, *, image: str = "i", phase: str = "Pending", **metadata: Any) -> Pod:
    raw = {
        "metadata": {"name": name or uid, "namespace": "default", "uid": uid, **metadata},
        "spec": {"containers": [{"name": "c", "image": image}]},
        "status": {"phase": phase},
    }
    return msgspec.convert(raw, Pod)


def merge(mux: Mux, *pods: Pod, source: str = "file", now_ns: int = NOW_NS) -> Merged:
    return mux.merge(source, pods, now_ns)


def told(merged: Merged) -> list[tuple[str, list[str]]]:
    return [(o.kind.value, [p.metadata.uid for p in o.pods]) for o in merged.operations]


def read(*pods: Pod) -> Mux:
    mux = Mux(frozenset({"file"}))
    merge(mux, *pods)
    return mux


def test_a_new_pod_is_added_with_its_source_and_the_time_it_was_seen() -> None:
    merged = merge(Mux(frozenset()), pod())
    assert told(merged) == [("add", ["u1"])]
    annotations = merged.operations[0].pods[0].metadata.annotations
    assert annotations == {SOURCE: "file", SEEN: "2023-11-14T22:13:20.000000042Z"}


def test_the_first_list_of_an_empty_source_says_that_it_was_read() -> None:
    mux = Mux(frozenset({"file"}))
    assert told(merge(mux)) == [("add", [])]
    assert told(merge(mux)) == []


def test_all_are_read_when_every_registered_source_has_delivered() -> None:
    mux = Mux(frozenset({"file", "http"}))
    assert not mux.all_read
    merge(mux)
    assert not mux.all_read
    merge(mux, source="http")
    assert mux.all_read
    assert Mux(frozenset()).all_read


def test_the_same_list_again_says_nothing() -> None:
    assert told(merge(read(pod()), pod())) == []


def test_a_pod_that_is_absent_is_removed_in_its_last_form() -> None:
    mux = read(pod(), pod("u2"))
    merged = merge(mux, pod("u2"))
    assert told(merged) == [("remove", ["u1"])]
    assert merged.operations[0].pods[0].metadata.annotations[SOURCE] == "file"


def test_spec_labels_deletion_and_foreign_annotations_are_compared() -> None:
    for changed in (
        pod(image="j"),
        pod(labels={"a": "b"}),
        pod(annotations={"note": "x"}),
        pod(annotations={HASH: "h"}),
        pod(deletionGracePeriodSeconds=3),
    ):
        mux = read(pod())
        assert told(merge(mux, changed)) == [("update", ["u1"])]
        assert told(merge(mux, changed)) == []


def test_local_annotations_are_kept_and_not_compared() -> None:
    mux = read(pod())
    foreign = {SOURCE: "api", SEEN: "never", "kubernetes.io/config.mirror": "m"}
    assert told(merge(mux, pod(annotations=foreign))) == []
    merged = merge(mux, pod(image="j", annotations=foreign | {"note": "x"}), now_ns=1)
    assert merged.operations[0].pods[0].metadata.annotations == {
        SOURCE: "file",
        SEEN: "2023-11-14T22:13:20.000000042Z",
        "kubernetes.io/config.mirror": "m",
        "note": "x",
    }


def test_a_change_with_a_deletion_time_is_a_deletion() -> None:
    mux = read(pod())
    deleted = pod(deletionTimestamp="2026-01-01T00:00:00Z", deletionGracePeriodSeconds=30)
    assert told(merge(mux, deleted)) == [("delete", ["u1"])]
    assert told(merge(mux, deleted)) == []
    sooner = pod(deletionTimestamp="2026-01-01T00:00:00Z", deletionGracePeriodSeconds=1)
    assert told(merge(mux, sooner)) == [("delete", ["u1"])]


def test_only_another_status_is_a_reconcile() -> None:
    mux = read(pod())
    merged = merge(mux, pod(phase="Running"))
    assert told(merged) == [("reconcile", ["u1"])]
    assert merged.operations[0].pods[0].status.phase == "Running"
    both = merge(mux, pod(phase="Failed", image="j"))
    assert told(both) == [("update", ["u1"])]
    assert both.operations[0].pods[0].status.phase == "Failed"


def test_resource_version_finalizers_and_owners_are_not_refreshed_but_generation_is() -> None:
    mux = read(pod(resourceVersion="1", generation=1))
    merged = merge(mux, pod(image="j", resourceVersion="2", finalizers=["a/b"], generation=2))
    metadata = merged.operations[0].pods[0].metadata
    assert (metadata.resource_version, metadata.finalizers, metadata.generation) == ("1", [], 2)


def test_kinds_are_told_in_upstreams_order() -> None:
    mux = read(pod("gone"), pod("edited"), pod("deleted"), pod("moved"))
    merged = merge(
        mux,
        pod("moved", phase="Running"),
        pod("deleted", deletionTimestamp="2026-01-01T00:00:00Z"),
        pod("edited", image="j"),
        pod("new"),
    )
    assert told(merged) == [
        ("remove", ["gone"]),
        ("add", ["new"]),
        ("update", ["edited"]),
        ("delete", ["deleted"]),
        ("reconcile", ["moved"]),
    ]


def test_sources_do_not_touch_each_others_pods() -> None:
    mux = read(pod())
    assert told(merge(mux, pod("u2"), source="http")) == [("add", ["u2"])]
    assert told(merge(mux, pod("u2"), source="http")) == []
    assert told(merge(mux)) == [("remove", ["u1"])]


def test_of_two_pods_with_one_name_or_one_uid_the_first_counts() -> None:
    first, same_name, same_uid = pod("u1", "web"), pod("u2", "web"), pod("u1", "db")
    merged = merge(Mux(frozenset()), first, same_name, same_uid)
    assert told(merged) == [("add", ["u1"])]
    assert merged.duplicates == (same_name, same_uid)
    assert duplicate_message(same_name, "file") == (
        'Error validating pod web_default(u2) from file due to duplicate pod name "web", ignoring'
    )


lists = st.lists(
    st.builds(
        lambda uid, image, phase, deleted: pod(
            uid, image=image, phase=phase, **({"deletionTimestamp": "2026-01-01T00:00:00Z"} if deleted else {})
        ),
        st.sampled_from(["a", "b", "c", "d"]),
        st.sampled_from(["i", "j"]),
        st.sampled_from(["Pending", "Running"]),
        st.booleans(),
    ),
    max_size=5,
)


@settings(max_examples=50)
@given(st.lists(lists, max_size=6))
def test_applying_what_was_told_always_gives_the_list_that_was_read(history: list[list[Pod]]) -> None:
    mux, known = Mux(frozenset()), dict[str, Pod]()
    for pods in history:
        merged = merge(mux, *pods)
        seen: list[str] = []
        for operation in merged.operations:
            for one in operation.pods:
                uid = one.metadata.uid
                seen.append(uid)
                if operation.kind is Kind.REMOVE:
                    del known[uid]
                else:
                    assert (uid in known) is (operation.kind is not Kind.ADD)
                    known[uid] = one
        assert len(seen) == len(set(seen))
        wanted = {p.metadata.uid: (p.spec, p.status) for p in reversed(pods)}
        assert {uid: (p.spec, p.status) for uid, p in known.items()} == wanted
