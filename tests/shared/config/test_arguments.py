"""The command line as Go's pflag reads it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.config.arguments import parse_arguments
from shared.config.fields import ROOT, leaves, snake_case
from shared.config.flags import FLAGS, Form
from shared.errors import Invalid


@pytest.mark.parametrize(
    ("words", "path", "value"),
    [
        (["--max-pods", "3"], "maxPods", 3),
        (["--max-pods=0x10"], "maxPods", 16),
        (["--max_pods=3", "--max-pods=4"], "maxPods", 4),
        (["-v", "3"], "logging.verbosity", 3),
        (["-v3"], "logging.verbosity", 3),
        (["--v=3"], "logging.verbosity", 3),
        (["--fail-swap-on"], "failSwapOn", True),
        (["--fail-swap-on=F"], "failSwapOn", False),
        (["--sync-frequency", "90s"], "syncFrequency", "1m30s"),
        (
            ["--cluster-dns=1.1.1.1,2.2.2.2", "--cluster-dns", "3.3.3.3"],
            "clusterDNS",
            ["1.1.1.1", "2.2.2.2", "3.3.3.3"],
        ),
        (
            ["--eviction-hard=memory.available<5%,pid.available<1"],
            "evictionHard",
            {"memory.available": "5%", "pid.available": "1"},
        ),
        (["--cpu-manager-policy-options", "a=b,c"], "cpuManagerPolicyOptions", {"a": "b,c"}),
        (["--manifest-url-header=a:1,a:2,b:3"], "staticPodURLHeader", {"a": ["1", "2"], "b": ["3"]}),
        (
            ["--register-with-taints=a=b:NoSchedule,c:NoExecute"],
            "registerWithTaints",
            [{"key": "a", "value": "b", "effect": "NoSchedule"}, {"key": "c", "effect": "NoExecute"}],
        ),
        (
            ["--reserved-memory", "0:memory=1Gi,hugepages-2Mi=2Mi;1:memory=2Gi"],
            "reservedMemory",
            [
                {"numaNode": 0, "limits": {"memory": "1Gi", "hugepages-2Mi": "2Mi"}},
                {"numaNode": 1, "limits": {"memory": "2Gi"}},
            ],
        ),
        (["--address", "::1"], "address", "::1"),
        (
            ["--vmodule=a*=2,b=3"],
            "logging.vmodule",
            [{"filePattern": "a*", "verbosity": 2}, {"filePattern": "b", "verbosity": 3}],
        ),
    ],
)
def test_values_have_the_forms_of_go(words: list[str], path: str, value: object) -> None:
    assert parse_arguments(words).fields == {path: value}


def test_flags_without_a_field_are_kept_by_attribute() -> None:
    arguments = parse_arguments(["--node-labels=a=b", "--node-labels", "c=d", "--root-dir=/r", "--seccomp-default"])
    assert arguments.flags == {"node_labels": {"a": "b", "c": "d"}, "root_dir": "/r", "seccomp_default": True}
    assert arguments.given == ["node-labels", "root-dir", "seccomp-default"]


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (["--none"], "failed to parse kubelet flag: unknown flag: --none"),
        (["--none=1"], "failed to parse kubelet flag: unknown flag: --none"),
        (["--max-pods"], "flag needs an argument: --max-pods"),
        (["--max-pods=x"], 'invalid argument "x" for "--max-pods" flag: strconv.ParseInt: parsing "x": invalid syntax'),
        (["--max-pods=3000000000"], "value out of range"),
        (["--fail-swap-on=no"], 'strconv.ParseBool: parsing "no": invalid syntax'),
        (["--sync-frequency=1"], 'time: missing unit in duration "1"'),
        (["--feature-gates=A"], "malformed pair, expect string=bool"),
        (["--feature-gates=A=b"], "invalid value of A: b, err: "),
        (["--eviction-hard=a=b"], "malformed pair, expect string<string"),
        (["--register-with-taints=a=b"], "invalid taint spec: a=b"),
        (["--address=host"], 'failed to parse IP: "host"'),
        (["serve"], "unknown command serve"),
        (["--", "serve"], "unknown command serve"),
        (["--network-plugin=cni"], "unknown flag: --network-plugin"),
    ],
)
def test_wrong_command_lines_are_told_in_upstreams_words(words: list[str], text: str) -> None:
    with pytest.raises(Invalid) as caught:
        parse_arguments(words)
    assert text in str(caught.value)


def test_every_flag_that_sets_a_field_sets_one_that_exists() -> None:
    paths = {field.path for field in leaves()}
    assert {flag.path for flag in FLAGS.values() if flag.path} <= paths
    assert len(FLAGS) > 120


@given(st.sampled_from(sorted(FLAGS)), st.text(max_size=30))
def test_any_text_gives_a_value_or_a_clear_refusal(name: str, text: str) -> None:
    try:
        arguments = parse_arguments([f"--{name}={text}"])
    except Invalid as error:
        assert f"--{name}" in str(error)
    else:
        assert arguments.given == [name]


def test_boolean_flags_never_take_the_next_word() -> None:
    for flag in FLAGS.values():
        if flag.form is Form.BOOL:
            with pytest.raises(Invalid, match="unknown command true"):
                parse_arguments([f"--{flag.name}", "true"])


def test_names_in_python_are_as_one_would_write_them() -> None:
    names = {field.path: snake_case(field.name) for field in leaves()}
    expected = {
        "clusterDNS": "cluster_dns",
        "staticPodURLHeader": "static_pod_url_header",
        "cpuCFSQuotaPeriod": "cpu_cfs_quota_period",
        "reservedSystemCPUs": "reserved_system_cpus",
        "imageMinimumGCAge": "image_minimum_gc_age",
        "podCIDR": "pod_cidr",
        "kubeAPIQPS": "kube_api_qps",
        "cgroupsPerQOS": "cgroups_per_qos",
        "authentication.x509.clientCAFile": "client_ca_file",
        "singleProcessOOMKill": "single_process_oom_kill",
        "makeIPTablesUtilChains": "make_iptables_util_chains",
        "failCgroupV1": "fail_cgroup_v1",
        "tlsCertFile": "tls_cert_file",
    }
    assert {path: names[path] for path in expected} == expected
    assert len(ROOT.children) > 100
