"""Merges the daemons' Prometheus pages into one that a parser accepts. Pure.

A family must be declared once and its samples stand together, so families of one name are joined under the first
declaration. Where two daemons export the same family, each sample gets a `service` label; a family of one daemon keeps its
samples untouched, so that upstream's metrics carry upstream's labels.
"""

from collections.abc import Mapping

Family = tuple[list[str], list[str]]
"""(declaration lines, sample lines)"""


def merge_pages(pages: Mapping[str, str]) -> str:
    """One page from pages by service name."""
    owners: dict[str, list[str]] = {}
    parsed = {service: split_families(text) for service, text in pages.items()}
    for service, families in parsed.items():
        for name in families:
            owners.setdefault(name, []).append(service)
    out: list[str] = []
    for name, services in owners.items():
        out += parsed[services[0]][name][0]
        for service in services:
            samples = parsed[service][name][1]
            out += samples if len(services) == 1 else [with_label(s, "service", service) for s in samples]
    return "\n".join(out) + "\n" if out else ""


def split_families(text: str) -> dict[str, Family]:
    """Families by name, in the order of the page."""
    families: dict[str, Family] = {}
    current: Family | None = None
    for line in text.splitlines():
        if line.startswith(("# HELP ", "# TYPE ")):
            name = line.split(" ", 3)[2]
            current = families.setdefault(name, ([], []))
            current[0].append(line)
        elif line and not line.startswith("#"):
            if current is None:
                name = line.partition("{")[0].partition(" ")[0]
                current = families.setdefault(name, ([], []))
            current[1].append(line)
    return families


def with_label(sample: str, name: str, value: str) -> str:
    """The sample with one label more, unless it has a label of that name."""
    head, brace, rest = sample.partition("{")
    if brace:
        return sample if f'{name}="' in rest else f'{head}{{{name}="{value}",{rest}'
    metric, _, number = sample.partition(" ")
    return f'{metric}{{{name}="{value}"}} {number}'
