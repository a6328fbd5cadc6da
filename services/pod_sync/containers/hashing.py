"""Whether a container's definition changed since it was started: a hash of name and image, kept in an annotation.

Nothing else is hashed: other fields of a running container cannot be changed through the API, and the hash must not
change with a new version of this program. Source: upstream `kubecontainer.HashContainer`, gate-free since 1.31.
"""

import json
from typing import Final

HASH_ANNOTATION: Final = "io.kubernetes.container.hash"
_FNV32_OFFSET: Final = 0x811C9DC5
_FNV32_PRIME: Final = 0x01000193
_FNV64_OFFSET: Final = 0xCBF29CE484222325
_FNV64_PRIME: Final = 0x100000001B3


def container_hash(name: str, image: str) -> str:
    """Lower-case hex without padding: FNV-1a 32 of the Go text of the JSON bytes `{"image":..,"name":..}`."""
    text = json.dumps({"image": image, "name": name}, separators=(",", ":"), ensure_ascii=False)
    for char in "<>&\u2028\u2029":  # as Go's encoder writes them
        text = text.replace(char, f"\\u{ord(char):04x}")
    dump = "([]uint8)[" + " ".join(str(byte) for byte in text.encode()) + "]"
    return format(fnv1a_32(dump.encode()), "x")


def definition_changed(name: str, image: str, annotations: dict[str, str]) -> bool:
    """A container without the annotation was not made by a kubelet; there is no evidence that it changed."""
    stored = annotations.get(HASH_ANNOTATION)
    return stored is not None and stored != container_hash(name, image)


def fnv1a_32(data: bytes) -> int:
    value = _FNV32_OFFSET
    for byte in data:
        value = ((value ^ byte) * _FNV32_PRIME) & 0xFFFFFFFF
    return value


def fnv1a_64(data: bytes) -> int:
    value = _FNV64_OFFSET
    for byte in data:
        value = ((value ^ byte) * _FNV64_PRIME) & 0xFFFFFFFFFFFFFFFF
    return value
