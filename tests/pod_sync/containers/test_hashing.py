"""The hash must be the one that a kubelet wrote, or every container would be restarted after a switch-over."""

from services.pod_sync.containers.hashing import definition_changed
from services.pod_sync.environment.metadata import HASH


def test_only_a_stored_hash_that_differs_is_a_change() -> None:
    same = {HASH: "8e45cbd0"}
    assert not definition_changed("test_container", "foo/image:v1", same)
    assert definition_changed("test_container", "foo/image:v2", same)
    assert not definition_changed("c", "busybox", {})
