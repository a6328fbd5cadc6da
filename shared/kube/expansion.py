"""`$(NAME)` in commands, arguments and values. Pure.

Upstream `third_party/forked/golang/expansion`: `$$` is a literal `$`, an unknown name stays as written, nothing is
expanded twice, and a `$` before any other character means itself.
"""

from collections.abc import Callable

Lookup = Callable[[str], str | None]


def expand(text: str, lookup: Lookup) -> str:
    """The text with each `$(NAME)` replaced by `lookup(NAME)`, or left as written where that is None."""
    parts: list[str] = []
    at = 0
    while True:
        dollar = text.find("$", at)
        if dollar < 0 or dollar + 1 == len(text):
            parts.append(text[at:])
            return "".join(parts)
        parts.append(text[at:dollar])
        following = text[dollar + 1]
        at = dollar + 2
        if following == "$":
            parts.append("$")
            continue
        end = text.find(")", at) if following == "(" else -1
        if end < 0:
            parts.append(text[dollar:at])
            continue
        name = text[at:end]
        value = lookup(name)
        parts.append(f"$({name})" if value is None else value)
        at = end + 1
