"""`python -m deploy.demo run|stop|clean`. Exits 1 with one clear sentence when something stands in the way."""

import os
import sys

from deploy.demo.node import DemoFailed, clean, run, stop


def main(arguments: list[str]) -> int:
    """Exit status of one command."""
    commands = {"run": run, "stop": stop, "clean": clean}
    if len(arguments) != 1 or arguments[0] not in commands:
        print(__doc__, file=sys.stderr)
        return 2
    if os.geteuid() != 0:
        print("octolet: a node agent mounts, makes cgroups and starts containers: run this as root", file=sys.stderr)
        return 1
    try:
        commands[arguments[0]]()
    except DemoFailed as error:
        print(f"octolet: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("octolet: interrupted; `make stop` undoes what was started", file=sys.stderr)
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
