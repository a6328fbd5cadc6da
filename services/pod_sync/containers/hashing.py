"""Whether a container's definition changed since it was started: a hash of name and image, kept in an annotation.

Nothing else is hashed: other fields of a running container cannot be changed through the API, and the hash must not
change with a new version of this program.
"""

from services.pod_sync.environment.metadata import HASH, container_hash


def definition_changed(name: str, image: str, annotations: dict[str, str]) -> bool:
    """A container without the annotation was not made by a kubelet; there is no evidence that it changed."""
    stored = annotations.get(HASH)
    return stored is not None and stored != format(container_hash(name, image), "x")
