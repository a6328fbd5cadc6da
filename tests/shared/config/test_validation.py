"""Configurations that must not start, and what is said about them."""

from pathlib import Path

import pytest

from shared.config.gates import GATES, effective_gates
from shared.config.resolve import resolve
from shared.errors import Invalid

HEAD = "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n"


def refusal(*argv: str) -> str:
    with pytest.raises(Invalid) as caught:
        resolve(argv, hostname="node1")
    return str(caught.value)


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (["--port=0"], "invalid configuration: port (--port) 0 must be between 1 and 65535, inclusive"),
        (["--read-only-port=70000"], "readOnlyPort (--read-only-port) 70000 must be between 0 and 65535, inclusive"),
        (["--max-pods=-1"], "maxPods (--max-pods) -1 must not be a negative number"),
        (
            ["--image-gc-low-threshold=90"],
            "(--image-gc-low-threshold) 90 must be less than imageGCHighThresholdPercent",
        ),
        (["--oom-score-adj=-1001"], "oomScoreAdj (--oom-score-adj) -1001 must be between -1000 and 1000, inclusive"),
        (["--cpu-cfs-quota-period=2s"], "must be between 1ms and 1sec, inclusive"),
        (
            ["--topology-manager-policy=some"],
            'option "some" specified for topologyManagerPolicy (--topology-manager-policy)',
        ),
        (["--runonce"], "runOnce (--runOnce) true, Runonce mode has been deprecated and should not be set"),
        (["--container-log-max-files=1"], "containerLogMaxFiles (--container-log-max-files) 1 must be greater than 1"),
        (["--system-reserved=gpu=1"], 'systemReserved: cannot reserve "gpu" resource'),
        (["--kube-reserved=cpu=-1"], "cannot be negative: -1"),
        (["--enforce-node-allocatable=none,pods"], 'may not contain additional enforcements when "none" is specified'),
        (
            ["--enforce-node-allocatable=pods,system-reserved"],
            "systemReservedCgroup (--system-reserved-cgroup) must be specified",
        ),
        (["--eviction-hard=disk<5%"], "unsupported eviction signal disk"),
        (["--eviction-hard=memory.available<x"], '"x" of memory.available is neither a quantity nor a percentage'),
        (["--eviction-soft=memory.available<5%"], "grace period must be specified for the soft eviction threshold"),
        (["--reserved-cpus=a"], "unable to parse reservedSystemCPUs (--reserved-cpus) a"),
        (["--authorization-mode=None"], "unknown authorization mode None"),
        (["--node-ip=1.2.3"], 'bad --node-ip "1.2.3": "1.2.3" is not a valid IP address'),
        (["--node-ip=10.0.0.1,10.0.0.2"], "must contain either a single IP or a dual-stack pair of IPs"),
        (
            ["--container-runtime-endpoint=http://x"],
            'containerRuntimeEndpoint (--container-runtime-endpoint) "http://x": only unix socket endpoints are supported',
        ),
        (
            ["--container-log-max-size=huge"],
            'containerLogMaxSize (--container-log-max-size) "huge" is not a quantity greater than 0',
        ),
        (["--tls-min-version=1.2"], 'unknown tls version "1.2"'),
        (["--hairpin-mode=x"], 'option "x" specified for hairpinMode (--hairpin-mode). Valid options are '),
        (["--cloud-provider=aws"], "built-in cloud providers are disabled"),
        (["--exit-on-lock-contention"], "cannot exit on lock file contention: no lock file specified"),
        (["--authorization-mode=Webhook"], "no client provided, cannot use webhook authorization"),
        (["--authentication-token-webhook"], "no client provided, cannot use webhook authentication"),
        (
            ["--feature-gates=Nope=true"],
            "failed to set feature gates from initial flags-based config: unrecognized feature gate: Nope",
        ),
        (
            ["--feature-gates=KubeletPSI=false"],
            "cannot set feature gate KubeletPSI to false, feature is locked to true",
        ),
        (
            ["--node-labels=kubernetes.io/role=x"],
            "unknown 'kubernetes.io' or 'k8s.io' labels specified with --node-labels: [kubernetes.io/role]",
        ),
        (["--node-labels=-a=x"], "invalid node labels: '-a' - name part must consist of"),
        (["--sync-frequency=0s"], "invalid sync frequency"),
    ],
)
def test_a_wrong_value_is_told_with_its_field_and_flag(words: list[str], text: str) -> None:
    assert text in refusal(*words)


def test_all_violations_are_told_together() -> None:
    text = refusal("--port=0", "--max-pods=-1", "--oom-score-adj=2000")
    assert text.startswith("failed to validate kubelet configuration, error: [invalid configuration: port")
    assert "maxPods" in text
    assert "oomScoreAdj" in text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("shutdownGracePeriodCriticalPods: 5s", "shutdownGracePeriodCriticalPods 5s must be <= shutdownGracePeriod 0s"),
        ("shutdownGracePeriod: 10ms", "shutdownGracePeriod 10ms must be either zero or otherwise >= 1 sec"),
        ("containerLogMonitorInterval: 1s", "containerLogMonitorInterval must be a positive time duration"),
        ("podLogsDir: /var//log", "must be normalized"),
        ("podLogsDir: /var/log/", "must be normalized"),
        ("userNamespaces: {idsPerPod: 100}", "userNamespaces.idsPerPod 100 must be a multiple of 65536"),
        (
            "tracing: {samplingRatePerMillion: 2000000}",
            "sampling rate per million must be less than or equal to one million",
        ),
        (
            "enableSystemLogHandler: false\nenableSystemLogQuery: true",
            "enableSystemLogHandler is required for enableSystemLogQuery",
        ),
        ("memorySwap: {swapBehavior: Some}", 'option "Some" specified for memorySwap.swapBehavior'),
        ("imageMaximumGCAge: 1m", "imageMaximumGCAge 1m0s must be greater than imageMinimumGCAge"),
        ("maxParallelImagePulls: 2\nserializeImagePulls: true", "maxParallelImagePulls cannot be larger than 1 unless"),
        ("featureGates: {Nope: true}", "unrecognized feature gate: Nope"),
        ("reservedMemory: [{numaNode: 0, limits: {cpu: 1}}]", 'the limit type "cpu" for NUMA node 0 is not allowed'),
        ("crashLoopBackOff: {maxContainerRestartPeriod: 10m}", "must be set between 1s and 300s"),
    ],
)
def test_wrong_values_of_files_are_told_too(tmp_path: Path, text: str, expected: str) -> None:
    path = tmp_path / "c.yaml"
    path.write_text(HEAD + text + "\n")
    assert expected in refusal("--config", str(path), "--kubeconfig", "/k")


@pytest.mark.parametrize(
    "labels",
    [
        "node-role=x",
        "example.com/a=b",
        "node.kubernetes.io/x=y",
        "a.kubelet.kubernetes.io/x=y",
        "kubernetes.io/os=linux",
    ],
)
def test_allowed_labels_are_allowed(labels: str) -> None:
    assert resolve([f"--node-labels={labels}"], hostname="n").flags["node_labels"]


def test_whole_stages_can_be_switched_and_explicit_choices_win() -> None:
    gates = effective_gates({"AllAlpha": True, "EventedPLEG": False, "AllBeta": False, "MemoryQoS": True})
    alphas = [name for name, gate in GATES.items() if gate.stage == "ALPHA" and gate.on_node and name != "AllAlpha"]
    assert len(alphas) > 20
    assert all(gates[name] for name in alphas if name != "EventedPLEG")
    assert gates["EventedPLEG"] is False
    assert gates["GracefulNodeShutdown"] is False
    assert gates["MemoryQoS"] is True
    assert gates["KubeletPSI"] is True


@pytest.mark.parametrize(
    ("line", "text"),
    [
        ("address: '1.2'", 'invalid configuration: address (--address) "1.2" is not a valid IP address'),
        ("healthzBindAddress: here", '(--healthz-bind-address) "here" is not a valid IP address'),
        ("syncFrequency: soon", 'time: invalid duration "soon" (syncFrequency)'),
        ("containerRuntimeEndpoint: unix:run/x.sock", "only unix socket endpoints are supported"),
    ],
)
def test_a_value_that_a_daemon_could_not_use_is_named_before_it_starts(tmp_path: Path, line: str, text: str) -> None:
    path = tmp_path / "config.yaml"
    path.write_text(f"{HEAD}{line}\n")
    assert text in refusal(f"--config={path}")
