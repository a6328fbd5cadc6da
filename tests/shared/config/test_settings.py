"""Each daemon gets what its settings class declares."""

from pathlib import Path

import msgspec
import pytest

from shared.config.fields import Kind, leaves, snake_case
from shared.config.resolve import resolve
from shared.config.settings import derive, names, settings_class, unused, write_settings
from shared.errors import Invalid
from shared.messages.base import Service
from shared.service.settings import read_settings

HEAD = "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n"
STANDALONE = "authentication: {webhook: {enabled: false}}\nauthorization: {mode: AlwaysAllow}\n"


def with_file(folder: Path, text: str, *argv: str) -> list[str]:
    path = folder / "config.yaml"
    path.write_text(HEAD + STANDALONE + text)
    return ["--config", str(path), *argv]


@pytest.mark.parametrize("daemon", list(Service))
def test_every_daemon_reads_back_exactly_what_was_written_for_it(tmp_path: Path, daemon: Service) -> None:
    config = resolve(with_file(tmp_path, "maxPods: 17\n", "--root-dir=/r", "--node-ip=10.1.1.1"), hostname="node1")
    write_settings(config, tmp_path, [daemon])
    path = tmp_path / "settings" / f"{daemon}.json"
    assert path.stat().st_mode & 0o777 == 0o600
    assert read_settings(path, settings_class(daemon), required=True) == derive(config, daemon)


@pytest.mark.parametrize("daemon", list(Service))
def test_a_default_start_gives_every_daemon_the_defaults_that_it_declares(daemon: Service) -> None:
    """The defaults in the code are the configuration's, so that a daemon started alone behaves the same."""
    legacy = {"authentication", "authorization", "read_only_port", "anonymous_enabled", "enabled", "mode"}
    legacy |= {"eviction_hard"}  # only a --config file brings hard eviction thresholds
    derived = {"node_name", "cgroup_root", "feature_gates", "standalone", "kubelet_configuration"}
    config = resolve([], hostname="node1")
    kind = settings_class(daemon)
    given, plain = derive(config, daemon), kind()
    differing = {
        field.name: (getattr(plain, field.name), getattr(given, field.name))
        for field in msgspec.structs.fields(kind)
        if field.name not in legacy | derived and getattr(given, field.name) != getattr(plain, field.name)
    }
    assert differing == {}


@pytest.mark.parametrize("daemon", list(Service))
def test_no_declared_field_misses_its_configuration_field_by_a_letter(daemon: Service) -> None:
    known = names(resolve([], hostname="node1"))
    durations = {snake_case(field.name) for field in leaves() if field.type.kind is Kind.DURATION}
    for field in msgspec.structs.fields(settings_class(daemon)):
        if field.name not in known:
            assert field.name not in durations, f"{field.name} needs the suffix _s"
            close = {name for name in known if name.replace("_", "") == field.name.replace("_", "")}
            assert not close, f"{daemon}.{field.name} is spelt {close} in the configuration"


def test_durations_are_seconds_and_nested_fields_have_long_and_short_names(tmp_path: Path) -> None:
    text = (
        "syncFrequency: 90s\ncrashLoopBackOff: {maxContainerRestartPeriod: 20s}\nmemorySwap: {swapBehavior: NoSwap}\n"
    )
    known = names(resolve(with_file(tmp_path, text), hostname="node1"))
    assert known["sync_frequency_s"].value == 90
    assert known["max_container_restart_period_s"].value == 20
    assert known["crash_loop_back_off_max_container_restart_period_s"].value == 20
    assert known["memory_swap_swap_behavior"].value == known["swap_behavior"].value == "NoSwap"
    assert known["memory_swap"].value == {"swapBehavior": "NoSwap"}
    assert known["runtime_endpoint"].value == "unix:///run/containerd/containerd.sock"
    assert known["node_name"].value == "node1"


def test_a_value_that_does_not_fit_the_declared_type_names_field_and_daemon(monkeypatch: pytest.MonkeyPatch) -> None:
    class Picky(msgspec.Struct):
        max_pods: str = ""

    monkeypatch.setattr("shared.config.settings.settings_class", lambda daemon: Picky)
    with pytest.raises(Invalid, match=r"maxPods for pleg \(max_pods\)"):
        derive(resolve([], hostname="n"), "pleg")


def test_only_what_the_user_set_and_nobody_uses_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Small(msgspec.Struct):
        max_pods: int = 110
        authentication: dict[str, object] = {}
        root_dir: str = ""

    monkeypatch.setattr("shared.config.settings.settings_class", lambda daemon: Small)
    text = "maxPods: 3\nkernelMemcgNotification: true\nhairpinMode: none\nmaxOpenFiles: 5\nsyncFrequency: 60s\n"
    config = resolve(with_file(tmp_path, text, "--root-dir=/r", "--runtime-cgroups=/x"), hostname="n")
    assert unused(config, ["pleg"]) == [
        "--runtime_cgroups",
        "authorization.mode",
        "kernelMemcgNotification",
    ]
