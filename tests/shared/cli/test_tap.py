"""What `octolet tap --pod` lets through."""

from pathlib import Path
from typing import Any

import pytest

from shared.bus.tap import Tapped
from shared.cli.tap import PodFilter, main, to_json, to_text


def message(id: str, *, key: str = "", content: Any = None, cause: str = "") -> Tapped:
    return Tapped(
        kind="put",
        owner="pod_sync",
        name="pods",
        id=id,
        cause=cause,
        generation="g",
        sent_at_mono=10.0,
        latency_s=0.001,
        key=key,
        content=content,
    )


POD = {"pod": {"metadata": {"name": "web", "namespace": "shop"}}, "source": "file"}


def test_a_run_directory_without_a_node_is_no_endless_silence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["--run-dir", str(tmp_path)]) == 1
    assert capsys.readouterr().err == f"octolet tap: no node was started from {tmp_path}\n"


def test_a_pod_is_followed_by_uid_once_a_row_named_it() -> None:
    about = PodFilter("web")
    assert not about.matches(message("1", key="u1", content={"phase": "mounted"}))
    assert about.matches(message("2", key="u1", content=POD))
    assert about.matches(message("3", key="u1", content={"phase": "mounted"}))
    assert about.matches(message("4", content={"pod_uid": "u1"}))
    assert not about.matches(message("5", key="u2", content={"phase": "mounted"}))


def test_what_a_shown_message_caused_is_shown_too() -> None:
    about = PodFilter("shop/web")
    assert about.matches(message("1", key="u1", content=POD))
    assert about.matches(message("2", key="c1", content={}, cause="1"))
    assert not about.matches(message("3", key="c2", content={}, cause="0"))


def test_a_pod_of_the_same_name_in_another_namespace_is_not_shown() -> None:
    assert not PodFilter("other/web").matches(message("1", key="u1", content=POD))


def test_lines_are_short_unless_asked_otherwise() -> None:
    long = message("1", key="u1", content={"text": "x" * 500})
    assert len(to_text(long, 9.0)) < 200
    assert "x" * 500 in to_text(long, 9.0, wide=True)
    assert '"key": "u1"' in to_json(long)
