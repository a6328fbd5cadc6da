"""Fixtures of tests against real runtimes. They are marked `node`, so that a plain unit run leaves them out."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.node.surroundings import VERSIONS, Surroundings, surroundings

HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.node)


@pytest.fixture(scope="session", params=VERSIONS, ids=[f"containerd{version}" for version in VERSIONS])
def machine(request: pytest.FixtureRequest) -> Iterator[Surroundings]:
    """One machine for each version and run; its tests share it, so each cleans up after itself (see `runtime`)."""
    with surroundings(request.param) as made:
        yield made


@pytest.fixture
def runtime(machine: Surroundings) -> Iterator[Surroundings]:
    """The machine with its runtime up, and no pods left over by the test before."""
    if not machine.runtime.answers():
        machine.runtime.start()
    yield machine
    if not machine.runtime.answers():
        machine.runtime.start()
    machine.remove_pods()
