"""The HTTP source: a manifest URL, asked every period. Source: upstream `kubelet/config` (http.go)."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from structlog.typing import FilteringBoundLogger

from services.pod_sync.sources.fetch import fetch
from shared.errors import OctoletError, Transient
from shared.kube.manifest import Manifest, decode_manifests
from shared.kube.types import Pod

Deliver = Callable[[Sequence[Pod]], None]

LOUD_FAILURES: Final = 3
"""upstream: this many failures in a row are told, then one notice, then only at debug"""


@dataclass(frozen=True, kw_only=True)
class HttpSettings:
    """`url` is `staticPodURL`, `headers` is `staticPodURLHeader`, `period_s` is `httpCheckFrequency`."""

    url: str
    node_name: str
    headers: Mapping[str, Sequence[str]] = field(default_factory=dict)
    period_s: float = 20.0


async def watch_url(settings: HttpSettings, deliver: Deliver, log: FilteringBoundLogger) -> None:
    """Deliver the whole list whenever the body changed, for ever. What cannot be read leaves the pods as they are."""
    bodies = Bodies(settings)
    failures = 0
    while True:
        try:
            body = await fetch(settings.url, settings.headers)
            if not body:
                deliver([])
                raise Transient(f"{settings.url}: zero-length data received")
            manifests = await asyncio.to_thread(bodies.read, body)
            if manifests is not None:
                _warn(log, settings.url, manifests)
                deliver([m.pod for m in manifests])
            failures = 0
        except OctoletError as error:
            failures += 1
            _tell(log, settings.url, error, failures)
        await asyncio.sleep(settings.period_s)


class Bodies:
    """Remembers the last body that was not empty, before it is decoded: a bad one is told once, not at every period."""

    def __init__(self, settings: HttpSettings) -> None:
        self._settings = settings
        self._last: bytes | None = None

    def read(self, body: bytes) -> list[Manifest] | None:
        """The pods of a new body; None when it is the last one again. Raises `Invalid`."""
        if body == self._last:
            return None
        self._last = body
        return decode_manifests(body, self._settings.url, self._settings.node_name)


def _warn(log: FilteringBoundLogger, url: str, manifests: list[Manifest]) -> None:
    for manifest in manifests:
        if manifest.ignored:
            log.warning(
                "manifest.fields_ignored", path=url, pod=manifest.pod.metadata.name, fields=", ".join(manifest.ignored)
            )


def _tell(log: FilteringBoundLogger, url: str, error: OctoletError, failures: int) -> None:
    if failures <= LOUD_FAILURES:
        log.error("manifest.refused", path=url, error=str(error))
    elif failures == LOUD_FAILURES + 1:
        log.error("manifest.refused", path=url, error=f"{error} (further failures are logged at debug)")
    else:
        log.debug("manifest.refused", path=url, error=str(error))
