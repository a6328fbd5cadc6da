"""Kubernetes quantities as cgroup values, and back. Pure. Source: upstream `cm` (MilliCPUToShares, MilliCPUToQuota).

`shares` is what cgroup v1 writes; v2's `cpu.weight` is derived from it by the linear map, which pods and tiers keep
(container groups are the runtime's, and newer runtimes use another map).
"""

from typing import Final

MIN_SHARES: Final = 2
MAX_SHARES: Final = 262_144
SHARES_PER_CPU: Final = 1024
MIN_QUOTA_US: Final = 1000
"""the kernel refuses less"""
DEFAULT_PERIOD_US: Final = 100_000
MAX_WEIGHT: Final = 10_000
UNLIMITED_HUGETLB_BYTES: Final = 1 << 62
UNLIMITED_BYTES: Final = 1 << 62
"""a limit above this is none (cgroup v1 reads nearly 2^63 where nothing was set)"""


def shares(millicores: int) -> int:
    """CPU shares of a request; nothing asked still gets the minimum."""
    if millicores <= 0:
        return MIN_SHARES
    return max(MIN_SHARES, min(MAX_SHARES, millicores * SHARES_PER_CPU // 1000))


def weight(cpu_shares: int) -> int:
    """v2 `cpu.weight` (1..10000) of shares, by the linear map."""
    if cpu_shares >= MAX_SHARES:
        return MAX_WEIGHT
    return 1 + (max(cpu_shares, MIN_SHARES) - 2) * 9999 // 262_142


def shares_of_weight(cpu_weight: int) -> int:
    """The other way; lossy, since 26 shares are one step of weight."""
    return (cpu_weight - 1) * 262_142 // 9999 + 2


def millicores_of_shares(cpu_shares: int) -> int:
    """The request that gives these shares (rounded up)."""
    if cpu_shares < MIN_SHARES:
        return 0
    return -(-cpu_shares * 1000 // SHARES_PER_CPU)


def quota(millicores: int, period_us: int = DEFAULT_PERIOD_US) -> int:
    """CFS quota in microseconds per period; 0 means that none is set."""
    if millicores <= 0:
        return 0
    return max(MIN_QUOTA_US, millicores * period_us // 1000)


def millicores_of_quota(quota_us: int, period_us: int) -> int:
    """The limit that gives this quota; 0 where there is none."""
    if quota_us <= 0 or period_us <= 0:
        return 0
    return quota_us * 1000 // period_us
