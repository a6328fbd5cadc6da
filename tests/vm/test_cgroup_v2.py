"""container_manager on cgroup v2 with all controllers and huge pages: the tests that use real groups, run over there."""

import re

import pytest

from deploy.test_machine.vm.machine import missing, run
from tests.node.surroundings import missing as unavailable

pytestmark = [pytest.mark.node, pytest.mark.slow, pytest.mark.timeout(900)]
PYTEST = ".venv/bin/python -m pytest --color=no -p no:cacheprovider --timeout 600"


@pytest.fixture(autouse=True)
def machine_can_be_emulated() -> None:
    if absent := missing():
        unavailable(f"deploy/install-packages.sh vm: needs {', '.join(absent)}")


def test_real_groups_and_usage_are_as_on_version_1() -> None:
    files = ("test_real_groups.py", "test_usage.py")
    status, output = run(f"{PYTEST} {' '.join(f'tests/container_manager/{f}' for f in files)}", timeout_s=600)
    assert status == 0, output
    assert re.search(r"^[3-9]\d passed, 1 skipped", output, re.MULTILINE), output


def test_the_whole_daemon_works_and_values_are_those_of_version_2() -> None:
    """Its tests, then one life that is looked at from outside: weights, limits, huge pages, controllers."""
    settings = '{"cgroup_root":"/octo","root_dir":"/tmp","system_reserved":{"memory":"64Mi","cpu":"500m"}}'
    look = (
        "cd /sys/fs/cgroup/octo/kubepods && grep -H . cgroup.controllers cpu.weight hugetlb.2MB.max memory.min pids.max"
    )
    script = f"""
mkdir -p /run/octolet-v2/settings; echo '{settings}' > /run/octolet-v2/settings/container_manager.json
.venv/bin/python -m services.container_manager --run-dir /run/octolet-v2 2> /run/log-v2 & daemon=$!
until grep -q became_ready /run/log-v2; do kill -0 $daemon || {{ cat /run/log-v2; exit 1; }}; sleep 0.2; done
until [ "$(cat /sys/fs/cgroup/octo/kubepods/memory.max)" != max ]; do sleep 0.2; done
({look}; grep -H . burstable/cpu.weight besteffort/cpu.weight burstable/hugetlb.2MB.max; cat cpuset.cpus)
kill $daemon; wait $daemon
"""
    status, output = run(script, timeout_s=300)
    assert status == 0, output
    lines = output.splitlines()
    controllers = next(line for line in lines if line.startswith("cgroup.controllers:")).partition(":")[2].split()
    assert {"cpu", "cpuset", "memory", "hugetlb", "pids", "io"} <= set(controllers)
    assert "cpu.weight:59" in lines  # 2 CPUs less half of one: 1536 shares
    assert "memory.min:0" in lines
    assert "burstable/cpu.weight:1" in lines and "besteffort/cpu.weight:1" in lines
    assert any(line in ("hugetlb.2MB.max:max", "hugetlb.2MB.max:4611686018427387904") for line in lines), output
    assert lines[-1] == "0-1"
