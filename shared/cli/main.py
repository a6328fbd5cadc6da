"""`octolet VERB ...`: finds the verb's module, and turns errors into one sentence and an exit code.

Exit codes: 0 done, 1 it failed (the sentence says why), 2 wrong usage.
"""

import importlib
import sys
from collections.abc import Sequence
from typing import Final

VERBS: Final = {
    "run": ("shared.cli.run", "be this machine's node agent: takes the kubelet's flags and files"),
    "ready": ("shared.cli.ready", "exit 0 when all daemons, or the one named, are ready"),
    "status": ("shared.cli.status", "show daemons and pods"),
    "tap": ("shared.cli.tap", "show what the daemons say to each other"),
    "config": ("shared.cli.config", "`config view`: the configuration in effect, and where each value comes from"),
    "stop": ("shared.cli.stop", "stop the daemons of a run directory; containers go on"),
    "version": ("shared.cli.version", "print the version"),
}


def main(argv: Sequence[str] | None = None) -> int:
    """Run one verb and return its exit code."""
    words = list(sys.argv[1:] if argv is None else argv)
    verb = words.pop(0) if words else "help"
    if verb in ("-h", "--help", "help"):
        print(_usage())
        return 0
    if verb == "--version":
        verb = "version"
    if verb not in VERBS:
        print(f"octolet: unknown command {verb}\n\n{_usage()}", file=sys.stderr)
        return 2
    try:
        return int(importlib.import_module(VERBS[verb][0]).main(words))
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        sys.stderr.close()
        return 0
    except Exception as error:
        from shared.errors import OctoletError

        if not isinstance(error, OctoletError | OSError):
            raise
        text = str(error)
        if isinstance(error, OSError) and error.filename and error.strerror:
            text = f"{error.filename}: {error.strerror.lower()}"
        print(f"octolet {verb}: {text}", file=sys.stderr)
        return 1


def _usage() -> str:
    lines = [f"  {verb:<8} {about}" for verb, (_, about) in VERBS.items()]
    return "\n".join(["usage: octolet VERB ...", "", *lines, "", "octolet VERB --help says more."])


if __name__ == "__main__":
    sys.exit(main())
