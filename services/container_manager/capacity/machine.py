"""Reads this machine from /proc, /sys and /etc. Source of the places: upstream's collector (`cadvisor`, machine info)."""

import os
from pathlib import Path
from typing import Final

from services.container_manager.capacity.model import Machine
from shared.errors import Fatal

MACHINE_ID_FILES: Final = ("etc/machine-id", "var/lib/dbus/machine-id")
SYSTEM_UUID_FILES: Final = (
    "sys/class/dmi/id/product_uuid",
    "proc/device-tree/system-id",
    "proc/device-tree/vm,uuid",
    "etc/machine-id",
)


def read_machine(root_dir: Path, *, sysroot: Path = Path("/")) -> Machine:
    """The machine below `sysroot` (tests record one). Raises Fatal when CPUs or memory cannot be read."""
    meminfo = parse_meminfo(_read(sysroot / "proc/meminfo"))
    online = _read(sysroot / "sys/devices/system/cpu/online")
    cpus = len(parse_cpu_list(online)) or os.cpu_count() or 0
    if not cpus or "MemTotal" not in meminfo:
        raise Fatal(f"read machine: no CPUs or no memory found below {sysroot}")
    return Machine(
        cpus=cpus,
        online_cpus=online or f"0-{cpus - 1}",
        memory_bytes=meminfo["MemTotal"],
        swap_bytes=meminfo.get("SwapTotal", 0),
        storage_bytes=read_storage(root_dir),
        pids_max=read_pids_max(sysroot),
        hugepages=_read_hugepages(sysroot / "sys/kernel/mm/hugepages"),
        machine_id=_first(sysroot, MACHINE_ID_FILES),
        system_uuid=_first(sysroot, SYSTEM_UUID_FILES),
        boot_id=_read(sysroot / "proc/sys/kernel/random/boot_id"),
    )


def parse_meminfo(text: str) -> dict[str, int]:
    """Bytes by name."""
    found = {}
    for line in text.splitlines():
        name, _, rest = line.partition(":")
        number, *unit = rest.split() or [""]
        if number.isdigit():
            found[name] = int(number) * (1024 if unit == ["kB"] else 1)
    return found


def parse_cpu_list(text: str) -> list[int]:
    """The CPUs of a kernel list such as `0-3,7`. Raises ValueError for something else."""
    found: list[int] = []
    for part in filter(None, text.strip().split(",")):
        first, _, last = part.partition("-")
        found.extend(range(int(first), int(last or first) + 1))
    return found


def read_storage(root_dir: Path) -> int | None:
    """Capacity of the file system that holds the root directory, or will hold it; None: it cannot be read."""
    place = root_dir
    while not place.exists() and place != place.parent:
        place = place.parent
    try:
        found = os.statvfs(place)
    except OSError:
        return None
    return found.f_blocks * found.f_frsize


def read_pids_max(sysroot: Path = Path("/")) -> int:
    """How many processes and threads there may be (upstream `rlimit`: the lesser of two kernel limits)."""
    limits = [_read(sysroot / "proc/sys/kernel" / name) for name in ("pid_max", "threads-max")]
    return min((int(text) for text in limits if text.isdigit()), default=0)


def read_pids_current(sysroot: Path = Path("/")) -> int:
    """How many there are: the fourth field of loadavg is `running/total`."""
    fields = _read(sysroot / "proc/loadavg").split()
    total = fields[3].partition("/")[2] if len(fields) > 3 else ""
    return int(total) if total.isdigit() else 0


def read_tasks_and_swap(sysroot: Path = Path("/")) -> tuple[int, int]:
    """(threads of the machine, bytes of swap in use)."""
    meminfo = parse_meminfo(_read(sysroot / "proc/meminfo"))
    return read_pids_current(sysroot), meminfo.get("SwapTotal", 0) - meminfo.get("SwapFree", 0)


def _read_hugepages(folder: Path) -> dict[int, int]:
    found = {}
    for directory in sorted(folder.glob("hugepages-*kB")):
        size = directory.name.removeprefix("hugepages-").removesuffix("kB")
        pages = _read(directory / "nr_hugepages")
        if size.isdigit():
            found[int(size) * 1024] = int(pages) if pages.isdigit() else 0
    return found


def _first(sysroot: Path, names: tuple[str, ...]) -> str:
    return next((text for name in names if (text := _read(sysroot / name))), "")


def _read(path: Path) -> str:
    """A small file's text without the end of line (or the NUL of a device tree); empty when it cannot be read."""
    try:
        return path.read_text(errors="replace").strip().strip("\0")
    except OSError:
        return ""
