"""/healthz: whether the node's daemons are there, in upstream's format."""

import time
from collections.abc import Mapping
from dataclasses import dataclass

from services.server.http.messages import Response, helper_error, text
from shared.bus import TableView
from shared.messages.daemon import DaemonState

GRACE_S = 10.0
"""how long a daemon that was ready may be away: its restart takes a tenth of a second, ten such are a fault"""


@dataclass
class Health:
    """Checks by name. `peers` are the other daemons' rows; `seen_mono` when each was last heard and ready."""

    peers: Mapping[str, TableView[DaemonState]]
    seen_mono: dict[str, float]

    def note(self) -> None:
        """Called each second and before each answer."""
        now = time.monotonic()
        for name, view in self.peers.items():
            row = view.get(name)
            if view.connected and row is not None and row.ready:
                self.seen_mono[name] = now

    def checks(self) -> dict[str, str]:
        """Error text by check, empty when it passes. `syncloop` and `device-plugin` are upstream's names."""
        self.note()
        late = {name: self._late(name) for name in self.peers}
        found = {
            "ping": "",
            "log": "",
            "syncloop": late.get("pod_sync", ""),
            "device-plugin": late.get("container_manager", ""),
        }
        return found | late

    def _late(self, name: str) -> str:
        seen = self.seen_mono.get(name)
        if seen is None:
            return f"{name} is not ready yet"
        away = time.monotonic() - seen
        return f"{name} was last heard {away:.0f}s ago" if away > GRACE_S else ""

    def answer(self, path: str, query: list[tuple[str, str]]) -> Response:
        """The answer for /healthz or /healthz/NAME."""
        found = self.checks()
        name = path.removeprefix("/healthz").strip("/")
        if name:
            if name not in found:
                return helper_error(404, "404 page not found")
            error = found[name]
            return helper_error(500, f"internal server error: {error}") if error else text(200, "ok")
        excluded = {value for key, value in query if key == "exclude"}
        found = {k: v for k, v in found.items() if k not in excluded}
        lines = [f"[-]{k} failed: reason withheld" if v else f"[+]{k} ok" for k, v in found.items()]
        if any(found.values()):
            return helper_error(500, "\n".join([*lines, "healthz check failed"]))
        verbose = any(key == "verbose" for key, _ in query)
        return text(200, "\n".join([*lines, "healthz check passed\n"]) if verbose else "ok")
