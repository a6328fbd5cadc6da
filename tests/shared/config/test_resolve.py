"""Files, drop-ins and flags become one configuration, in upstream's order."""

import json
from pathlib import Path

import pytest

from shared.config import Config
from shared.config.defaults import external_form
from shared.config.fields import leaves
from shared.config.resolve import resolve
from shared.errors import Invalid

HEAD = "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n"
ALONE = "authentication: {webhook: {enabled: false}}\nauthorization: {mode: AlwaysAllow}\n"
API = ("--kubeconfig", "/etc/kubernetes/kubelet.conf")


def config_file(folder: Path, text: str, name: str = "config.yaml") -> str:
    path = folder / name
    path.write_text(HEAD + text)
    return str(path)


def run(*argv: str) -> Config:
    return resolve(argv, hostname="Node1 ")


def test_flags_alone_keep_the_defaults_of_old_installations() -> None:
    config = run()
    assert config.get("authentication.anonymous.enabled") is True
    assert config.get("authentication.webhook.enabled") is False
    assert config.get("authorization.mode") == "AlwaysAllow"
    assert config.get("readOnlyPort") == 10255
    assert config.get("evictionHard") is None
    assert config.node_name == "node1"
    assert config.standalone


def test_a_file_brings_the_defaults_of_the_file(tmp_path: Path) -> None:
    config = run("--config", config_file(tmp_path, ""), *API)
    assert config.get("authentication.anonymous.enabled") is False
    assert config.get("authorization.mode") == "Webhook"
    assert config.get("readOnlyPort") in (0, None)
    assert config.get("evictionHard")["imagefs.inodesFree"] == "5%"
    assert not config.standalone


def test_drop_ins_alone_are_merged_onto_the_old_defaults(tmp_path: Path) -> None:
    config_file(tmp_path, "maxPods: 7\n", "10.conf")
    config = run("--config-dir", str(tmp_path))
    assert (config.get("maxPods"), config.get("readOnlyPort"), config.get("evictionHard")) == (7, 10255, None)
    assert config.origin("maxPods") == f"drop-in {tmp_path / '10.conf'}"


def test_the_order_is_default_file_drop_in_flag(tmp_path: Path) -> None:
    drop_ins = tmp_path / "d"
    drop_ins.mkdir()
    file = config_file(tmp_path, ALONE + "maxPods: 1\nport: 1\nimageGCHighThresholdPercent: 91\nhealthzPort: 1\n")
    config_file(drop_ins, "maxPods: 2\nport: 2\n", "10.conf")
    config_file(drop_ins, "maxPods: 3\n", "20.conf")
    config_file(drop_ins, "maxPods: 99\n", "30.yaml")
    config = run("--config", file, "--config-dir", str(drop_ins), "--healthz_port=4")
    assert [config.get(name) for name in ("maxPods", "port", "imageGCHighThresholdPercent", "healthzPort")] == [
        3,
        2,
        91,
        4,
    ]
    assert config.origin("maxPods") == f"drop-in {drop_ins / '20.conf'}"
    assert config.origin("imageGCHighThresholdPercent") == f"file {file}"
    assert config.origin("healthzPort") == "flag --healthz-port"
    assert config.origin("imageGCLowThresholdPercent") == "default"


def test_a_drop_in_merges_maps_by_key_replaces_lists_and_null_falls_back_to_the_default(tmp_path: Path) -> None:
    drop_ins = tmp_path / "d"
    drop_ins.mkdir()
    file = config_file(
        tmp_path,
        ALONE + "clusterDNS: [10.0.0.1, 10.0.0.2]\nsystemReserved: {cpu: 100m, memory: 1Gi}\nmaxPods: 5\n",
    )
    config_file(drop_ins, "clusterDNS: [10.0.0.9]\nsystemReserved: {cpu: 200m}\nmaxPods: null\n", "a.conf")
    config = run("--config", file, "--config-dir", str(drop_ins))
    assert config.get("clusterDNS") == ["10.0.0.9"]
    assert config.get("systemReserved") == {"cpu": "200m", "memory": "1Gi"}
    assert config.get("maxPods") == 110


def test_folders_of_drop_ins_are_walked_in_lexical_order_and_linked_folders_are_not(tmp_path: Path) -> None:
    drop_ins, elsewhere = tmp_path / "d", tmp_path / "elsewhere"
    (drop_ins / "b").mkdir(parents=True)
    elsewhere.mkdir()
    config_file(drop_ins, "maxPods: 1\n", "a.conf")
    config_file(drop_ins / "b", "maxPods: 2\n", "z.conf")
    config_file(drop_ins, "podsPerCore: 3\n", "c.conf")
    config_file(elsewhere, "maxPods: 100\n", "z.conf")
    (drop_ins / "d").symlink_to(elsewhere)
    (drop_ins / "e.conf").symlink_to(drop_ins / "c.conf")
    config = run("--config-dir", str(drop_ins))
    assert (config.get("maxPods"), config.get("podsPerCore")) == (2, 3)


def test_zero_means_unset_only_where_upstream_cannot_tell(tmp_path: Path) -> None:
    config = run("--config", config_file(tmp_path, "maxPods: 0\nhealthzPort: 0\nsyncFrequency: 0s\n"), *API)
    assert (config.get("maxPods"), config.get("healthzPort"), config.get("syncFrequency")) == (110, 0, "1m0s")
    assert run("--max-pods=0").get("maxPods") == 0


def test_an_unset_eviction_map_gets_defaults_a_partial_one_does_not_unless_it_asks_to_merge(tmp_path: Path) -> None:
    partial = "evictionHard: {memory.available: 5%}\n"
    assert run("--config", config_file(tmp_path, partial), *API).get("evictionHard") == {"memory.available": "5%"}
    merged = run("--config", config_file(tmp_path, partial + "mergeDefaultEvictionSettings: true\n"), *API)
    assert merged.get("evictionHard")["memory.available"] == "5%"
    assert merged.get("evictionHard")["nodefs.available"] == "10%"


def test_relative_paths_of_the_file_are_below_its_folder_and_those_of_drop_ins_stay(tmp_path: Path) -> None:
    drop_ins = tmp_path / "d"
    drop_ins.mkdir()
    file = config_file(tmp_path, ALONE + "staticPodPath: ./manifests\nresolvConf: ''\nvolumePluginDir: ../plugins\n")
    config_file(drop_ins, "tlsCertFile: some.crt\ntlsPrivateKeyFile: some.key\n", "a.conf")
    config = run("--config", file, "--config-dir", str(drop_ins))
    assert config.get("staticPodPath") == str(tmp_path / "manifests")
    assert config.get("volumePluginDir") == str(tmp_path.parent / "plugins")
    assert config.get("resolvConf") == ""
    assert config.get("tlsCertFile") == "some.crt"


def test_feature_gates_of_flags_win_by_key_and_those_of_the_file_stay(tmp_path: Path) -> None:
    file = config_file(tmp_path, ALONE + "featureGates: {CRIListStreaming: true, EventedPLEG: true}\n")
    config = run("--config", file, "--feature-gates", "EventedPLEG=false,MemoryQoS=0", "--feature-gates=QOSReserved=T")
    assert config.get("featureGates") == {
        "CRIListStreaming": True,
        "EventedPLEG": False,
        "MemoryQoS": False,
        "QOSReserved": True,
    }
    assert config.gates["CRIListStreaming"] is True
    assert config.gates["MemoryQoS"] is False
    assert config.gates["KubeletPSI"] is True


def test_other_maps_of_flags_replace_the_whole_map_and_add_up_among_themselves(tmp_path: Path) -> None:
    file = config_file(tmp_path, ALONE + "systemReserved: {memory: 1Gi}\n")
    config = run("--config", file, "--system-reserved=cpu=1", "--system-reserved", "pid=10", "--eviction-hard=")
    assert config.get("systemReserved") == {"cpu": "1", "pid": "10"}
    assert config.get("evictionHard") == {}
    assert config.origin("systemReserved") == "flag --system-reserved"


def test_unknown_and_repeated_fields_of_the_file_are_warnings_and_the_last_one_wins(tmp_path: Path) -> None:
    config = run("--config", config_file(tmp_path, "maxPods: 1\nmaxPods: 2\nfoo: {bar: 1}\n"), *API)
    assert config.get("maxPods") == 2
    text = "\n".join(config.warnings)
    assert 'unknown field "foo"' in text
    assert 'key "maxPods" already set in map' in text


def test_status_reports_follow_an_explicit_update_frequency(tmp_path: Path) -> None:
    config = run("--config", config_file(tmp_path, "nodeStatusUpdateFrequency: 4s\n"), *API)
    assert config.get("nodeStatusReportFrequency") == "4s"
    assert run().get("nodeStatusReportFrequency") == "5m0s"


def test_parallel_pulls_turn_serial_pulling_off(tmp_path: Path) -> None:
    config = run("--config", config_file(tmp_path, "maxParallelImagePulls: 3\n"), *API)
    assert config.get("serializeImagePulls") is False


def test_the_effective_object_with_nothing_set_is_the_complete_default_object(tmp_path: Path) -> None:
    config = run("--config", config_file(tmp_path, ""), *API)
    shown = external_form(config.values, "/pki")
    assert shown["tlsCertFile"] == "/pki/kubelet.crt"
    assert shown["memorySwap"] == {}
    assert shown["shutdownGracePeriod"] == "0s"
    assert shown["enableSystemLogQuery"] is False  # a pointer upstream, so it is shown even when false
    assert "clusterDNS" not in shown
    assert "protectKernelDefaults" not in shown
    assert "tracing" not in shown
    assert shown["authentication"]["x509"] == {}
    for field in leaves():
        if field.default not in (None, "", 0, False, [], {}) and "." not in field.path:
            assert shown[field.path] == field.default, field.path


def test_json_and_yaml_of_the_same_object_give_the_same_configuration(tmp_path: Path) -> None:
    body = {
        "maxPods": 12,
        "evictionHard": {"memory.available": "10%"},
        "cpuCFSQuotaPeriod": "10ms",
        **json.loads('{"authentication": {"webhook": {"enabled": false}}, "authorization": {"mode": "AlwaysAllow"}}'),
    }
    document = {"apiVersion": "kubelet.config.k8s.io/v1beta1", "kind": "KubeletConfiguration", **body}
    (tmp_path / "c.json").write_text(json.dumps(document))
    yaml_file = config_file(
        tmp_path,
        ALONE + "maxPods: 12\nevictionHard:\n  memory.available: 10%\ncpuCFSQuotaPeriod: 0.01s\n",
    )
    assert run("--config", str(tmp_path / "c.json")).values == run("--config", yaml_file).values


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "maxPods: many\n",
            "json: cannot unmarshal string into Go struct field KubeletConfiguration.maxPods of type int32",
        ),
        ("maxPods: true\n", "cannot unmarshal bool into Go struct field KubeletConfiguration.maxPods of type int32"),
        (
            "maxPods: 3000000000\n",
            "cannot unmarshal number 3000000000 into Go struct field KubeletConfiguration.maxPods",
        ),
        ("syncFrequency: 10\n", "json: cannot unmarshal number into Go value of type string"),
        ("syncFrequency: 1d\n", 'time: unknown unit "d" in duration "1d"'),
        (
            "clusterDNS: 1.2.3.4\n",
            "cannot unmarshal string into Go struct field KubeletConfiguration.clusterDNS of type []string",
        ),
        ("featureGates: {A: b}\n", "of type bool"),
        (
            "authentication: {webhook: {enabled: 1}}\n",
            "KubeletWebhookAuthentication.authentication.webhook.enabled of type bool",
        ),
        ("a: [\n", "error converting YAML to JSON: yaml: line"),
    ],
)
def test_wrong_types_are_told_in_the_words_of_go(tmp_path: Path, text: str, expected: str) -> None:
    file = config_file(tmp_path, text)
    with pytest.raises(Invalid) as caught:
        run("--config", file, *API)
    assert expected in str(caught.value)
    assert str(caught.value).startswith(f"failed to load kubelet config file, path: {file}, error: ")


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("", "was empty"),
        ("kind: KubeletConfiguration\n", "Object 'apiVersion' is missing in"),
        ("apiVersion: kubelet.config.k8s.io/v1beta1\n", "Object 'Kind' is missing in"),
        (
            "apiVersion: kubelet.config.k8s.io/v1\nkind: KubeletConfiguration\n",
            'no kind "KubeletConfiguration" is registered',
        ),
        ("- a\n", "cannot unmarshal into an object"),
    ],
)
def test_a_file_that_is_no_kubelet_configuration_is_refused(tmp_path: Path, content: str, expected: str) -> None:
    path = tmp_path / "c.yaml"
    path.write_text(content)
    with pytest.raises(Invalid, match=expected.replace("(", r"\(")):
        run("--config", str(path))


def test_files_that_are_not_there_are_named(tmp_path: Path) -> None:
    with pytest.raises(Invalid, match=r"failed to read kubelet config file .*/none.*no such file"):
        run("--config", str(tmp_path / "none"))
    with pytest.raises(Invalid, match="failed to walk through kubelet dropin directory"):
        run("--config-dir", str(tmp_path / "none"))


def test_the_node_name_is_the_override_in_lower_case_without_blanks() -> None:
    assert run("--hostname-override", " My-Node").node_name == "my-node"
    with pytest.raises(Invalid, match="empty hostname is invalid"):
        resolve([], hostname=" ")


def test_yaml_scalars_are_read_as_kubernetes_reads_them(tmp_path: Path) -> None:
    file = config_file(
        tmp_path, ALONE + "clusterDomain: 2001-01-01\nmaxPods: 0x10\nfailSwapOn: off\nnodeLabels: 1:30\n"
    )
    config = run("--config", file)
    assert (config.get("clusterDomain"), config.get("maxPods"), config.get("failSwapOn")) == ("2001-01-01", 16, False)
