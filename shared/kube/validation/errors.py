"""Field errors in the words of the API server (`apimachinery/pkg/util/validation/field`)."""

import json
from collections.abc import Iterable
from typing import Any, Final

import msgspec

NOT_NEGATIVE: Final = "must be greater than or equal to 0"
POSITIVE: Final = "must be greater than 0"
KEPT: Final = 50


class Errors:
    """Collects what is wrong with one object. Paths are as the API writes them: `spec.containers[0].image`.

    `count` is the number of errors; `texts` holds the first `KEPT` of them, so that no object can fill the memory.
    """

    def __init__(self) -> None:
        self.texts: list[str] = []
        self.count = 0

    def required(self, path: str, detail: str = "") -> None:
        self._add(path, "Required value", detail)

    def invalid(self, path: str, value: Any, detail: str) -> None:
        self._add(path, f"Invalid value: {_shown(value)}", detail)

    def duplicate(self, path: str, value: Any) -> None:
        self._add(path, f"Duplicate value: {_shown(value)}")

    def not_found(self, path: str, value: Any) -> None:
        self._add(path, f"Not found: {_shown(value)}")

    def forbidden(self, path: str, detail: str) -> None:
        self._add(path, "Forbidden", detail)

    def too_long(self, path: str, limit_bytes: int) -> None:
        self._add(path, "Too long", f"may not be more than {limit_bytes} bytes")

    def too_many(self, path: str, count: int, limit: int) -> None:
        self._add(path, f"Too many: {count}", f"must have at most {limit} items")

    def unsupported(self, path: str, value: Any, supported: Iterable[str]) -> None:
        choices = ", ".join(_shown(s) for s in sorted(supported))
        self._add(path, f"Unsupported value: {_shown(value)}", f"supported values: {choices}")

    def one_of(self, path: str, value: str | None, supported: Iterable[str]) -> None:
        """Required when empty, unsupported when not one of these."""
        if not value:
            self.required(path)
        elif value not in supported:
            self.unsupported(path, value, supported)

    def not_negative(self, path: str, value: int | None) -> None:
        if value is not None and value < 0:
            self.invalid(path, value, NOT_NEGATIVE)

    def all(self, path: str, value: Any, details: Iterable[str]) -> None:
        """One error per text that a name check gave."""
        for detail in details:
            self.invalid(path, value, detail)

    def _add(self, path: str, what: str, detail: str = "") -> None:
        self.count += 1
        if self.count <= KEPT:
            self.texts.append(f"{path}: {what}: {detail}" if detail else f"{path}: {what}")

    def joined(self) -> str:
        """All of them in one text: bare when there is one, else `[a, b]`."""
        more = [f"and {self.count - KEPT} more"] if self.count > KEPT else []
        return self.texts[0] if self.count == 1 else f"[{', '.join(self.texts + more)}]"


def _shown(value: Any) -> str:
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    return msgspec.json.encode(value).decode()
