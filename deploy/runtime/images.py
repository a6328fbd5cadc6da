"""Builds the few images that a node needs where no registry can be reached, as OCI archives.

`docker.io/library/busybox:1.36` holds this machine's static busybox (Debian: busybox-static) with a link for each of
its applets; `registry.k8s.io/pause:3.10` a program compiled from `pause.c`. One layer each. Archives are kept in a
cache folder named after what went into them.
"""

import hashlib
import io
import json
import platform
import struct
import subprocess
import tarfile
import tempfile
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

BUSYBOX = "docker.io/library/busybox:1.36"
PAUSE = "registry.k8s.io/pause:3.10"
PAUSE_SOURCE = Path(__file__).with_name("pause.c")
STATIC_BUSYBOX = Path("/bin/busybox")
ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64", "armv7l": "arm"}
SEARCH_PATH = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
PASSWD = b"root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65534:nobody:/:/bin/false\n"
GROUP = b"root:x:0:\nnobody:x:65534:\n"
FOLDERS = (
    ("bin", 0o755),
    ("dev", 0o755),
    ("etc", 0o755),
    ("home", 0o755),
    ("proc", 0o555),
    ("root", 0o700),
    ("sys", 0o555),
    ("tmp", 0o1777),
    ("var", 0o755),
)


class ImageBuildError(Exception):
    """Something an image is made of is missing on this machine; the text says what to install."""


@dataclass(frozen=True)
class Entry:
    """One file, or with `link` a symbolic link, or with a `name` ending in / a folder."""

    name: str
    mode: int = 0o755
    data: bytes = b""
    link: str = ""


def ensure_archives(cache: Path) -> list[Path]:
    """The archives of both images, built if they are not there yet. Raises ImageBuildError."""
    cache.mkdir(parents=True, exist_ok=True)
    busybox = _static_busybox()
    return [
        _ensure(cache, BUSYBOX, busybox, partial(_busybox_archive, busybox)),
        _ensure(cache, PAUSE, PAUSE_SOURCE.read_bytes(), partial(_pause_archive, PAUSE_SOURCE)),
    ]


def _ensure(cache: Path, name: str, ingredients: bytes, build: Callable[[], bytes]) -> Path:
    digest = hashlib.sha256(ingredients + Path(__file__).read_bytes()).hexdigest()[:12]
    path = cache / f"{name.rpartition('/')[2].replace(':', '-')}-{digest}.tar"
    if not path.exists():
        _write(path, build())
    return path


def archive(name: str, entries: Iterable[Entry], config: dict[str, Any]) -> bytes:
    """An OCI image archive with one layer. `config` is the image's run configuration (`Cmd`, `Entrypoint`, ...)."""
    blobs: dict[str, bytes] = {}

    def blob(data: bytes, kind: str) -> dict[str, Any]:
        digest = hashlib.sha256(data).hexdigest()
        blobs[digest] = data
        return {"mediaType": f"application/vnd.oci.image.{kind}", "digest": f"sha256:{digest}", "size": len(data)}

    layer = blob(tar(entries), "layer.v1.tar")
    image = {
        "architecture": ARCHITECTURES.get(platform.machine(), platform.machine()),
        "os": "linux",
        "config": {"Env": [SEARCH_PATH], **config},
        "rootfs": {"type": "layers", "diff_ids": [layer["digest"]]},
    }
    manifest = {
        "schemaVersion": 2,
        "mediaType": "application/vnd.oci.image.manifest.v1+json",
        "config": blob(_json(image), "config.v1+json"),
        "layers": [layer],
    }
    reference = {**blob(_json(manifest), "manifest.v1+json"), "annotations": {"io.containerd.image.name": name}}
    index = {
        "schemaVersion": 2,
        "mediaType": "application/vnd.oci.image.index.v1+json",
        "manifests": [reference],
    }
    files = [Entry("oci-layout", 0o644, b'{"imageLayoutVersion":"1.0.0"}'), Entry("index.json", 0o644, _json(index))]
    return tar([*files, *(Entry(f"blobs/sha256/{digest}", 0o644, data) for digest, data in blobs.items())])


def tar(entries: Iterable[Entry]) -> bytes:
    """A tar file; equal entries give equal bytes."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as file:
        for entry in entries:
            info = tarfile.TarInfo(entry.name.rstrip("/"))
            info.mode, info.size, info.linkname = entry.mode, len(entry.data), entry.link
            if entry.link:
                info.type = tarfile.SYMTYPE
            elif entry.name.endswith("/"):
                info.type = tarfile.DIRTYPE
            file.addfile(info, io.BytesIO(entry.data))
    return out.getvalue()


def base_entries(busybox: bytes) -> list[Entry]:
    """The usual folders, two users, and busybox with its applets."""
    listing = subprocess.run([STATIC_BUSYBOX, "--list"], capture_output=True, text=True, check=True).stdout
    applets = [name for name in listing.split() if name != "busybox"]
    return [
        *(Entry(f"{folder}/", mode) for folder, mode in FOLDERS),
        Entry("etc/passwd", 0o644, PASSWD),
        Entry("etc/group", 0o644, GROUP),
        Entry("bin/busybox", 0o755, busybox),
        *(Entry(f"bin/{name}", 0o777, link="busybox") for name in applets),
    ]


def compiled(source: Path) -> bytes:
    """A static program made of one C file. Raises ImageBuildError where there is no compiler."""
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder) / "program"
        command = ["gcc", "-static", "-O2", "-s", "-o", str(program), str(source)]
        try:
            subprocess.run(command, check=True, capture_output=True, text=True)
        except FileNotFoundError as error:
            raise ImageBuildError("gcc is missing (Debian: gcc libc6-dev)") from error
        except subprocess.CalledProcessError as error:
            raise ImageBuildError(f"compile {source.name}: {error.stderr.strip()}") from error
        return program.read_bytes()


def _busybox_archive(busybox: bytes) -> bytes:
    return archive(BUSYBOX, base_entries(busybox), {"Cmd": ["sh"]})


def _pause_archive(source: Path) -> bytes:
    return archive(PAUSE, [Entry("pause", 0o755, compiled(source))], {"Entrypoint": ["/pause"]})


def _static_busybox() -> bytes:
    try:
        program = STATIC_BUSYBOX.read_bytes()
    except FileNotFoundError as error:
        raise ImageBuildError("/bin/busybox is missing (Debian: busybox-static)") from error
    if needs_loader(program):
        raise ImageBuildError("/bin/busybox is not static (Debian: busybox-static)")
    return program


def needs_loader(program: bytes) -> bool:
    """Whether a 64-bit little-endian ELF file names a dynamic loader (a PT_INTERP segment)."""
    start, size, count = *struct.unpack_from("<Q", program, 32), *struct.unpack_from("<HH", program, 54)
    return any(struct.unpack_from("<I", program, start + number * size)[0] == 3 for number in range(count))


def _json(value: object) -> bytes:
    return json.dumps(value, sort_keys=True).encode()


def _write(path: Path, data: bytes) -> None:
    """Several test runs may build at once: the last whole file wins."""
    with tempfile.NamedTemporaryFile(dir=path.parent, delete=False) as file:
        file.write(data)
    Path(file.name).replace(path)
