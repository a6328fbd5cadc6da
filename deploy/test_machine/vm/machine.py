"""Builds the emulated machine's boot files once, and runs commands in it."""

import base64
import contextlib
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from deploy.peers import cache_dir

INIT: Final = Path(__file__).with_name("init.sh")
MODULES: Final = ("virtio_pci", "virtiofs", "overlay")
VIRTIOFSD: Final = Path("/usr/lib/qemu/virtiofsd")
QEMU: Final = "qemu-system-x86_64"
NEEDED: Final = (QEMU, "cpio", "depmod", "modprobe", "apt-get", "dpkg", "/bin/busybox", str(VIRTIOFSD))
MEMORY_MIB: Final = 3072
MAX_COMMAND_BYTES: Final = 1400
"""the command travels in the kernel's command line (2,048 bytes on x86), base64 encoded"""


class VmError(Exception):
    """The machine could not be built or did not come up; the text says why."""


def missing() -> list[str]:
    """Programs that are needed and not there."""
    return [name for name in NEEDED if shutil.which(name) is None]


def run(command: str, *, timeout_s: float = 600.0, folder: Path | None = None) -> tuple[int, str]:
    """Exit status and output of a shell command, run in that folder (the current one). Raises VmError."""
    place = folder or Path.cwd()
    script = f"cd {shlex.quote(str(place))} && {{ {command}\n}}"
    if len(script.encode()) > MAX_COMMAND_BYTES:
        raise VmError(f"the command is longer than {MAX_COMMAND_BYTES} bytes: put it into a file")
    kernel, initramfs = build()
    with _served_root() as socket:
        output = _boot(kernel, initramfs, socket, script, timeout_s)
    found = re.search(r"^@begin\n(.*?)\n?^@end (\d+)$", output, re.DOTALL | re.MULTILINE)
    if found is None:
        raise VmError(f"the machine did not finish the command: {output[-2000:]}")
    return int(found[2]), found[1]


def build() -> tuple[Path, Path]:
    """Kernel and initial file system, made when they are missing or older than `init.sh`. Raises VmError."""
    home = cache_dir() / "vm"
    kernel_dir, initramfs = home / "kernel", home / "initramfs"
    home.mkdir(parents=True, exist_ok=True)
    if not kernel_dir.is_dir():
        _fetch_kernel(home, kernel_dir)
    release = next((kernel_dir / "lib/modules").iterdir()).name
    image = kernel_dir / f"boot/vmlinuz-{release}"
    if not initramfs.exists() or initramfs.stat().st_mtime < INIT.stat().st_mtime:
        with tempfile.TemporaryDirectory(dir=home) as folder:
            _fill(Path(folder), kernel_dir, release)
            packed = _output("sh", "-c", "find . | cpio --quiet -o -H newc", cwd=folder)
            (home / "initramfs.new").write_bytes(packed)
            (home / "initramfs.new").rename(initramfs)
    return image, initramfs


def _fetch_kernel(home: Path, target: Path) -> None:
    """Debian's current cloud kernel with its modules, unpacked beside what is installed."""
    depends = _output("apt-cache", "depends", "linux-image-cloud-amd64").decode()
    package = re.search(r"Depends: (linux-image-\S+)", depends)
    if package is None:
        raise VmError("apt knows no linux-image-cloud-amd64: apt-get update")
    with tempfile.TemporaryDirectory(dir=home) as folder:
        _output("apt-get", "-qq", "-o", "APT::Sandbox::User=root", "download", package[1], cwd=folder)
        (archive,) = Path(folder).glob("*.deb")
        _output("dpkg", "-x", str(archive), f"{folder}/unpacked")
        release = next(Path(folder, "unpacked/lib/modules").iterdir()).name
        _output("depmod", "-b", f"{folder}/unpacked", release)
        Path(folder, "unpacked").rename(target)


def _fill(tree: Path, kernel_dir: Path, release: str) -> None:
    """What the machine starts from: busybox, our init, and modules in the order in which they depend on each other."""
    for name in ("bin", "proc", "sys", "dev", "host", "layer", "root", "modules"):
        (tree / name).mkdir()
    shutil.copy("/bin/busybox", tree / "bin")
    shutil.copy(INIT, tree / "init")
    (tree / "init").chmod(0o755)
    seen: list[str] = []
    for module in MODULES:
        lines = _output("modprobe", "-d", str(kernel_dir), "-S", release, "--show-depends", module).decode()
        seen += [line.split()[1] for line in lines.splitlines() if line.startswith("insmod ")]
    for number, path in enumerate(dict.fromkeys(seen)):
        shutil.copy(path, tree / "modules" / f"{number:02d}-{Path(path).name}")


@contextlib.contextmanager
def _served_root() -> Iterator[Path]:
    """This machine's files, offered to the emulated one."""
    with tempfile.TemporaryDirectory(prefix="octolet-vm-") as folder:
        socket = Path(folder) / "fs"
        command = [
            str(VIRTIOFSD),
            f"--socket-path={socket}",
            "-o",
            "source=/",
            "-o",
            "sandbox=chroot",
            "-o",
            "cache=always",
        ]
        daemon = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            deadline = time.monotonic() + 10
            while not socket.exists():
                if daemon.poll() is not None or time.monotonic() > deadline:
                    raise VmError("virtiofsd did not start")
                time.sleep(0.02)
            yield socket
        finally:
            daemon.kill()
            daemon.wait()


def _boot(kernel: Path, initramfs: Path, socket: Path, script: str, timeout_s: float) -> str:
    encoded = base64.b64encode(script.encode()).decode()
    options = f"console=ttyS0 quiet panic=-1 cgroup_no_v1=all hugepages=16 octolet_command={encoded}"
    command = [
        *(QEMU, "-accel", "tcg,thread=multi", "-cpu", "max", "-smp", "2", "-nographic", "-no-reboot", "-nic", "none"),
        *("-m", f"{MEMORY_MIB}M", "-numa", "node,memdev=memory"),
        *("-object", f"memory-backend-memfd,id=memory,size={MEMORY_MIB}M,share=on"),
        *("-chardev", f"socket,id=files,path={socket}", "-device", "vhost-user-fs-pci,chardev=files,tag=host"),
        *("-kernel", str(kernel), "-initrd", str(initramfs), "-append", options),
    ]
    try:
        ended = subprocess.run(command, capture_output=True, timeout=timeout_s, stdin=subprocess.DEVNULL)
    except subprocess.TimeoutExpired as error:
        text = (error.stdout or b"").decode(errors="replace")
        raise VmError(f"not in {timeout_s:g} s: {text[-2000:]}") from error
    if ended.returncode != 0:
        raise VmError(f"qemu: {ended.stderr.decode(errors='replace')[-2000:]}")
    return ended.stdout.decode(errors="replace").replace("\r", "")


def _output(*command: str, cwd: str | Path | None = None) -> bytes:
    try:
        return subprocess.run(command, check=True, capture_output=True, cwd=cwd).stdout
    except subprocess.CalledProcessError as error:
        raise VmError(f"{' '.join(command)}: {error.stderr.decode(errors='replace').strip()}") from error


def main() -> None:
    """The command line; see the package."""
    if absent := missing():
        sys.exit(f"missing: {', '.join(absent)} (deploy/install-packages.sh vm)")
    if len(sys.argv) != 2:
        sys.exit("usage: python -m deploy.test_machine.vm 'COMMAND'")
    try:
        status, output = run(sys.argv[1])
    except VmError as error:
        sys.exit(f"vm: {error}")
    print(output)
    sys.exit(status)
