"""Interface counters of this host from /proc/net/dev."""

from pathlib import Path

Interface = dict[str, int | str]


def parse_interfaces(text: str) -> list[Interface]:
    """Every interface except loopback, in the file's order, with upstream's field names."""
    found: list[Interface] = []
    for line in text.splitlines()[2:]:
        name, _, counters = line.partition(":")
        numbers = [int(n) for n in counters.split()]
        if name.strip() != "lo" and len(numbers) >= 12:
            found.append(
                {
                    "name": name.strip(),
                    "rxBytes": numbers[0],
                    "rxErrors": numbers[2],
                    "txBytes": numbers[8],
                    "txErrors": numbers[10],
                }
            )
    return found


def network_stats(time: str, interfaces: list[Interface]) -> dict[str, object]:
    """A `NetworkStats`: eth0's counters inline (an empty name without it), and all interfaces."""
    default = next((i for i in interfaces if i["name"] == "eth0"), {"name": ""})
    return {"time": time, **default, "interfaces": interfaces}


def read_interfaces(path: Path = Path("/proc/net/dev")) -> list[Interface]:
    try:
        return parse_interfaces(path.read_text())
    except OSError:
        return []
