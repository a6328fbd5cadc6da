"""CPU rates from successive samples, and container ids from directory names. Pure."""

from dataclasses import dataclass
from typing import Final

MIN_INTERVAL_S: Final = 1.0
"""two samples that are closer give a rate of noise: the older one is kept as the base"""
ID_LENGTH: Final = 64
_PREFIXES: Final = ("cri-containerd-", "crio-", "docker-")
_SCOPE: Final = ".scope"


@dataclass(frozen=True)
class Rate:
    """The base sample of one group and the rate as last computed. CPU time in ns, rate in ns per second."""

    base_mono: float
    base_ns: int
    nano_cores: int = 0


def next_rate(previous: Rate | None, at_mono: float, usage_ns: int) -> Rate:
    """The rate after one more sample. A counter that went back belongs to a new group: it starts anew."""
    if previous is None or usage_ns < previous.base_ns:
        return Rate(at_mono, usage_ns)
    elapsed = at_mono - previous.base_mono
    if elapsed < MIN_INTERVAL_S:
        return previous
    return Rate(at_mono, usage_ns, int((usage_ns - previous.base_ns) / elapsed))


class Rates:
    """Rates by group. Between `begin_pass` and `end_pass` every group is sampled that there is."""

    def __init__(self) -> None:
        self._rates: dict[str, Rate] = {}
        self._sampled: set[str] = set()

    def sample(self, key: str, at_mono: float, usage_ns: int) -> int:
        """One more sample; returns the rate in nanocores, 0 until there are two."""
        self._sampled.add(key)
        rate = self._rates[key] = next_rate(self._rates.get(key), at_mono, usage_ns)
        return rate.nano_cores

    def begin_pass(self) -> None:
        """A reading of all groups begins."""
        self._sampled.clear()

    def end_pass(self) -> None:
        """It is over: groups that were not sampled are gone."""
        self._rates = {k: v for k, v in self._rates.items() if k in self._sampled}

    def __len__(self) -> int:
        return len(self._rates)


def container_id_of(directory: str) -> str | None:
    """The container whose group a directory below a pod's is, for containerd and CRI-O with either driver."""
    name = directory.removesuffix(_SCOPE)
    for prefix in _PREFIXES:
        name = name.removeprefix(prefix)
    return name if len(name) == ID_LENGTH and all(c in "0123456789abcdef" for c in name) else None
