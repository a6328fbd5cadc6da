"""kill -9 every daemon, every pair and all eight while pods start, run, crash, are probed and stop.

Seen from outside only: what the runtime lists, which pids live, what port 10250 says, what is left on disk.
`OCTOLET_CHAOS=whole` runs every pair in every phase of a pod; the quick part kills each set once, at a moment that moves
through the phases from set to set.
"""

import itertools
import os
import signal
import time
from collections.abc import Iterator

import pytest

from tests.node.agent import DAEMONS, Agent, Instance, agent_on
from tests.node.surroundings import Surroundings

pytestmark = [pytest.mark.chaos, pytest.mark.timeout(3600)]

PHASES_S = (0.0, 0.05, 0.15, 0.3, 0.6, 1.2)
"""seconds between the manifests' change and the kill: before it was read, in sandbox creation, in start, after it"""
SINGLES = [(name,) for name in DAEMONS]
PAIRS = list(itertools.combinations(DAEMONS, 2))
WHOLE = os.environ.get("OCTOLET_CHAOS") == "whole"
PROBE = {"exec": {"command": ["true"]}, "periodSeconds": 1}
SETTLE_S = 40.0


def cases() -> list[tuple[tuple[str, ...], float]]:
    """(victims, seconds after the change)"""
    sets = [*SINGLES, *PAIRS, DAEMONS]
    if WHOLE:
        return [(victims, delay) for victims in sets for delay in PHASES_S]
    return [(victims, PHASES_S[i % len(PHASES_S)]) for i, victims in enumerate(sets)]


@pytest.fixture(scope="module")
def node(machine: Surroundings) -> Iterator[Agent]:
    """A node with steady pods that no kill may touch, and one pod that crashes again and again."""
    with agent_on(machine) as agent:
        prepare(agent)
        yield agent


def prepare(agent: Agent) -> None:
    agent.add("steady")
    agent.add("probed", readinessProbe=PROBE, livenessProbe=PROBE, startupProbe=PROBE)
    agent.add("crashing", command="exit 3")
    agent.add(
        "sidecar",
        spec={
            "initContainers": [
                {"name": "once", "image": "docker.io/library/busybox:1.36", "command": ["true"]},
                {
                    "name": "beside",
                    "image": "docker.io/library/busybox:1.36",
                    "command": ["sleep", "100000"],
                    "restartPolicy": "Always",
                },
            ]
        },
    )
    for name in ("steady", "probed", "sidecar"):
        agent.wait(lambda name=name: agent.is_running(name), 60, f"{name} Running and Ready")  # type: ignore[misc]


def steady(agent: Agent) -> list[Instance]:
    """Every container and sandbox of the pods that must not notice, dead instances too."""
    names = ("steady", "probed", "sidecar")
    rows = [*agent.containers(), *agent.sandboxes()]
    return sorted((i for i in rows if i.pod in names), key=lambda i: i.id)


_counter = itertools.count()


@pytest.mark.parametrize(
    ("victims", "delay_s"), cases(), ids=lambda v: "+".join(v) if isinstance(v, tuple) else f"{v}s"
)
def test_no_pod_notices(node: Agent, victims: tuple[str, ...], delay_s: float) -> None:
    number = next(_counter)
    leaving, coming = f"leaving{number}", f"coming{number}"
    node.add(leaving, command="trap 'exit 0' TERM; while :; do sleep 0.1; done")
    node.wait(lambda: node.is_running(leaving), SETTLE_S, f"{leaving} Running")
    leaving_uid = node.pods()[leaving]["metadata"]["uid"]
    before = steady(node)

    node.add(coming)
    node.remove(leaving)
    time.sleep(delay_s)
    pids = node.kill(*victims)

    node.wait(lambda: node.is_ready(), SETTLE_S, f"all ready again after {victims}")
    after = node.pids()
    assert {n: after[n] for n in DAEMONS if n not in victims} == {n: pids[n] for n in DAEMONS if n not in victims}
    assert all(after[n] != pids[n] for n in victims)

    node.wait(lambda: node.is_running(coming), SETTLE_S, f"{coming} Running and Ready")
    assert [c.attempt for c in node.of(coming)] == [0], "started exactly once"
    assert len([s for s in node.sandboxes() if s.pod == coming]) == 1
    node.wait(lambda: not [c for c in node.of(leaving) if c.running], SETTLE_S, f"{leaving} stopped")
    node.wait(lambda: leaving not in node.pods(), SETTLE_S, f"{leaving} gone from /pods")
    pod_dir = node.directory / "root" / "pods" / leaving_uid
    node.wait(lambda: not pod_dir.exists(), SETTLE_S, f"{leaving}'s directory gone")
    assert steady(node) == before, "no healthy container was restarted or doubled"
    for name in ("steady", "probed", "sidecar"):
        node.wait(lambda name=name: node.is_running(name), SETTLE_S, f"{name} still Running and Ready")  # type: ignore[misc]
    check_crashing(node)

    node.remove(coming)
    node.wait(lambda: not [s for s in node.sandboxes() if s.pod == coming and s.running], SETTLE_S, f"{coming} stopped")


def check_crashing(node: Agent) -> None:
    """The crash loop goes on: attempts count up without a gap or a double, and the status tells of it."""
    attempts = sorted(c.attempt for c in node.of("crashing"))
    assert len(attempts) == len(set(attempts)), attempts
    status = node.pods()["crashing"]["status"]["containerStatuses"][0]
    assert status["restartCount"] in (max(attempts), max(attempts) + 1, max(attempts) - 1)


@pytest.mark.parametrize("name", DAEMONS)
def test_a_daemon_that_is_stopped_for_20_s_goes_on_where_it_was(node: Agent, name: str) -> None:
    before, pids = steady(node), node.pids()
    os.kill(pids[name], signal.SIGSTOP)
    try:
        time.sleep(20 if WHOLE else 3)
    finally:
        os.kill(pids[name], signal.SIGCONT)
    node.wait(lambda: node.is_ready(), SETTLE_S, "all ready")
    assert node.pids() == pids
    assert steady(node) == before


def test_supervisord_dies_and_the_next_one_takes_over(node: Agent) -> None:
    before = steady(node)
    assert node.process is not None
    node.process.kill()
    node.process.wait()
    assert len(node.pids()) == len(DAEMONS), "daemons outlive their supervisor"
    node.start()
    assert steady(node) == before
    node.add("after-supervisor")
    node.wait(lambda: node.is_running("after-supervisor"), SETTLE_S, "a new pod runs")
    node.remove("after-supervisor")


def test_the_runtime_is_restarted_under_running_pods(node: Agent, machine: Surroundings) -> None:
    before = steady(node)
    machine.restart_runtime()
    node.wait(lambda: node.is_ready(), SETTLE_S, "all ready")
    node.add("after-runtime")
    node.wait(lambda: node.is_running("after-runtime"), SETTLE_S, "a new pod runs")
    assert steady(node) == before
    node.remove("after-runtime")
