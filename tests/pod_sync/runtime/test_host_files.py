"""Environment files on volumes, whose owner is not trusted."""

import os
from pathlib import Path
from typing import Any

import pytest

from services.pod_sync.environment.variables import EnvFile
from services.pod_sync.runtime.host_files import HostFiles
from services.pod_sync.runtime.open_below import open_below
from shared.messages.volume_manager import MountedVolume
from tests.pod_sync.environment.manifests import make_container
from tests.pod_sync.runtime.test_start import failure, start
from tests.pod_sync.runtime.world import World


def test_a_file_on_the_volume_is_read_with_its_own_line_ends(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub/a.env").write_bytes(b"A='1'\r\n\xff")
    assert HostFiles().env_file_text(EnvFile(str(tmp_path), "sub/a.env")) == "A='1'\r\n\udcff"


def test_a_link_within_the_volume_is_followed(tmp_path: Path) -> None:
    (tmp_path / "real.env").write_text("A='1'")
    (tmp_path / "link.env").symlink_to("real.env")
    assert HostFiles().env_file_text(EnvFile(str(tmp_path), "link.env")) == "A='1'"


@pytest.mark.parametrize("target", ["/etc/passwd", "../outside", "/proc/self/environ"])
def test_a_link_to_the_hosts_files_is_not(tmp_path: Path, target: str) -> None:
    (tmp_path / "outside").write_text("A='secret'")
    volume = tmp_path / "volume"
    volume.mkdir()
    (volume / "evil.env").symlink_to(target)
    assert HostFiles().env_file_text(EnvFile(str(volume), "evil.env")) is None


def test_what_is_no_file_is_not_read(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for below in ("pipe", "", "none", "../.."):
        assert HostFiles().env_file_text(EnvFile(str(tmp_path), below)) is None


def test_no_descriptor_is_left_open(tmp_path: Path) -> None:
    before = os.listdir("/proc/self/fd")
    (tmp_path / "x").touch()
    os.close(open_below(str(tmp_path), "x"))
    for below in ("none", "..", "x/y"):
        with pytest.raises(OSError):
            open_below(str(tmp_path), below)
    HostFiles().env_file_text(EnvFile(str(tmp_path), "x"))
    assert os.listdir("/proc/self/fd") == before


def with_file(**fields: Any) -> dict[str, Any]:
    reference = {"volumeName": "env", "path": "a.env", "key": "A"}
    return {"containers": [make_container(env=[{"name": "X", "valueFrom": {"fileKeyRef": reference}}], **fields)]}


def test_a_container_gets_a_variable_from_its_volumes_file(tmp_path: Path) -> None:
    world = World(tmp_path)
    volume = tmp_path / "volume"
    volume.mkdir()
    volumes = {"env": MountedVolume(host_path=str(volume))}
    text = "couldn't parse env file"
    assert failure(world, spec=with_file(), volumes=volumes) == ("CreateContainerConfigError", text)
    (volume / "a.env").write_text("A='from the file'\n")
    assert [env.value for env in start(world, spec=with_file(), volumes=volumes).config.envs] == [b"from the file"]
