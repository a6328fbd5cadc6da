"""`octolet tap [--pod NAME]`: what the daemons say to each other, as it happens. Secrets never reach it."""

import argparse
import asyncio
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import msgspec

from shared.bus.tap import Tap, Tapped
from shared.cli.options import RUN_DIR_HELP, default_run_dir
from shared.messages.base import Service

_SHORTEST: Final = 100
_HEAD: Final = "{at:>9} {latency:>8} {after:>9}  {owner:<17} {kind:<8} {name:<16} {key}"


def main(argv: Sequence[str]) -> int:
    """Print messages until interrupted (or `--count` of them)."""
    parser = argparse.ArgumentParser(
        prog="octolet tap",
        description=__doc__,
        epilog="Columns: seconds since the first message, time on the way, time after the message that caused it.",
    )
    parser.add_argument("--pod", metavar="NAME", help="only messages about this pod: its name, namespace/name or UID")
    parser.add_argument("--from", dest="owners", action="append", choices=list(Service), help="only from this daemon")
    parser.add_argument("--beats", action="store_true", help="heartbeats too")
    parser.add_argument("--count", type=int, default=0, help="stop after so many messages")
    parser.add_argument("-o", "--output", choices=["text", "wide", "json"], default="text")
    parser.add_argument("--run-dir", type=Path, default=default_run_dir(), help=RUN_DIR_HELP)
    given = parser.parse_args(argv)
    if not (given.run_dir / "bus").is_dir():
        print(f"octolet tap: no node was started from {given.run_dir}", file=sys.stderr)
        return 1
    return asyncio.run(_follow(given))


async def _follow(given: argparse.Namespace) -> int:
    about = PodFilter(given.pod) if given.pod else None
    shown, first = 0, 0.0
    color = given.output != "json" and sys.stdout.isatty()
    async with Tap(given.run_dir, given.owners, beats=given.beats) as tap:
        async for message in tap:
            if about and not about.matches(message):
                continue
            first = first or message.sent_at_mono
            line = to_json(message) if given.output == "json" else to_text(message, first, wide=given.output == "wide")
            print(_colored(line, message.kind) if color else line, flush=True)
            shown += 1
            if shown == given.count:
                break
        if tap.lost:
            print(f"{tap.lost} messages came faster than they could be shown", file=sys.stderr)
    return 0


class PodFilter:
    """Lets through what is about one pod: messages that name its UID, once that was learnt, and what these caused."""

    def __init__(self, wanted: str) -> None:
        self._namespace, _, self._name = wanted.rpartition("/")
        self._uids: set[str] = {wanted}
        self._ids: set[str] = set()

    def matches(self, message: Tapped) -> bool:
        """Whether to show it. Learns UIDs from rows that carry the pod's name."""
        content = msgspec.to_builtins(message.content) if message.content is not None else None
        names = self._names(content)
        if names and message.key:
            self._uids.add(message.key)
        found = names or message.key in self._uids or self._mentions(content) or message.cause in self._ids
        if found and message.id:
            self._ids.add(message.id)
        return found

    def _names(self, content: Any) -> bool:
        if not isinstance(content, dict):
            return False
        candidates = [content, content.get("metadata"), (content.get("pod") or {})]
        candidates += [part.get("metadata") for part in candidates if isinstance(part, dict)]
        return any(self._is_it(part) for part in candidates if isinstance(part, dict))

    def _is_it(self, part: dict[str, Any]) -> bool:
        return part.get("name") == self._name and self._namespace in ("", part.get("namespace", ""))

    def _mentions(self, content: Any) -> bool:
        if isinstance(content, dict):
            return any(self._mentions(value) for value in content.values())
        if isinstance(content, list):
            return any(self._mentions(value) for value in content)
        return isinstance(content, str) and content in self._uids


def to_json(message: Tapped) -> str:
    """One line of JSON with everything that is known."""
    return json.dumps(msgspec.to_builtins(message), default=repr)


def to_text(message: Tapped, first_mono: float, *, wide: bool = False) -> str:
    """One line for people; `wide` does not shorten the content."""
    after = "" if message.after_cause_s is None else f"+{message.after_cause_s * 1000:.1f}ms"
    head = _HEAD.format(
        at=f"{message.sent_at_mono - first_mono:.3f}",
        latency=f"{message.latency_s * 1000:.1f}ms",
        after=after,
        owner=message.owner,
        kind=message.kind,
        name=message.name,
        key=message.key or message.caller,
    )
    took = f" took {message.took_s * 1000:.1f}ms" if message.took_s else ""
    content = "" if message.content is None else json.dumps(msgspec.to_builtins(message.content), default=repr)
    if not wide and len(content) > _SHORTEST:
        content = content[:_SHORTEST] + "..."
    return f"{head}{took} {message.text} {content}".rstrip()


def _colored(line: str, kind: str) -> str:
    code = {"error": 31, "dropped": 31, "request": 36, "reply": 36, "delete": 33, "mark": 90, "beat": 90}.get(kind)
    return f"\x1b[{code}m{line}\x1b[0m" if code else line
