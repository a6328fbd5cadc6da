"""What is written for a runtime of our own: its configuration, its network, its images."""

import hashlib
import io
import json
import struct
import tarfile
import tomllib
from pathlib import Path
from typing import Any

import pytest

from deploy.runtime.config import Layout, containerd_toml, pod_network
from deploy.runtime.images import BUSYBOX, PAUSE, Entry, archive, needs_loader, tar

LAYOUT = Layout(Path("/run/here"), Path("/var/lib/here"))


def configuration(major: int) -> dict[str, Any]:
    return tomllib.loads(containerd_toml(LAYOUT, major=major, snapshotter="native", plugins=Path("/opt/cni/bin")))


def test_containerd_1_finds_every_setting_in_its_own_table() -> None:
    settings = configuration(1)
    cri = settings["plugins"]["io.containerd.grpc.v1.cri"]
    assert (settings["version"], settings["grpc"]["address"]) == (2, "/run/here/containerd.sock")
    assert (settings["root"], settings["state"]) == ("/var/lib/here/containerd", "/run/here/containerd")
    assert (cri["sandbox_image"], cri["restrict_oom_score_adj"], cri["netns_mounts_under_state_dir"]) == (
        PAUSE,
        True,
        True,
    )
    assert cri["cni"] == {"bin_dir": "/opt/cni/bin", "conf_dir": "/run/here/net.d"}
    assert cri["containerd"]["snapshotter"] == "native"
    assert set(cri["containerd"]["runtimes"]) == {"runc", "other"}
    assert cri["registry"] == {"config_path": "/run/here/certs.d"}


def test_containerd_2_finds_every_setting_in_its_own_table() -> None:
    settings = configuration(2)
    images = settings["plugins"]["io.containerd.cri.v1.images"]
    runtime = settings["plugins"]["io.containerd.cri.v1.runtime"]
    assert settings["version"] == 3
    assert (images["snapshotter"], images["pinned_images"]["sandbox"]) == ("native", PAUSE)
    assert images["registry"] == {"config_path": "/run/here/certs.d"}
    assert (runtime["restrict_oom_score_adj"], runtime["netns_mounts_under_state_dir"]) == (True, True)
    assert runtime["cni"] == {"bin_dirs": ["/opt/cni/bin"], "conf_dir": "/run/here/net.d"}
    assert set(runtime["containerd"]["runtimes"]) == {"runc", "other"}


@pytest.mark.parametrize("major", [1, 2])
def test_no_socket_or_folder_is_shared_with_another_containerd(major: int) -> None:
    disabled = configuration(major)["disabled_plugins"]
    assert {"io.containerd.internal.v1.opt", "io.containerd.nri.v1.nri"} <= set(disabled)


def test_the_pod_network_is_a_bridge_with_addresses_and_port_mappings() -> None:
    network = json.loads(pod_network(Path("/var/lib/here/addresses"), masquerade=True, cidr="10.1.0.0/16"))
    bridge, portmap = network["plugins"]
    assert (bridge["type"], bridge["isGateway"], bridge["ipMasq"]) == ("bridge", True, True)
    assert bridge["ipam"]["ranges"] == [[{"subnet": "10.1.0.0/16"}]]
    assert bridge["ipam"]["dataDir"] == "/var/lib/here/addresses"
    assert portmap["capabilities"] == {"portMappings": True}


def members(data: bytes) -> dict[str, tarfile.TarInfo]:
    with tarfile.open(fileobj=io.BytesIO(data)) as file:
        return {info.name: info for info in file.getmembers()}


def content(data: bytes, name: str) -> bytes:
    with tarfile.open(fileobj=io.BytesIO(data)) as file:
        found = file.extractfile(name)
        assert found is not None
        return found.read()


def test_an_image_archive_leads_from_its_name_to_its_files() -> None:
    entries = [Entry("bin/", 0o755), Entry("bin/tool", 0o755, b"#!"), Entry("bin/alias", 0o777, link="tool")]
    data = archive(BUSYBOX, entries, {"Cmd": ["sh"]})

    def blob(reference: dict[str, Any]) -> bytes:
        found = content(data, "blobs/sha256/" + reference["digest"].removeprefix("sha256:"))
        assert (len(found), f"sha256:{hashlib.sha256(found).hexdigest()}") == (reference["size"], reference["digest"])
        return found

    [top] = json.loads(content(data, "index.json"))["manifests"]
    assert top["annotations"]["io.containerd.image.name"] == BUSYBOX
    manifest = json.loads(blob(top))
    image = json.loads(blob(manifest["config"]))
    assert image["config"]["Cmd"] == ["sh"]
    [layer] = manifest["layers"]
    assert image["rootfs"]["diff_ids"] == [layer["digest"]]
    files = members(blob(layer))
    assert (files["bin"].isdir(), files["bin/alias"].linkname, files["bin/tool"].mode) == (True, "tool", 0o755)
    assert content(blob(layer), "bin/tool") == b"#!"


def test_equal_files_give_equal_archives() -> None:
    entries = [Entry("a", 0o644, b"x")]
    assert archive(PAUSE, entries, {}) == archive(PAUSE, entries, {})
    assert tar(entries) != tar([Entry("a", 0o644, b"y")])


@pytest.mark.parametrize(("kinds", "expected"), [((1, 1), False), ((1, 3), True), ((), False)])
def test_a_program_needs_a_loader_when_a_segment_names_one(kinds: tuple[int, ...], expected: bool) -> None:
    header = bytearray(64)
    struct.pack_into("<Q", header, 32, 64)
    struct.pack_into("<HH", header, 54, 56, len(kinds))
    assert needs_loader(bytes(header) + b"".join(struct.pack("<I", kind) + bytes(52) for kind in kinds)) is expected
