"""`python -m deploy.test_machine`: see the package."""

import argparse
import os
import sys

from deploy.peers import containerd_dir
from deploy.runtime.containerd import find_program
from deploy.test_machine import __doc__ as about
from deploy.test_machine.machine import TestMachine


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m deploy.test_machine", description=about, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("action", choices=["up", "exec", "down"])
    parser.add_argument("name", help="the test machine's name")
    parser.add_argument("command", nargs=argparse.REMAINDER, help="with exec: what to run in its network")
    parser.add_argument(
        "--runtime", choices=["installed", "peer"], default="installed", help="the distribution's containerd, or ours"
    )
    arguments = parser.parse_args()
    program = find_program(containerd_dir() if arguments.runtime == "peer" else None)
    if program is None:
        sys.exit("no containerd there: deploy/install-packages.sh test, or python -m deploy.peers containerd")
    machine = TestMachine(arguments.name, program)
    match arguments.action:
        case "up":
            machine.up()
            print(f"runtime {machine.endpoint}  netns {machine.netns}  node {machine.node_ip}")
            print(f"cgroup root {machine.cgroup_root}")
        case "exec":
            command = [*machine.inside(), *arguments.command]
            os.execvp(command[0], command)
        case "down":
            machine.down()


if __name__ == "__main__":
    main()
