"""containerd's configuration, and the pod network's."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from deploy.runtime.images import PAUSE

POD_CIDR = "10.88.0.0/16"
BRIDGE = "octolet0"
"""the pod network's bridge: a name of our own, so that another runtime's network on the machine stays as it is"""
CNI_FOLDERS = (Path("/usr/lib/cni"), Path("/opt/cni/bin"), Path("/usr/libexec/cni"))
"""Where network plugins are: Debian's package, upstream's archives, Fedora's package."""


def cni_plugins() -> Path:
    """The folder with the network plugins; Debian's where there is none at all."""
    return next((folder for folder in CNI_FOLDERS if (folder / "bridge").exists()), CNI_FOLDERS[0])


@dataclass(frozen=True)
class Layout:
    """Where one containerd keeps what. `volatile` should be on a tmpfs, `lasting` on a disk that overlayfs accepts."""

    volatile: Path
    lasting: Path

    @property
    def socket(self) -> Path:
        return self.volatile / "containerd.sock"

    @property
    def state(self) -> Path:
        return self.volatile / "containerd"

    @property
    def root(self) -> Path:
        return self.lasting / "containerd"

    @property
    def config(self) -> Path:
        return self.volatile / "containerd.toml"

    @property
    def log(self) -> Path:
        return self.volatile / "containerd.log"

    @property
    def pid(self) -> Path:
        return self.volatile / "containerd.pid"

    @property
    def networks(self) -> Path:
        return self.volatile / "net.d"

    @property
    def registries(self) -> Path:
        """hosts.toml files by registry (containerd's `certs.d`); empty unless a test puts some there."""
        return self.volatile / "certs.d"


def containerd_toml(layout: Layout, *, major: int, snapshotter: str, plugins: Path) -> str:
    """The configuration for containerd 1.x or 2.x; `plugins` is the network plugins' folder.

    `restrict_oom_score_adj` lets containers start where the machine may not lower the score (no CAP_SYS_RESOURCE).
    Keys of a TOML table stand before its sub-tables: after their headers they would belong to these.
    """
    return _head(layout, 2 if major == 1 else 3) + (
        _cri_1(layout, snapshotter, plugins) if major == 1 else _cri_2(layout, snapshotter, plugins)
    )


def _head(layout: Layout, version: int) -> str:
    # NRI and the opt plugin would use sockets and folders that all containerds of a machine share.
    return f"""version = {version}
root = "{layout.root}"
state = "{layout.state}"
disabled_plugins = ["io.containerd.internal.v1.opt", "io.containerd.nri.v1.nri"]

[grpc]
  address = "{layout.socket}"
"""


def _cri_1(layout: Layout, snapshotter: str, plugins: Path) -> str:
    return f"""
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "{PAUSE}"
  restrict_oom_score_adj = true
  netns_mounts_under_state_dir = true
  [plugins."io.containerd.grpc.v1.cri".registry]
    config_path = "{layout.registries}"
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "{plugins}"
    conf_dir = "{layout.networks}"
  [plugins."io.containerd.grpc.v1.cri".containerd]
    snapshotter = "{snapshotter}"
    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
      runtime_type = "io.containerd.runc.v2"
    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.other]
      runtime_type = "io.containerd.runc.v2"
"""


def _cri_2(layout: Layout, snapshotter: str, plugins: Path) -> str:
    return f"""
[plugins."io.containerd.cri.v1.images"]
  snapshotter = "{snapshotter}"
  [plugins."io.containerd.cri.v1.images".pinned_images]
    sandbox = "{PAUSE}"
  [plugins."io.containerd.cri.v1.images".registry]
    config_path = "{layout.registries}"

[plugins."io.containerd.cri.v1.runtime"]
  restrict_oom_score_adj = true
  netns_mounts_under_state_dir = true
  [plugins."io.containerd.cri.v1.runtime".containerd.runtimes.runc]
    runtime_type = "io.containerd.runc.v2"
  [plugins."io.containerd.cri.v1.runtime".containerd.runtimes.other]
    runtime_type = "io.containerd.runc.v2"
  [plugins."io.containerd.cri.v1.runtime".cni]
    bin_dirs = ["{plugins}"]
    conf_dir = "{layout.networks}"
"""


def pod_network(addresses: Path, *, masquerade: bool, cidr: str = POD_CIDR) -> str:
    """A bridge with addresses from `cidr`, remembered in the folder `addresses`. `masquerade` needs iptables."""
    bridge: dict[str, Any] = {
        "type": "bridge",
        "bridge": BRIDGE,
        "isGateway": True,
        "ipMasq": masquerade,
        "hairpinMode": True,
        "ipam": {
            "type": "host-local",
            "dataDir": str(addresses),
            "ranges": [[{"subnet": cidr}]],
            "routes": [{"dst": "0.0.0.0/0"}],
        },
    }
    portmap = {"type": "portmap", "capabilities": {"portMappings": True}}
    return json.dumps({"cniVersion": "0.4.0", "name": "octolet", "plugins": [bridge, portmap]}, indent=2) + "\n"
