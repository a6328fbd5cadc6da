"""Grants over lives and boots."""

import asyncio
import errno
import os
from pathlib import Path

import pytest

from services.container_manager.admission import ledger as ledger_module
from services.container_manager.admission.ledger import Ledger
from shared.checkpoint import Checkpoint


def full_disk(*_: object) -> None:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def grant(ledger: Ledger, uid: str, *active: str) -> None:
    asyncio.run(ledger.grant(uid, {"cpu": 1}, active=active))


def test_a_grant_is_known_to_the_next_life_of_the_same_boot(tmp_path: Path) -> None:
    grant(Ledger(tmp_path / "state", "boot-1"), "a")
    assert Ledger(tmp_path / "state", "boot-1").get("a") == {"cpu": 1}
    assert Ledger(tmp_path / "state", "boot-2").get("a") is None
    assert Ledger(tmp_path / "state", "boot-2").on_their_way() == []


def test_a_grant_is_on_its_way_until_its_pod_is_shown_or_dropped(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "state", "b")
    for uid in ("a", "b"):
        grant(ledger, uid)
    assert ledger.on_their_way() == ["a", "b"]
    ledger.shown("a")
    asyncio.run(ledger.drop("b"))
    asyncio.run(ledger.drop("b"))
    assert ledger.on_their_way() == []
    assert (ledger.get("a"), ledger.get("b")) == ({"cpu": 1}, None)


def test_a_full_disk_is_told_and_grants_are_kept_in_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[str | None] = []
    ledger = Ledger(tmp_path / "state", "b", told.append)
    with monkeypatch.context() as patch:
        patch.setattr(Checkpoint, "save", full_disk)
        grant(ledger, "a")
    assert (ledger.get("a"), ledger.on_their_way()) == ({"cpu": 1}, ["a"])
    grant(ledger, "b")
    assert told == [f"write {tmp_path}/state: no space left on device", None]
    assert Ledger(tmp_path / "state", "b").get("a") == {"cpu": 1}


def test_a_pod_that_is_never_shown_stops_counting(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ledger = Ledger(tmp_path / "state", "b")
    grant(ledger, "a")
    monkeypatch.setattr(ledger_module, "ON_ITS_WAY_S", 0.0)
    assert ledger.on_their_way() == []


def test_grants_of_pods_that_are_gone_are_dropped_with_the_next_grant(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "state", "b")
    for uid in ("a", "b"):
        grant(ledger, uid)
        ledger.shown(uid)
    grant(ledger, "c", "b")
    assert [u for u in "abc" if ledger.get(u) is not None] == ["b", "c"]
    assert [u for u in "abc" if Ledger(tmp_path / "state", "b").get(u) is not None] == ["b", "c"]
