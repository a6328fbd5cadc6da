"""The HTTP source: a manifest URL, asked every period. Source: upstream `kubelet/config` (http.go)."""

import asyncio
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from structlog.typing import FilteringBoundLogger

from shared.errors import Invalid, OctoletError, Transient
from shared.kube.manifest import MAX_BYTES, decode_manifests
from shared.kube.types import Pod

Deliver = Callable[[Sequence[Pod]], None]

TIMEOUT_S: Final = 10.0
"""upstream: the client's time limit"""
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
    last: bytes | None = None
    failures = 0
    while True:
        try:
            body = await asyncio.to_thread(fetch, settings)
            if not body:  # every pod is gone; the body that is remembered stays, so that the same one again is no news
                deliver([])
                raise Transient(f"{settings.url}: zero-length data received")
            if body != last:
                last = body  # before it is decoded: a bad body is told once, not at every period
                manifests = decode_manifests(body, settings.url, settings.node_name)
                for manifest in manifests:
                    if manifest.ignored:
                        log.warning("manifest.fields_ignored", path=settings.url, fields=", ".join(manifest.ignored))
                deliver([m.pod for m in manifests])
            failures = 0
        except OctoletError as error:
            failures += 1
            _tell(log, settings.url, error, failures)
        await asyncio.sleep(settings.period_s)


def _tell(log: FilteringBoundLogger, url: str, error: OctoletError, failures: int) -> None:
    if failures <= LOUD_FAILURES or isinstance(error, Invalid):
        log.error("manifest.refused", path=url, error=str(error))
    elif failures == LOUD_FAILURES + 1:
        log.error("manifest.refused", path=url, error=f"{error} (further failures are logged at debug)")
    else:
        log.debug("manifest.refused", path=url, error=str(error))


def fetch(settings: HttpSettings) -> bytes:
    """The body of one GET. Raises Transient for anything but a 200."""
    request = urllib.request.Request(settings.url, method="GET")
    for name, values in settings.headers.items():
        request.add_header(name, ", ".join(values))
    try:
        with urllib.request.urlopen(request, timeout=TIMEOUT_S) as answer:
            if answer.status != 200:
                raise Transient(f"{settings.url}: {answer.status} {answer.reason}")
            body: bytes = answer.read(MAX_BYTES + 1)
            return body
    except urllib.error.HTTPError as error:
        raise Transient(f"{settings.url}: {error.code} {error.reason}") from error
    except (OSError, ValueError) as error:
        raise Transient(f"{settings.url}: {error}") from error
