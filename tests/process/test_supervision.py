"""The supervisord extension with small daemons: restarts, hangs, takeover, clean stops. Real processes throughout."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from shared.supervision.configuration import Supervisor
from tests.process.harness import ROOT, Supervised, kill, plain_supervisord, wait_for

pytestmark = [pytest.mark.process, pytest.mark.slow]

NAMES = ("alpha", "beta", "gamma")
FATAL = 200


def small(folder: Path, **changes: Any) -> Supervised:
    run_dir = folder / "run"
    options = {"preload": True, "hang_s": 30.0, **changes}
    supervisor = Supervisor(
        run_dir=run_dir,
        python=sys.executable,
        directory=str(ROOT),
        programs=NAMES,
        package="tests.process.daemons",
        arguments=("--run-dir", str(run_dir)),
        **options,
    )
    return plain_supervisord(folder, supervisor)


@pytest.mark.parametrize("preload", [True, False])
def test_a_killed_daemon_is_back_quickly_and_the_others_keep_their_pids(tmp_path: Path, preload: bool) -> None:
    with small(tmp_path, preload=preload) as node:
        before = node.wait_all()
        killed = time.monotonic()
        kill(before["beta"])
        after = node.wait_new("beta", before["beta"])
        assert time.monotonic() - killed < 1.0  # supervisord alone: up to 2 s
        assert node.pids() == before | {"beta": after}


def test_kills_in_a_row_never_end_fatal_and_delays_grow_as_declared(tmp_path: Path) -> None:
    with small(tmp_path) as node:
        others = {name: pid for name, pid in node.wait_all().items() if name != "alpha"}
        for killed in range(1, 9):
            pid = wait_for("alpha runs", lambda: node.pid("alpha"))
            kill(pid)
            node.wait_new("alpha", pid)
            assert node.rows()["alpha"]["starts"] == killed + 1
            assert node.rows()["alpha"]["state"] != FATAL
        assert {name: pid for name, pid in node.pids().items() if name != "alpha"} == others
        assert all(node.rows()[name]["starts"] == 1 for name in others)


def test_a_daemon_that_always_exits_at_once_is_tried_for_ever_without_spinning(tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "gamma.exit").write_text("1")
    with small(tmp_path) as node:
        began = time.monotonic()
        row = wait_for(
            "a wait after six starts", lambda: (r := node.rows().get("gamma", {})) and r["starts"] >= 6 and r
        )
        assert row["starts"] <= 5 + (time.monotonic() - began) / 0.2 + 1
        wait_for("it waits", lambda: 0 < node.rows()["gamma"]["waiting_s"] <= 5)
        (tmp_path / "run" / "gamma.exit").unlink()
        wait_for("gamma runs", lambda: node.pid("gamma"))
        node.wait_all()


def test_a_daemon_whose_loop_stands_is_killed_alone_and_replaced(tmp_path: Path) -> None:
    with small(tmp_path, hang_s=2.0) as node:
        before = node.wait_all()
        kill(before["gamma"], signal.SIGSTOP)
        after = node.wait_new("gamma", before["gamma"], timeout_s=15)
        assert node.pids() == before | {"gamma": after}
        assert "gamma" in node.output.read_text().split("hangs")[0].splitlines()[-1]


def test_daemons_outlive_their_supervisor_and_the_next_one_replaces_them_one_by_one(tmp_path: Path) -> None:
    with small(tmp_path) as node:
        before = node.wait_all()
        node.process.kill()
        node.wait_end()
        assert node.pids() == before
        node.start()
        for name in NAMES:
            node.wait_new(name, before[name])
        after = node.wait_all()
        assert not set(after.values()) & set(before.values())
        for pid in before.values():
            assert not Path(f"/proc/{pid}").exists() or _is_zombie(pid)
        lines = [line for line in node.output.read_text().splitlines() if "spawned" in line or "stopping" in line]
        order = [line.split()[4].strip("',") for line in lines][len(NAMES) :]
        assert order == [name for name in order[::2] for _ in range(2)]  # stop one, start it, stop the next


def test_daemons_still_write_after_the_death_of_their_supervisor(tmp_path: Path) -> None:
    with small(tmp_path) as node:
        before = node.wait_all()
        targets = {os.readlink(f"/proc/{before['alpha']}/fd/{fd}") for fd in (1, 2)}
        assert targets == {str(node.output)}


def test_sigterm_stops_everything_and_the_exit_status_is_zero(tmp_path: Path) -> None:
    with small(tmp_path) as node:
        node.wait_all()
        began = time.monotonic()
        node.process.terminate()
        assert node.wait_end() == 0
        assert time.monotonic() - began < 3
        assert node.pids() == dict.fromkeys(NAMES)


def test_a_second_supervisor_on_the_same_run_directory_refuses_and_disturbs_nobody(tmp_path: Path) -> None:
    with small(tmp_path) as node:
        before = node.wait_all()
        other = subprocess.run(
            node.command,
            cwd=ROOT,
            capture_output=True,
            text=True,
            timeout=30,
        )
        assert other.returncode != 0
        assert node.pids() == before


def test_a_reload_starts_new_daemons_with_the_same_care(tmp_path: Path) -> None:
    with small(tmp_path) as node:
        before = node.wait_all()
        node.process.send_signal(signal.SIGHUP)
        for name in NAMES:
            node.wait_new(name, before[name])
        again = node.wait_all()
        kill(again["beta"])
        after = node.wait_new("beta", again["beta"], timeout_s=1.0)
        assert node.pids() == again | {"beta": after}


def test_a_daemon_has_plain_signals_a_title_of_its_own_and_no_descriptor_of_the_supervisor(tmp_path: Path) -> None:
    with small(tmp_path) as node:
        pid = node.wait_all()["alpha"]
        title = Path(f"/proc/{pid}/cmdline").read_bytes().rstrip(b"\0").decode()
        assert title == "python -m tests.process.daemons.alpha"
        assert sorted(int(fd.name) for fd in Path(f"/proc/{pid}/fd").iterdir()) == [0, 1, 2, 3]  # 3: its lock
        status = dict(
            line.split(":\t", 1) for line in Path(f"/proc/{pid}/status").read_text().splitlines() if ":\t" in line
        )
        assert int(status["SigBlk"], 16) == 0
        handled = {number for number in range(1, 32) if int(status["SigCgt"], 16) >> (number - 1) & 1}
        assert signal.SIGCHLD not in handled
        assert signal.SIGUSR2 not in handled
        assert {signal.SIGTERM, signal.SIGINT} <= handled


def _is_zombie(pid: int) -> bool:
    return ") Z " in Path(f"/proc/{pid}/stat").read_text()
