"""Real container runtimes for tests: one test machine for each run and version, removed afterwards.

`OCTOLET_TEST_RUNTIMES` chooses (default `1,2`): `1` is the distribution's containerd, `2` the one built by
`python -m deploy.peers containerd`. What is missing skips a test with the reason; where `CI` is true it fails it.
"""

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NoReturn

import pytest

from deploy.peers import containerd_dir
from deploy.runtime.config import cni_plugins
from deploy.runtime.containerd import Program, find_program
from deploy.test_machine.machine import TestMachine

Surroundings = TestMachine
"""What a node test gets: `socket`, `endpoint`, `netns`, `node_ip`, `cgroup_root`, `restart_runtime()`, `remove_pods()`,
`runtime.stop()`, `runtime.kill()`, `runtime.start()`, `run(command...)`."""

VERSIONS = tuple(os.environ.get("OCTOLET_TEST_RUNTIMES", "1,2").split(","))
NEEDED = ("/usr/sbin/ip", "/usr/bin/nsenter", "/bin/busybox", "/usr/bin/gcc", str(cni_plugins() / "bridge"))


@contextmanager
def surroundings(version: str) -> Iterator[Surroundings]:
    """A machine of its own with containerd 1 or 2. Skips, or fails in CI, where that cannot be."""
    name = f"octo{version}-{os.getpid():x}-{secrets.token_hex(2)}"
    with TestMachine(name, find_runtime(version)) as machine:
        yield machine


def find_runtime(version: str) -> Program:
    """The containerd to test with. Skips, or fails in CI, when something is missing."""
    if os.geteuid() != 0:
        missing("needs root, for network namespaces, mounts and cgroups")
    absent = [path for path in NEEDED if not Path(path).exists()]
    if absent:
        missing(f"needs {', '.join(absent)}: deploy/install-packages.sh test")
    if version == "1":
        program, remedy = find_program(), "deploy/install-packages.sh test"
    else:
        program, remedy = find_program(containerd_dir()), "python -m deploy.peers containerd"
    if program is None:
        missing(f"no containerd {version}: {remedy}")
    return program


def missing(reason: str) -> NoReturn:
    """Skip, or fail where nothing may be missing."""
    if os.environ.get("CI", "").lower() in ("1", "true"):
        pytest.fail(f"CI must have it: {reason}")
    pytest.skip(reason)
