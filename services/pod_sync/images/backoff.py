"""How long a failed image pull is not tried again. Pure.

Upstream `client-go/util/flowcontrol`, Backoff, as used by the image manager: 10 s, doubled at each failure to 300 s,
counted from the last failure; an entry that was not updated for twice the maximum begins anew. The key is the pod's
UID and the image, so each pod waits for itself.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Final

BASE_S: Final = 10.0
MAX_S: Final = 300.0
RESET_S: Final = 2 * MAX_S


@dataclass(frozen=True)
class PullFailure:
    """The last failure of one pod's image. `failed_mono` is monotonic seconds; the texts are shown with the back-off."""

    delay_s: float
    failed_mono: float
    reason: str
    message: str


@dataclass(frozen=True)
class PullBackoff:
    """All back-offs by key. Every change gives a new value."""

    failures: Mapping[str, PullFailure] = field(default_factory=lambda: MappingProxyType({}))

    def waiting(self, key: str, now: float) -> PullFailure | None:
        """The failure that still keeps this key from being tried, or None when a pull may start."""
        failure = self.failures.get(key)
        if failure is None or _is_expired(failure, now):
            return None
        return failure if now - failure.failed_mono < failure.delay_s else None

    def failed(self, key: str, now: float, *, reason: str, message: str) -> "PullBackoff":
        """After one more failure: twice the delay, or the base after a long quiet time."""
        last = self.failures.get(key)
        delay = BASE_S if last is None or _is_expired(last, now) else min(last.delay_s * 2, MAX_S)
        failure = PullFailure(delay, now, reason, message)
        return replace(self, failures=MappingProxyType({**self.failures, key: failure}))

    def without_expired(self, now: float) -> "PullBackoff":
        """Entries that no longer mean anything are dropped, so that gone pods take no memory."""
        kept = {key: failure for key, failure in self.failures.items() if not _is_expired(failure, now)}
        return self if len(kept) == len(self.failures) else replace(self, failures=MappingProxyType(kept))


def _is_expired(failure: PullFailure, now: float) -> bool:
    return now - failure.failed_mono > RESET_S


def backoff_key(pod_uid: str, image: str) -> str:
    """Upstream's key: `<pod UID>_<image as pulled>`."""
    return f"{pod_uid}_{image}"
