"""The command line that every daemon has."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import msgspec

from shared.telemetry.log import LEVELS

DEFAULT_RUN_DIR: Final = Path("/run/octolet")
LOG_FORMATS: Final = ("json", "console")


class Arguments(msgspec.Struct, frozen=True, kw_only=True):
    """The parsed command line; `settings_file` None: RUN/settings/NAME.json if it is there."""

    run_dir: Path
    settings_file: Path | None
    log_format: str
    log_level: str
    check: bool


def parse_arguments(service: str, about: str, argv: Sequence[str] | None = None) -> Arguments:
    """Read the command line (None: the process's own). Exits with 2 and a usage text when it is wrong."""
    argv = sys.argv[1:] if argv is None else argv
    return _read_plain(argv) or _parse(service, about, argv)


def _read_plain(argv: Sequence[str]) -> Arguments | None:
    """Pairs of `--name value` as a supervisor passes them; None leaves anything else to argparse.

    argparse alone makes 1 MiB of the memory that a forked daemon shares its own.
    """
    given = dict(zip(argv[::2], argv[1::2], strict=False))
    right = (
        2 * len(given) == len(argv)
        and given.keys() <= {"--run-dir", "--settings", "--log-format", "--log-level"}
        and not any(value.startswith("-") for value in given.values())
        and given.get("--log-format", "json") in LOG_FORMATS
        and given.get("--log-level", "info") in LEVELS
    )
    if not right:
        return None
    settings = given.get("--settings")
    return Arguments(
        run_dir=Path(given.get("--run-dir", DEFAULT_RUN_DIR)).absolute(),
        settings_file=None if settings is None else Path(settings),
        log_format=given.get("--log-format") or _default_log_format(),
        log_level=given.get("--log-level", "info"),
        check=False,
    )


def _parse(service: str, about: str, argv: Sequence[str]) -> Arguments:
    parser = argparse.ArgumentParser(
        prog=f"python -m services.{service}",
        description=about,
        epilog="Exit codes: 0 stopped by a signal, 1 an unexpected error (see the log), 2 wrong arguments or settings, "
        "or another agent has what this one needs alone, 75 this service runs already in that run folder.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--run-dir",
        type=Path,
        default=DEFAULT_RUN_DIR,
        metavar="DIR",
        help="where sockets, locks, settings and logs are; all daemons of a node share it (default: %(default)s)",
    )
    parser.add_argument(
        "--settings",
        type=Path,
        default=None,
        metavar="FILE",
        help=f"settings as JSON (default: DIR/settings/{service}.json if it is there, else built-in defaults)",
    )
    parser.add_argument(
        "--log-format",
        choices=LOG_FORMATS,
        default=_default_log_format(),
        help="how lines on stderr look; DIR/log always gets JSON (default: console on a terminal, else json)",
    )
    parser.add_argument(
        "--log-level", choices=tuple(LEVELS), default="info", help="least level to log (default: %(default)s)"
    )
    parser.add_argument("--check", action="store_true", help="only say whether the settings are right, and exit")
    given = parser.parse_args(argv)
    return Arguments(
        run_dir=given.run_dir.absolute(),
        settings_file=given.settings,
        log_format=given.log_format,
        log_level=given.log_level,
        check=given.check,
    )


def _default_log_format() -> str:
    return "console" if sys.stderr is not None and sys.stderr.isatty() else "json"
