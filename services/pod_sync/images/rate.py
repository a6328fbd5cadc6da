"""The limit on image pulls per second: a token bucket that never waits. Pure.

Upstream `throttleImagePulling`: KubeletConfiguration `registryPullQPS` (0: no limit) and `registryBurst`. A pull that
finds no token fails with `pull QPS exceeded`, which counts as a failed pull.
"""

from dataclasses import dataclass, replace


@dataclass(frozen=True)
class PullRate:
    """`tokens` are those left at `filled_mono` (monotonic seconds)."""

    per_second: float
    burst: int
    tokens: float
    filled_mono: float

    @classmethod
    def full(cls, *, per_second: float, burst: int, now: float) -> "PullRate":
        """A bucket nobody has taken from."""
        return cls(per_second, burst, float(burst), now)

    def take(self, now: float) -> tuple["PullRate", bool]:
        """The bucket after asking for one token, and whether there was one."""
        if self.per_second <= 0:
            return self, True
        tokens = min(float(self.burst), self.tokens + max(0.0, now - self.filled_mono) * self.per_second)
        allowed = tokens >= 1
        return replace(self, tokens=tokens - 1 if allowed else tokens, filled_mono=now), allowed
