"""Building peers, with a Go that only notes what it was asked."""

from pathlib import Path

import pytest

from deploy import peers

GO = """#!/bin/sh
[ "$1" = version ] && { echo "go version go1.26.6 linux/amd64"; exit; }
echo "$PWD $*" >> "$NOTES"
[ "$1" = mod ] && { echo '{'; echo '	"GoMod": "'"$STAGED"'"'; echo '}'; }
[ "$1" = build ] || exit 0
out=; packages=
while [ $# -gt 0 ]; do case $1 in -o) out=$2; shift;; -ldflags) shift;; build) ;; *) packages="$packages $1";; esac; shift; done
for package in $packages; do : > "$out${package##*/}"; done
"""


@pytest.fixture
def notes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache folder of its own, and a Go in it."""
    go = tmp_path / "bin" / "go"
    go.parent.mkdir()
    go.write_text(GO)
    go.chmod(0o755)
    staged = tmp_path / "kubernetes.mod"
    staged.write_text("replace (\n\tk8s.io/api => ./staging/src/k8s.io/api\n\tother => ./x\n)\n")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("OCTOLET_PEERS", raising=False)
    monkeypatch.setenv("PATH", f"{go.parent}:/usr/bin:/bin")
    monkeypatch.setenv("NOTES", str(tmp_path / "notes"))
    monkeypatch.setenv("STAGED", str(staged))
    return tmp_path / "notes"


def run(monkeypatch: pytest.MonkeyPatch, *wanted: str) -> None:
    monkeypatch.setattr("sys.argv", ["peers", *wanted])
    peers.main()


def test_a_peer_is_built_once_and_then_left_alone(notes: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run(monkeypatch, "containerd")
    folder = peers.containerd_dir()
    assert sorted(p.name for p in folder.iterdir()) == ["containerd", "containerd-shim-runc-v2", "ctr"]
    assert f"get github.com/containerd/containerd/v2@v{peers.CONTAINERD}" in notes.read_text()
    said = notes.read_text()
    run(monkeypatch, "containerd")
    assert notes.read_text() == said


def test_kubernetes_staging_modules_are_taken_as_published(notes: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run(monkeypatch, "kubelet")
    module = (peers.cache_dir() / "build" / "kubelet" / "go.mod").read_text()
    assert f"require k8s.io/kubernetes v{peers.KUBERNETES}" in module
    assert "\tk8s.io/api => k8s.io/api v0.37.2\n" in module
    assert "other" not in module
    assert "gitVersion=v1.37.2" in notes.read_text()


def test_programs_given_by_the_environment_are_used_and_not_built(
    notes: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("OCTOLET_PEERS", str(tmp_path / "given"))
    (tmp_path / "given").mkdir()
    (tmp_path / "given" / "crictl").touch()
    run(monkeypatch, "crictl")
    assert not notes.exists()
    assert peers.containerd_dir() == tmp_path / "given" / "containerd2"


def test_a_peer_that_nobody_knows_is_refused(notes: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(SystemExit):
        run(monkeypatch, "podman")
    assert not notes.exists()
