"""`octolet ready [NAME ...] [--wait S] [--run-dir DIR]`: exit 0 when they are ready, 1 when not."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from shared.cli.options import RUN_DIR_HELP, default_run_dir
from shared.cli.readiness import SERVICES, wait_ready

USAGE: Final = f"""\
usage: octolet ready [NAME ...] [--wait SECONDS] [--run-dir DIR]

Exits with 0 when all eight daemons, or those named, are ready, else with 1 and a line for each that is not.

  --wait SECONDS  wait at most so long for them to become ready (default: 0)
  --run-dir DIR   {RUN_DIR_HELP}
  names           {", ".join(SERVICES)}"""


def main(argv: Sequence[str]) -> int:
    """Ask, print what is not ready, and say it with the exit code. argparse would double the time this takes."""
    names: list[str] = []
    options = {"--wait": "0", "--run-dir": str(default_run_dir())}
    words = list(argv)
    while words:
        word, equals, value = words.pop(0).partition("=")
        if word in ("-h", "--help"):
            print(USAGE)
            return 0
        if word in options and (equals or words):
            options[word] = value if equals else words.pop(0)
        elif word.replace("-", "_") in SERVICES:
            names.append(word.replace("-", "_"))
        else:
            print(f"octolet ready: what is {word}?\n\n{USAGE}", file=sys.stderr)
            return 2
    try:
        wait_s = float(options["--wait"])
    except ValueError:
        print(f"octolet ready: --wait {options['--wait']} is no number of seconds", file=sys.stderr)
        return 2
    answers = wait_ready(Path(options["--run-dir"]), tuple(names) or SERVICES, wait_s=wait_s)
    missing = [answer for answer in answers.values() if not answer.ready]
    for answer in missing:
        print(f"{answer.service}: {answer.text}")
    return 1 if missing else 0
