"""The hash must be the one that a kubelet wrote, or every container would be restarted after a switch-over."""

import pytest

from services.pod_sync.containers.hashing import HASH_ANNOTATION, container_hash, definition_changed


@pytest.mark.parametrize(
    ("name", "image", "expected"),
    [("test_container", "foo/image:v1", "8e45cbd0")],
)
def test_the_hash_of_a_known_container(name: str, image: str, expected: str) -> None:
    assert container_hash(name, image) == expected


def test_only_a_stored_hash_that_differs_is_a_change() -> None:
    same = {HASH_ANNOTATION: container_hash("c", "busybox")}
    assert not definition_changed("c", "busybox", same)
    assert definition_changed("c", "busybox:2", same)
    assert not definition_changed("c", "busybox", {})
