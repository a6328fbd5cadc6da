"""One machine with containerd 2 for all chaos tests: what is killed here are daemons, not runtimes."""

from collections.abc import Iterator

import pytest

from tests.node.surroundings import Surroundings, surroundings


@pytest.fixture(scope="session")
def machine() -> Iterator[Surroundings]:
    with surroundings("2") as made:
        yield made
