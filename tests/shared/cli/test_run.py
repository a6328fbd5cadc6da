"""`octolet run` before it starts anything, and `octolet config view`."""

import json
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from shared.cgroups.mounts import Hierarchies
from shared.cli import checks, run
from shared.cli.main import VERBS, main
from shared.config import Config
from shared.config.resolve import resolve
from shared.messages.base import Service
from shared.service.lock import ServiceLock
from shared.supervision.layout import supervisor_lock

QUIET = ("--fail-cgroupv1=false", "--fail-swap-on=false", "--cgroup-root=/octolet-tests-none")


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def config(*argv: str, port: int | None = None) -> Config:
    ports = [
        f"--port={port or free_port()}",
        f"--healthz-port={free_port()}",
        "--read-only-port=0",
        "--address=127.0.0.1",
    ]
    return resolve([*QUIET, *ports, *argv], hostname="node1")


def test_a_machine_that_is_right_has_no_problems(tmp_path: Path) -> None:
    assert checks.problems(config(), tmp_path / "run") == []


def test_a_taken_port_is_named_unless_our_own_server_holds_it(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        [problem] = checks.problems(config(port=port), tmp_path)
        assert problem == (
            f"cannot listen on 127.0.0.1:{port} (port): address already in use; is another node agent running?"
        )
        with ServiceLock(tmp_path / "server.lock"):
            assert checks.problems(config(port=port), tmp_path) == []


def test_a_run_directory_in_use_is_named_with_the_pid(tmp_path: Path) -> None:
    with ServiceLock(supervisor_lock(tmp_path)):
        [problem] = checks.problems(config(), tmp_path)
    assert problem.startswith(f"octolet runs already in {tmp_path} (pid {os.getpid()})")


def test_a_run_directory_with_too_long_a_path_is_refused_before_anything_is_made(tmp_path: Path) -> None:
    run_dir = tmp_path / ("x" * 100)
    [problem] = checks.problems(config(), run_dir)
    assert "choose a shorter run folder" in problem
    assert not run_dir.exists()


def test_without_root_nothing_starts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert checks.problems(config(), tmp_path / "run")[0] == (
        "octolet needs to run as uid 0 (root). It is being run as 1000"
    )


def test_cgroup_v1_and_swap_are_refused_as_configured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checks, "_swap_is_on", lambda: True)
    monkeypatch.setattr(
        checks,
        "parse_mountinfo",
        lambda text, driver: Hierarchies(version=1, root=tmp_path, mounts={"memory": tmp_path}, driver=driver),
    )
    found = checks.problems(config("--fail-cgroupv1", "--fail-swap-on"), tmp_path / "run")
    assert [text.split(",")[0] for text in found] == [
        "running with swap on is not supported",
        "octolet is configured to not run on a host using cgroup v1. cgroup v1 support is unsupported and will be "
        "removed in a future release (failCgroupV1: false allows it)",
    ]


def test_a_pods_group_that_another_octolet_manages_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    group = tmp_path / "kubepods"
    group.mkdir()
    monkeypatch.setattr(
        checks,
        "parse_mountinfo",
        lambda text, driver: Hierarchies(version=2, root=tmp_path, mounts={}, driver=driver),
    )
    hold = (
        "import fcntl, os, sys; fd = os.open(sys.argv[1], os.O_RDONLY); fcntl.flock(fd, fcntl.LOCK_EX); "
        "print(flush=True); sys.stdin.read()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", hold, str(group)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as other:
        assert other.stdout is not None
        other.stdout.readline()
        assert checks.problems(config("--cgroup-root=/"), tmp_path / "run") == [
            f"cgroup {group} is managed by pid {other.pid}; choose another --cgroup-root or stop that one"
        ]
        other.communicate()
    assert checks.problems(config("--cgroup-root=/"), tmp_path / "run") == []


def test_our_own_options_are_told_from_the_kubelets(monkeypatch: pytest.MonkeyPatch) -> None:
    options, rest = run.split_options(["--run-dir", "/x", "--v=2", "--check", "--config", "c", "--no-preload"])
    assert (options.run_dir, options.check, options.preload) == (Path("/x"), True, False)
    assert rest == ["--v=2", "--config", "c"]
    monkeypatch.setenv("OCTOLET_RUN_DIR", "/from/environment")
    assert run.split_options([])[0].run_dir == Path("/from/environment")


def test_everything_a_start_needs_is_written_for_root_alone(tmp_path: Path) -> None:
    run_dir = tmp_path / "run"
    run.prepare(config("--v=4", "--max-pods=9"), run.Options(run_dir=run_dir))
    assert run_dir.stat().st_mode & 0o777 == 0o700
    written = {path.relative_to(run_dir).as_posix() for path in run_dir.rglob("*") if path.is_file()}
    assert written == {"supervisord.conf", "config.json", *(f"settings/{service}.json" for service in Service)}
    text = (run_dir / "supervisord.conf").read_text()
    settings = f"--settings {run_dir}/settings/pleg.json"  # named, so that a lost file is no return to the defaults
    assert f"command={sys.executable} -m services.pleg --run-dir {run_dir} --log-level debug {settings}\n" in text
    assert json.loads((run_dir / "config.json").read_text())["configuration"]["maxPods"] == 9


def test_wrong_input_is_one_sentence_and_exit_code_one(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "--port=x"]) == 1
    error = capsys.readouterr().err
    assert error.startswith('octolet run: failed to parse kubelet flag: invalid argument "x" for "--port" flag')
    assert len(error.splitlines()) == 1


def test_the_version_is_the_kubelets_and_help_lists_every_flag(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "--version"]) == 0
    assert capsys.readouterr().out == "Kubernetes v1.37.2\n"
    assert main(["run", "--help"]) == 0
    text = capsys.readouterr().out
    assert "--node-status-update-frequency" in text
    assert "--run-dir" in text
    assert main(["version"]) == 0
    assert "v1.37.2" in capsys.readouterr().out


def test_a_check_explains_and_starts_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "c.yaml"
    file.write_text(
        "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\nmaxPods: 7\nport: 0\n"
        "authentication: {webhook: {enabled: false}}\nauthorization: {mode: AlwaysAllow}\n"
        f"staticPodURLHeader: {{Token: [secret]}}\nhealthzPort: {free_port()}\nfailCgroupV1: false\nfailSwapOn: false\n"
    )
    words = ["run", "--config", str(file), "--check", f"--port={free_port()}", "--run-dir", str(tmp_path / "run")]
    assert main([*words, "--cgroup-root=/octolet-tests-none"]) == 0
    error = capsys.readouterr().err
    assert "Effective KubeletConfiguration" in error
    assert "kind: KubeletConfiguration" in error
    assert "maxPods: 7" in error
    assert "<masked>" in error
    assert "secret" not in error
    assert not (tmp_path / "run").exists()


def test_the_view_tells_where_values_come_from(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["config", "view", "--max-pods=9", "--eviction-hard=memory.available<5%"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert "maxPods: 9  # flag --max-pods" in lines
    assert "  memory.available: 5%  # flag --eviction-hard" in lines
    assert "port: 10250" in lines
    run.prepare(config("--max-pods=8"), run.Options(run_dir=tmp_path))
    assert main(["config", "view", "-o", "json", "--run-dir", str(tmp_path)]) == 0
    assert json.loads(capsys.readouterr().out)["origins"]["maxPods"] == "flag --max-pods"
    assert main(["config", "view", "--run-dir", str(tmp_path / "none")]) == 1
    assert "no node was started from this run directory" in capsys.readouterr().err


def test_unknown_verbs_are_refused_and_help_lists_all(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["dance"]) == 2
    assert "unknown command dance" in capsys.readouterr().err
    assert main([]) == 0
    text = capsys.readouterr().out
    assert all(verb in text for verb in VERBS)


def test_stopping_what_does_not_run_is_success(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["stop", "--run-dir", str(tmp_path)]) == 0
    assert capsys.readouterr().out == f"nothing runs in {tmp_path}\n"
