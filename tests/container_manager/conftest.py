"""A subtree of this machine's real hierarchies for one test, removed afterwards with everything in it."""

import os
import uuid
from collections.abc import Iterator

import pytest

from services.container_manager.cgroups.cgroupfs import CgroupFs
from shared.cgroups.mounts import Hierarchies, find_hierarchies
from shared.cgroups.names import CgroupName, PodGroups
from shared.errors import Fatal


@pytest.fixture
def hierarchies() -> Hierarchies:
    """This machine's. Skips where groups cannot be made."""
    try:
        found = find_hierarchies()
    except Fatal as error:
        pytest.skip(str(error))
    if os.geteuid() != 0 or any(not os.access(d, os.W_OK) for d in found.directories(CgroupName())):
        pytest.skip("needs root and writable cgroups")
    return found


@pytest.fixture
def fs(hierarchies: Hierarchies) -> CgroupFs:
    return CgroupFs(hierarchies)


@pytest.fixture
def root(fs: CgroupFs) -> Iterator[CgroupName]:
    """A group of this test's own, directly below the hierarchies' roots."""
    name = CgroupName((f"octolet-test-{uuid.uuid4().hex[:8]}",))
    yield name
    fs.destroy(name)


@pytest.fixture
def groups(root: CgroupName) -> PodGroups:
    return PodGroups(root)
