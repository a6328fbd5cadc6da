"""Capacity and allocatable, and reading the machine."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.container_manager.capacity.core import compute_shares, format_resources
from services.container_manager.capacity.machine import (
    parse_cpu_list,
    parse_meminfo,
    read_machine,
    read_pids_current,
    read_tasks_and_swap,
)
from services.container_manager.capacity.model import Machine, Reservations
from shared.errors import Fatal, Invalid
from shared.kube.eviction_thresholds import DEFAULT_HARD

GI, MI, KI = 1 << 30, 1 << 20, 1 << 10
MACHINE = Machine(
    cpus=4,
    online_cpus="0-3",
    memory_bytes=8 * GI,
    swap_bytes=0,
    storage_bytes=100 * GI,
    pids_max=4096,
    hugepages={2 * MI: 16, GI: 0},
)


def test_capacity_is_in_the_form_of_the_node_object() -> None:
    shares = compute_shares(MACHINE, Reservations(), enforce_pods=True)
    assert format_resources(shares.capacity) == {
        "cpu": "4",
        "memory": "8Gi",
        "pods": "110",
        "ephemeral-storage": "100Gi",
        "hugepages-2Mi": "32Mi",
        "hugepages-1Gi": "0",
    }


def test_reservations_thresholds_and_huge_pages_are_taken_off_allocatable() -> None:
    reservations = Reservations(
        system={"cpu": "100m", "memory": "256Mi", "ephemeral-storage": "1Gi"},
        kube={"cpu": "400m", "memory": "256Mi"},
        eviction_hard=DEFAULT_HARD,
    )
    shares = compute_shares(MACHINE, reservations, enforce_pods=True)
    assert shares.allocatable["cpu"] == 3500
    assert shares.allocatable["memory"] == 8 * GI - 512 * MI - 100 * MI - 32 * MI
    # A tenth, computed in single precision as upstream does: not exactly a tenth of the bytes.
    assert shares.allocatable["ephemeral-storage"] == 100 * GI - GI - int(100 * GI * 0.10000000149011612)
    assert shares.allocatable["hugepages-2Mi"] == 32 * MI


def test_the_pods_group_is_limited_to_more_than_allocatable_since_thresholds_are_not_taken_off() -> None:
    reservations = Reservations(system={"memory": "1Gi", "pid": "1000"}, eviction_hard=DEFAULT_HARD)
    shares = compute_shares(MACHINE, reservations, enforce_pods=True)
    assert (shares.enforced["memory"], shares.enforced["pid"]) == (7 * GI, 3096)
    assert compute_shares(MACHINE, reservations, enforce_pods=False).enforced["memory"] == 8 * GI


def test_pods_per_core_may_lower_the_number_of_pods_only() -> None:
    assert compute_shares(MACHINE, Reservations(pods_per_core=10), enforce_pods=True).capacity["pods"] == 40
    assert compute_shares(MACHINE, Reservations(pods_per_core=100), enforce_pods=True).capacity["pods"] == 110


def test_reserved_cpus_replace_what_is_reserved_of_cpu() -> None:
    reservations = Reservations(system={"cpu": "100m"}, kube={"cpu": "1"}, reserved_cpus=2)
    assert compute_shares(MACHINE, reservations, enforce_pods=True).allocatable["cpu"] == 2000


@pytest.mark.parametrize(
    ("reservations", "text"),
    [
        (Reservations(system={"pods": "1"}), 'cannot reserve "pods" resource'),
        (Reservations(kube={"memory": "much"}), 'reserve "memory"'),
        (Reservations(kube={"memory": "-1"}), "cannot be negative"),
        (Reservations(eviction_hard={"disk": "1Mi"}), "unsupported eviction signal disk"),
        (
            Reservations(system={"memory": "9Gi"}),
            'invalid Node Allocatable configuration. Resource "memory" has a reservation of 9Gi but capacity of 8Gi. '
            "Expected capacity >= reservation.",
        ),
    ],
)
def test_a_wrong_reservation_is_refused_by_name(reservations: Reservations, text: str) -> None:
    with pytest.raises(Invalid) as caught:
        compute_shares(MACHINE, reservations, enforce_pods=True)
    assert text in str(caught.value)


@given(cpu=st.integers(0, 4000), memory=st.integers(0, 8 * GI - 100 * MI), pages=st.integers(0, 10_000))
def test_allocatable_is_never_negative_and_never_more_than_capacity(cpu: int, memory: int, pages: int) -> None:
    machine = Machine(4, "0-3", 8 * GI, 0, 100 * GI, 4096, {2 * MI: pages})
    reservations = Reservations(system={"cpu": f"{cpu}m", "memory": str(memory)}, eviction_hard=DEFAULT_HARD)
    shares = compute_shares(machine, reservations, enforce_pods=True)
    for name, amount in shares.allocatable.items():
        assert 0 <= amount <= shares.capacity[name]


def test_without_its_file_system_a_node_has_no_ephemeral_storage_yet() -> None:
    machine = Machine(1, "0", GI, 0, None, 100)
    shares = compute_shares(machine, Reservations(eviction_hard=DEFAULT_HARD), enforce_pods=True)
    assert "ephemeral-storage" not in shares.capacity


def record(root: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)


def test_a_recorded_machine_is_read_whole(tmp_path: Path) -> None:
    record(
        tmp_path,
        {
            "proc/meminfo": "MemTotal:        1000 kB\nSwapTotal:  20 kB\nSwapFree: 5 kB\nHugePages_Total:       3\n",
            "sys/devices/system/cpu/online": "0-1,4\n",
            "proc/sys/kernel/pid_max": "4194304\n",
            "proc/sys/kernel/threads-max": "1234\n",
            "proc/sys/kernel/random/boot_id": "boot\n",
            "proc/loadavg": "0.1 0.2 0.3 2/345 999\n",
            "proc/device-tree/vm,uuid": "uuid\0",
            "var/lib/dbus/machine-id": "machine\n",
            "sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages": "16\n",
        },
    )
    found = read_machine(tmp_path / "not/there/yet", sysroot=tmp_path)
    assert (found.cpus, found.online_cpus, found.memory_bytes, found.swap_bytes) == (3, "0-1,4", 1_024_000, 20 * KI)
    assert (found.pids_max, found.boot_id, found.hugepages) == (1234, "boot", {2 * MI: 16})
    assert (found.machine_id, found.system_uuid) == ("machine", "uuid")
    assert found.storage_bytes is not None and found.storage_bytes > 0
    assert read_pids_current(tmp_path) == 345
    assert read_tasks_and_swap(tmp_path) == (345, 15 * KI)


def test_the_first_place_that_has_an_id_wins(tmp_path: Path) -> None:
    record(
        tmp_path,
        {
            "proc/meminfo": "MemTotal: 1 kB\n",
            "sys/devices/system/cpu/online": "0",
            "etc/machine-id": "etc\n",
            "var/lib/dbus/machine-id": "dbus\n",
            "sys/class/dmi/id/product_uuid": "dmi\n",
        },
    )
    found = read_machine(tmp_path, sysroot=tmp_path)
    assert (found.machine_id, found.system_uuid, found.boot_id) == ("etc", "dmi", "")


def test_a_machine_without_memory_is_none(tmp_path: Path) -> None:
    with pytest.raises(Fatal):
        read_machine(tmp_path, sysroot=tmp_path)


def test_this_machine_can_be_read() -> None:
    found = read_machine(Path("/"))
    assert found.cpus >= 1 and found.memory_bytes > 0 and found.pids_max > 0 and found.boot_id


@pytest.mark.parametrize(("text", "cpus"), [("", []), ("0", [0]), ("0-3,7", [0, 1, 2, 3, 7]), ("2,0-1\n", [2, 0, 1])])
def test_cpu_lists_are_read_as_the_kernel_writes_them(text: str, cpus: list[int]) -> None:
    assert parse_cpu_list(text) == cpus


def test_meminfo_lines_without_a_unit_are_counts() -> None:
    assert parse_meminfo("A: 2 kB\nB: 3\nC:\n") == {"A": 2048, "B": 3}
