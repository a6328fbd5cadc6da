"""`octolet ready` and `octolet status` against a real bus."""

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest

from shared.cli import status
from shared.cli.main import main
from shared.cli.readiness import SERVICES, ask, wait_ready
from shared.kube.types import Container, ObjectMeta, Pod, PodSpec, PodStatus
from shared.messages.base import Service
from shared.messages.pod_sync import POD_STATUS, PODS, PodEntry, PodPhase, PodStatusEntry
from shared.service import Context, open_context
from shared.service.lock import ServiceLock


class NoSettings(msgspec.Struct):
    """A daemon without settings."""


@asynccontextmanager
async def daemon(run_dir: Path, name: str) -> AsyncIterator[Context[NoSettings]]:
    run_dir.mkdir(exist_ok=True)
    with ServiceLock(run_dir / f"{name}.lock"):
        async with open_context(name, NoSettings(), run_dir) as context:
            yield context


def run(work: Coroutine[Any, Any, None]) -> None:
    asyncio.run(work)


def test_the_names_are_the_daemons() -> None:
    assert set(SERVICES) == {service.value for service in Service}


def test_a_daemon_is_ready_from_the_moment_it_says_so(tmp_path: Path) -> None:
    async def scene() -> None:
        async with daemon(tmp_path, "pleg") as context:
            before = await asyncio.to_thread(ask, tmp_path, ("pleg", "prober"), timeout_s=5)
            assert (before["pleg"].text, before["prober"].text) == ("not ready", "not running")
            context.ready()
            after = (await asyncio.to_thread(ask, tmp_path, ("pleg",), timeout_s=5))["pleg"]
            assert after.ready
            assert after.state is not None
            assert after.state["pid"] == os.getpid()

    run(scene())
    assert ask(tmp_path, ("pleg",), timeout_s=5)["pleg"].text == "not running"


def test_waiting_ends_when_the_daemon_becomes_ready(tmp_path: Path) -> None:
    async def scene() -> None:
        waiting = asyncio.create_task(asyncio.to_thread(wait_ready, tmp_path, ("pleg",), wait_s=20))
        async with daemon(tmp_path, "pleg") as context:
            context.ready()
            assert (await waiting)["pleg"].ready

    run(scene())


def test_a_daemon_that_runs_but_does_not_answer_is_not_ready(tmp_path: Path) -> None:
    with ServiceLock(tmp_path / "pleg.lock"):
        assert ask(tmp_path, ("pleg",), timeout_s=0.05)["pleg"].text == "no answer"


def test_the_command_says_it_with_its_exit_code(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["ready", "pleg", "--run-dir", str(tmp_path)]) == 1
    assert capsys.readouterr().out == "pleg: not running\n"
    assert main(["ready", f"--run-dir={tmp_path}"]) == 1
    assert len(capsys.readouterr().out.splitlines()) == 8
    assert main(["ready", "nobody"]) == 2
    assert main(["ready", "--wait", "soon"]) == 2


def test_the_question_loads_neither_the_event_loop_nor_the_bus() -> None:
    look = (
        "import sys, shared.cli.main, shared.cli.ready; "
        "print([name for name in ('asyncio', 'shared.bus', 'rich', 'yaml', 'msgspec') if name in sys.modules])"
    )
    seen = subprocess.run([sys.executable, "-c", look], capture_output=True, text=True, check=True)
    assert seen.stdout.strip() == "[]"


def test_status_shows_daemons_and_pods(tmp_path: Path) -> None:
    async def scene() -> None:
        async with daemon(tmp_path, "pod_sync") as context, daemon(tmp_path, "pleg") as other:
            pods, statuses = context.bus.own(PODS), context.bus.own(POD_STATUS)
            pod = Pod(
                metadata=ObjectMeta(name="web", namespace="shop", uid="u1"),
                spec=PodSpec(containers=[Container(name="c")]),
            )
            pods.put("u1", PodEntry(pod=pod, source="file", phase=PodPhase.SYNC))
            statuses.put(
                "u1", PodStatusEntry(name="web", namespace="shop", status=PodStatus(phase="Running", pod_ip="10.0.0.2"))
            )
            pods.mark(complete=True)
            statuses.mark(complete=True)
            context.ready()
            other.degraded("runtime", "the runtime does not answer")
            seen = await status.gather(tmp_path)
            rows = {row["name"]: row for row in seen["daemons"]}
            assert rows["pod_sync"]["ready"]
            assert not rows["pleg"]["ready"]
            assert rows["pleg"]["degraded"] == ["the runtime does not answer"]
            assert not rows["server"]["running"]
            [shown] = seen["pods"]
            assert (shown["name"], shown["phase"], shown["ip"], shown["containers"]) == (
                "web",
                "Running",
                "10.0.0.2",
                1,
            )

    run(scene())


def test_status_of_nothing_is_told_without_waiting(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["status", "-o", "json", "--run-dir", str(tmp_path / "none")]) == 1
    assert all(not row["running"] for row in json.loads(capsys.readouterr().out)["daemons"])
    assert main(["status", "--run-dir", str(tmp_path / "none")]) == 1
    assert "not running" in capsys.readouterr().out
