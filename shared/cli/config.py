"""`octolet config view`: the configuration in effect, and where each value comes from."""

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import yaml

from shared.cli.options import RUN_DIR_HELP
from shared.cli.run import EFFECTIVE_FILE, effective_form, split_options
from shared.config.model import DEFAULT, walk
from shared.config.resolve import resolve


def main(argv: Sequence[str]) -> int:
    """With flags of `octolet run`: what these would mean. Without: what the node in the run directory runs with."""
    parser = argparse.ArgumentParser(
        prog="octolet config view",
        description=__doc__,
        epilog="Any further flags are those of `octolet run`; then nothing that runs is asked.",
    )
    parser.add_argument("verb", choices=["view"])
    parser.add_argument("-o", "--output", choices=["yaml", "json"], default="yaml")
    parser.add_argument("--run-dir", help=RUN_DIR_HELP)
    given, rest = parser.parse_known_args(argv)
    if rest:
        config = resolve(split_options(rest)[1])
        effective, flags, origins = effective_form(config), config.flags, config.origins
    else:
        run_dir = split_options(["--run-dir", given.run_dir] if given.run_dir else [])[0].run_dir
        effective, flags, origins = _read(run_dir / EFFECTIVE_FILE)
    if given.output == "json":
        json.dump({"configuration": effective, "flags": flags, "origins": origins}, sys.stdout, indent=1)
        print()
    else:
        print("\n".join(_lines(effective, flags, origins)))
    return 0


def _read(path: Path) -> tuple[dict[str, Any], dict[str, Any], dict[str, str]]:
    try:
        stored = json.loads(path.read_bytes())
    except FileNotFoundError:
        raise FileNotFoundError(f"{path.parent}: no node was started from this run directory") from None
    return stored["configuration"], stored["flags"], stored["origins"]


def _lines(effective: dict[str, Any], flags: dict[str, Any], origins: dict[str, str]) -> list[str]:
    """YAML with the origin of every value that is not a default, as a comment."""
    lines = yaml.safe_dump(effective, sort_keys=True).splitlines()
    comments = {path: origin for path, origin in _all_origins(effective, origins).items() if origin != DEFAULT}
    lines = [_commented(line, path, comments) for line, path in zip(lines, _paths(lines), strict=True)]
    lines += ["", "# flags without a field in the configuration file"]
    for name, value in sorted(flags.items()):
        origin = origins.get(name.replace("_", "-"), "")
        lines.append(f"# --{name.replace('_', '-')}={value}" + (f"  ({origin})" if origin else ""))
    return lines


def _all_origins(effective: dict[str, Any], origins: dict[str, str]) -> dict[str, str]:
    return {path: origins.get(path, DEFAULT) for path, _ in walk(effective)}


def _commented(line: str, path: str, comments: dict[str, str]) -> str:
    return f"{line}  # {comments[path]}" if path in comments else line


def _paths(lines: Sequence[str]) -> list[str]:
    """The dotted path that each line of block-style YAML sets; empty for items of lists and folded text."""
    stack: list[tuple[int, str]] = []
    paths = []
    for line in lines:
        indent = len(line) - len(line.lstrip())
        key, colon, _ = line.strip().partition(":")
        if not colon or line.lstrip().startswith("- "):
            paths.append("")
            continue
        while stack and stack[-1][0] >= indent:
            stack.pop()
        stack.append((indent, key.strip("'\"")))
        paths.append(".".join(name for _, name in stack))
    return paths
