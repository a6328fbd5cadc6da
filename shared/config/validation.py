"""What is wrong with a configuration: every violation is collected, then reported together in upstream's words.

Rules and texts: upstream `kubelet/apis/config/validation`, and the checks that upstream makes while it starts.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from shared.config.flags import flag_of
from shared.config.model import get_path
from shared.config.validation_flags import validate_node_labels
from shared.config.validation_reserved import check_enforcement, check_evictions, check_reserved
from shared.config.validation_syntax import check_node_ip, check_syntax
from shared.errors import Invalid
from shared.kube.duration import parse_go_duration

Values = Mapping[str, Any]
Gates = Mapping[str, bool]

_PREFIX: Final = "invalid configuration: "

_RANGES: Final[dict[str, tuple[float, float, str]]] = {
    "port": (1, 65535, "be between 1 and 65535, inclusive"),
    "readOnlyPort": (0, 65535, "be between 0 and 65535, inclusive"),
    "healthzPort": (0, 65535, "be between 1 and 65535, inclusive"),
    "imageGCHighThresholdPercent": (0, 100, "be between 0 and 100, inclusive"),
    "imageGCLowThresholdPercent": (0, 100, "be between 0 and 100, inclusive"),
    "iptablesMasqueradeBit": (0, 31, "be between 0 and 31, inclusive"),
    "iptablesDropBit": (0, 31, "be between 0 and 31, inclusive"),
    "oomScoreAdj": (-1000, 1000, "be between -1000 and 1000, inclusive"),
    "nodeStatusMaxImages": (-1, float("inf"), "be -1 or greater"),
}
_NOT_NEGATIVE: Final = (
    "registryPullQPS",
    "registryBurst",
    "eventRecordQPS",
    "eventBurst",
    "maxPods",
    "maxOpenFiles",
    "kubeAPIQPS",
    "kubeAPIBurst",
    "podsPerCore",
    "imageMinimumGCAge",
    "imageMaximumGCAge",
)
_CHOICES: Final[dict[str, tuple[str, ...]]] = {
    "hairpinMode": ("hairpin-veth", "none", "promiscuous-bridge"),
    "cpuManagerPolicy": ("none", "static"),
    "memoryManagerPolicy": ("None", "Static"),
    "topologyManagerPolicy": ("none", "best-effort", "restricted", "single-numa-node"),
    "topologyManagerScope": ("container", "pod"),
    "memoryReservationPolicy": ("None", "TieredReservation"),
    "configMapAndSecretChangeDetectionStrategy": ("Get", "Cache", "Watch"),
    "cgroupDriver": ("cgroupfs", "systemd"),
    "memorySwap.swapBehavior": ("", "NoSwap", "LimitedSwap"),
    "imagePullCredentialsVerificationPolicy": (
        "NeverVerify",
        "NeverVerifyPreloadedImages",
        "NeverVerifyAllowlistedImages",
        "AlwaysVerify",
    ),
}
_TLS_VERSIONS: Final = ("", "VersionTLS10", "VersionTLS11", "VersionTLS12", "VersionTLS13")


def validate_flags(flags: Values) -> None:
    """Flags without a configuration field. Raises Invalid."""
    errors = [*validate_node_labels(flags["node_labels"] or {}), *check_node_ip(flags["node_ip"] or "")]
    if errors:
        raise Invalid(f"failed to validate kubelet flags: {'; '.join(errors)}")
    provider = flags["cloud_provider"]
    if provider not in ("", "external"):
        raise Invalid(
            f'cloud provider "{provider}" was specified, but built-in cloud providers are disabled. Please set '
            "--cloud-provider=external and migrate to an external cloud provider"
        )
    if flags["exit_on_lock_contention"] and not flags["lock_file"]:
        raise Invalid("cannot exit on lock file contention: no lock file specified")


def validate_configuration(values: Values, gates: Gates, *, standalone: bool) -> None:
    """The effective object. Raises Invalid naming all violations."""
    errors = [text for rule in _RULES for text in rule(values, gates)]
    if errors:
        text = errors[0] if len(errors) == 1 else f"[{', '.join(errors)}]"
        raise Invalid(f"failed to validate kubelet configuration, error: {text}")
    if float(parse_go_duration(values["syncFrequency"])) <= 0:
        raise Invalid(f"invalid sync frequency {values['syncFrequency']}")
    if standalone:
        _require_no_api(values)


def _require_no_api(values: Values) -> None:
    if get_path(values, "authentication.webhook.enabled"):
        raise Invalid("no client provided, cannot use webhook authentication")
    if get_path(values, "authorization.mode") == "Webhook":
        raise Invalid("no client provided, cannot use webhook authorization")


def named(path: str) -> str:
    """A field as upstream's texts name it: with its flag, if it has one."""
    flag = flag_of(path)
    return f"{path} ({flag})" if flag else path


def _number(value: Any) -> float:
    return parse_go_duration(value) if isinstance(value, str) else float(value)


def _check_ranges(values: Values, gates: Gates) -> Iterator[str]:
    for path, (low, high, text) in _RANGES.items():
        value = values.get(path)
        if value is not None and not low <= value <= high:
            yield f"{_PREFIX}{named(path)} {value} must {text}"
    for path in _NOT_NEGATIVE:
        value = values.get(path)
        if value is not None and _number(value) < 0:
            yield f"{_PREFIX}{named(path)} {value} must not be a negative number"
    if values["nodeLeaseDurationSeconds"] <= 0:
        yield f"{_PREFIX}nodeLeaseDurationSeconds must be greater than 0"
    if not 0.001 <= parse_go_duration(values["cpuCFSQuotaPeriod"]) <= 1:
        yield (
            f"{_PREFIX}{named('cpuCFSQuotaPeriod')} {values['cpuCFSQuotaPeriod']} must be between 1ms and 1sec, "
            "inclusive"
        )


def _check_choices(values: Values, gates: Gates) -> Iterator[str]:
    for path, choices in _CHOICES.items():
        value = get_path(values, path)
        if value is not None and value not in choices:
            listed = ", ".join(f'"{choice}"' for choice in choices)
            yield f'{_PREFIX}option "{value}" specified for {named(path)}. Valid options are {listed}'
    mode = get_path(values, "authorization.mode")
    if not mode:
        yield "no authorization mode specified"
    elif mode not in ("AlwaysAllow", "Webhook"):
        yield f"unknown authorization mode {mode}"
    if values.get("tlsMinVersion", "") not in _TLS_VERSIONS:
        yield f'unknown tls version "{values["tlsMinVersion"]}"'


def _check_images(values: Values, gates: Gates) -> Iterator[str]:
    high, low = values["imageGCHighThresholdPercent"], values["imageGCLowThresholdPercent"]
    if low >= high:
        yield (
            f"{_PREFIX}{named('imageGCLowThresholdPercent')} {low} must be less than "
            f"{named('imageGCHighThresholdPercent')} {high}"
        )
    longest = parse_go_duration(values["imageMaximumGCAge"])
    if 0 < longest <= parse_go_duration(values["imageMinimumGCAge"]):
        yield (
            f"{_PREFIX}imageMaximumGCAge {values['imageMaximumGCAge']} must be greater than "
            f"{named('imageMinimumGCAge')} {values['imageMinimumGCAge']}"
        )
    parallel = values.get("maxParallelImagePulls")
    if parallel is not None and parallel < 1:
        yield f"{_PREFIX}maxParallelImagePulls {parallel} must be a positive number"
    if parallel is not None and parallel > 1 and values["serializeImagePulls"]:
        yield (
            f"{_PREFIX}maxParallelImagePulls cannot be larger than 1 unless SerializeImagePulls "
            "(--serialize-image-pulls) set to false"
        )
    if values.get("imagePullCredentialsVerificationPolicy") and not gates["KubeletEnsureSecretPulledImages"]:
        yield f"{_PREFIX}imagePullCredentialsVerificationPolicy requires feature gate KubeletEnsureSecretPulledImages"


def _check_logs(values: Values, gates: Gates) -> Iterator[str]:
    logs = values["podLogsDir"]
    if not logs:
        yield f"{_PREFIX}podLogsDir was not specified"
    elif not logs.startswith("/"):
        yield f'{_PREFIX}pod logs path "{logs}" must be absolute path'
    elif re.search(r"//|/\.{1,2}(/|$)|.+/$", logs):
        yield f'{_PREFIX}pod logs path "{logs}" must be normalized'
    elif not logs.isascii():
        yield f'{_PREFIX}pod logs path "{logs}" mut contains ASCII characters only'
    if values["containerLogMaxFiles"] <= 1:
        yield f"{_PREFIX}{named('containerLogMaxFiles')} {values['containerLogMaxFiles']} must be greater than 1"
    if values["containerLogMaxWorkers"] < 1:
        yield f"{_PREFIX}containerLogMaxWorkers must be greater than or equal to 1"
    if parse_go_duration(values["containerLogMonitorInterval"]) < 3:
        yield f"{_PREFIX}containerLogMonitorInterval must be a positive time duration greater than or equal to 3s"
    if get_path(values, "logging.format") not in ("text", "json"):
        yield f'{_PREFIX}logging.format: Invalid value: "{get_path(values, "logging.format")}": Unsupported log format'
    if parse_go_duration(get_path(values, "logging.flushFrequency")) <= 0:
        yield f"{_PREFIX}logging.flushFrequency: Must be greater than zero"


def _check_shutdown(values: Values, gates: Gates) -> Iterator[str]:
    whole, critical = values["shutdownGracePeriod"], values["shutdownGracePeriodCriticalPods"]
    if parse_go_duration(critical) > parse_go_duration(whole):
        yield f"{_PREFIX}shutdownGracePeriodCriticalPods {critical} must be <= shutdownGracePeriod {whole}"
    for name, value in (("shutdownGracePeriod", whole), ("shutdownGracePeriodCriticalPods", critical)):
        seconds = parse_go_duration(value)
        if seconds < 0 or 0 < seconds < 1:
            yield f"{_PREFIX}{name} {value} must be either zero or otherwise >= 1 sec"
    if values.get("shutdownGracePeriodByPodPriority") and (parse_go_duration(whole) or parse_go_duration(critical)):
        yield (
            f"{_PREFIX}Cannot specify both shutdownGracePeriodByPodPriority and shutdownGracePeriod or "
            "shutdownGracePeriodCriticalPods at the same time"
        )


def _check_others(values: Values, gates: Gates) -> Iterator[str]:
    if values.get("systemCgroups") and not values.get("cgroupRoot"):
        yield f"{_PREFIX}{named('systemCgroups')} was specified and {named('cgroupRoot')} was not specified"
    if values.get("runOnce"):
        yield f"{_PREFIX}runOnce (--runOnce) true, Runonce mode has been deprecated and should not be set"
    if not values.get("containerRuntimeEndpoint"):
        yield f"{_PREFIX}the containerRuntimeEndpoint was not specified or empty"
    if values.get("serverTLSBootstrap") and not gates["RotateKubeletServerCertificate"]:
        yield f"{_PREFIX}serverTLSBootstrap true requires feature gate RotateKubeletServerCertificate"
    if values.get("enableSystemLogQuery") and not values["enableSystemLogHandler"]:
        yield f"{_PREFIX}enableSystemLogHandler is required for enableSystemLogQuery"
    factor = values.get("memoryThrottlingFactor")
    if factor is not None and not 0 < factor <= 1:
        yield f"{_PREFIX}memoryThrottlingFactor {factor} must be greater than 0 and less than or equal to 1.0"
    if values.get("memoryReservationPolicy") == "TieredReservation" and not gates["MemoryQoS"]:
        yield f"{_PREFIX}memoryReservationPolicy TieredReservation requires feature gate MemoryQoS"
    if values.get("qosReserved") and not gates["QOSReserved"]:
        yield f"{_PREFIX}{named('qosReserved')} requires feature gate QOSReserved"
    backoff = get_path(values, "crashLoopBackOff.maxContainerRestartPeriod")
    if backoff is not None and not 1 <= parse_go_duration(backoff) <= 300:
        yield f"{_PREFIX}crashLoopBackOff.maxContainerRestartPeriod {backoff} must be set between 1s and 300s"
    if get_path(values, "crashLoopBackOff.maxContainerRestartPeriod") and not gates["KubeletCrashLoopBackOffMax"]:
        yield f"{_PREFIX}crashLoopBackOff.maxContainerRestartPeriod requires feature gate KubeletCrashLoopBackOffMax"
    for taint in values.get("registerWithTaints") or []:
        if taint.get("timeAdded") or not taint.get("key") or not taint.get("effect"):
            yield f"invalid taint: {taint}"
    yield from _check_tracing(values)
    yield from _check_user_namespaces(values)


def _check_tracing(values: Values) -> Iterator[str]:
    rate = get_path(values, "tracing.samplingRatePerMillion")
    if rate is not None and rate < 0:
        yield f"{_PREFIX}tracing.samplingRatePerMillion: sampling rate must be positive"
    if rate is not None and rate > 1_000_000:
        yield (
            f"{_PREFIX}tracing.samplingRatePerMillion: sampling rate per million must be less than or equal to "
            "one million"
        )
    scheme, found, _ = (get_path(values, "tracing.endpoint") or "").partition("://")
    if found and scheme not in ("none", "dns", "unix", "unix-abstract"):
        yield f"{_PREFIX}tracing.endpoint: unsupported scheme: {scheme}. Options are none, dns, unix, or unix-abstract"


def _check_user_namespaces(values: Values) -> Iterator[str]:
    ids = get_path(values, "userNamespaces.idsPerPod")
    if ids is not None and (ids < 65536 or ids % 65536 or ids > 2**32):
        yield f"{_PREFIX}userNamespaces.idsPerPod {ids} must be a multiple of 65536 and at most 4294967296"


_RULES: Final[tuple[Callable[[Values, Gates], Iterator[str]], ...]] = (
    _check_ranges,
    _check_choices,
    _check_images,
    _check_logs,
    _check_shutdown,
    check_reserved,
    check_enforcement,
    check_evictions,
    check_syntax,
    _check_others,
)
