"""Node tests say why they cannot run, and fail where they must."""

from pathlib import Path

import pytest

from deploy.runtime.containerd import Program
from tests.node import surroundings


@pytest.mark.parametrize(("ci", "outcome"), [("", pytest.skip.Exception), ("true", pytest.fail.Exception)])
def test_what_is_missing_skips_with_the_reason_but_fails_in_ci(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, ci: str, outcome: type[BaseException]
) -> None:
    monkeypatch.setenv("CI", ci)
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    with pytest.raises(outcome, match="needs root"):
        surroundings.find_runtime("1")
    monkeypatch.setattr("os.geteuid", lambda: 0)
    monkeypatch.setattr(surroundings, "NEEDED", (str(tmp_path / "absent"),))
    with pytest.raises(outcome, match=r"absent.*install-packages\.sh test"):
        surroundings.find_runtime("1")
    monkeypatch.setattr(surroundings, "NEEDED", ())
    monkeypatch.setenv("OCTOLET_PEERS", str(tmp_path))
    with pytest.raises(outcome, match=r"no containerd 2: python -m deploy\.peers containerd"):
        surroundings.find_runtime("2")


@pytest.mark.parametrize("name", ["", "Big", "a/b", "..", "x" * 40, "-a"])
def test_a_machine_has_a_name_that_fits_folders_and_namespaces(name: str) -> None:
    program = Program(Path("/bin/true"), "1.6.20")
    with pytest.raises(ValueError, match="is no name for a test machine"):
        surroundings.Surroundings(name, program)
