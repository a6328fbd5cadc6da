"""`$(NAME)` in environment values, commands and sub-paths. Pure.

Upstream `third_party/forked/golang/expansion`: `$$` is a literal `$`, an unknown name stays as written, nothing is
expanded twice, and a `$` before any other character means itself.
"""

from collections.abc import Callable, Mapping

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


def lookup_in(*scopes: Mapping[str, str]) -> Lookup:
    """A lookup that asks each mapping in turn, as it is at the time of asking."""

    def lookup(name: str) -> str | None:
        for scope in scopes:
            if name in scope:
                return scope[name]
        return None

    return lookup


def expand_all(text: str, variables: Mapping[str, str]) -> tuple[str, list[str]]:
    """The text expanded, and the sorted names that are missing or empty: each of those is an error in a sub-path."""
    missing: set[str] = set()

    def lookup(name: str) -> str | None:
        value = variables.get(name)
        if not value:
            missing.add(name)
        return value

    return expand(text, lookup), sorted(missing)
