"""Every log event in the source is a constant `noun.verb_in_past`."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

REPOSITORY = Path(__file__).parents[3]
LEVELS = {"debug", "info", "warning", "error", "critical", "exception"}
SHAPE = re.compile(r"[a-z0-9_]+\.[a-z0-9]+(_[a-z0-9]+)*")


def is_logger(node: ast.expr) -> bool:
    """`log.info(...)`, `self.log.info(...)`, `ctx.log.info(...)`, `self._log.info(...)`, `structlog.get_logger().info(...)`."""
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name in ("log", "_log", "logger", "_logger")
        case ast.Call(func=ast.Attribute(attr="get_logger") | ast.Name(id="get_logger")):
            return True
    return False


def is_event(node: ast.expr) -> bool:
    """A constant of the right form, a choice between two, or the `event` of something that a core decided."""
    match node:
        case ast.Constant(value=str(event)):
            return SHAPE.fullmatch(event) is not None
        case ast.IfExp(body=one, orelse=other):
            return is_event(one) and is_event(other)
        case ast.Attribute(attr="event"):
            return True
    return False


def calls() -> Iterator[tuple[Path, ast.Call]]:
    for folder in ("services", "shared"):
        for path in (REPOSITORY / folder).rglob("*.py"):
            if "stubs" in path.parts or "supervision" in path.parts:  # generated; supervisord's own log
                continue
            for node in ast.walk(ast.parse(path.read_text())):
                match node:
                    case ast.Call(func=ast.Attribute(value=value, attr=level)) if level in LEVELS and is_logger(value):
                        yield path, node


def test_log_events_are_constants_of_the_form_noun_dot_verb_in_past() -> None:
    found, wrong = 0, []
    for path, call in calls():
        found += 1
        if len(call.args) != 1 or not is_event(call.args[0]):
            wrong.append(f"{path.relative_to(REPOSITORY)}:{call.lineno}: {ast.unparse(call)[:100]}")
    assert not wrong, "\n".join(wrong)
    assert found > 5
