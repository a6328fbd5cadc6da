"""Texts in the form of Go's `%q` and `%v`, which upstream's messages are made of. Pure."""

from collections.abc import Iterable

_ESCAPES = {
    '"': '\\"',
    "\\": "\\\\",
    "\a": "\\a",
    "\b": "\\b",
    "\f": "\\f",
    "\n": "\\n",
    "\r": "\\r",
    "\t": "\\t",
    "\v": "\\v",
}


def quoted(text: str) -> str:
    """The text in double quotes with Go's escapes."""
    return '"' + "".join(_escaped(char) for char in text) + '"'


def listed(words: Iterable[str]) -> str:
    """A list of strings as Go prints it: `[a b]`."""
    return f"[{' '.join(words)}]"


def _escaped(char: str) -> str:
    if char in _ESCAPES:
        return _ESCAPES[char]
    if char.isprintable():
        return char
    point = ord(char)
    if point < 0x80:
        return f"\\x{point:02x}"
    return f"\\u{point:04x}" if point < 0x10000 else f"\\U{point:08x}"
