"""Every field of `KubeletConfiguration` (apiVersion `kubelet.config.k8s.io/v1beta1`), its Go type and its default.

The table is data: path, Go type, default as JSON (`-`: unset). `a[].b` is field b of the elements of list a. In the Go
type a leading `*` marks a field in which "unset" differs from zero: only such a field can be set to zero in a file when
its default is something else (upstream drops zero values before it applies defaults).
"""

import json
import re
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final

API_VERSION: Final = "kubelet.config.k8s.io/v1beta1"
KIND: Final = "KubeletConfiguration"

_TABLE: Final = """
enableServer *bool true
staticPodPath string ""
podLogsDir string "/var/log/pods"
syncFrequency metav1.Duration "1m0s"
fileCheckFrequency metav1.Duration "20s"
httpCheckFrequency metav1.Duration "20s"
staticPodURL string ""
staticPodURLHeader map[string][]string -
address string "0.0.0.0"
port int32 10250
readOnlyPort int32 0
tlsCertFile string ""
tlsPrivateKeyFile string ""
tlsCipherSuites []string -
tlsCurvePreferences []int32 -
tlsMinVersion string ""
rotateCertificates bool false
serverTLSBootstrap bool false
authentication KubeletAuthentication {}
authentication.x509 KubeletX509Authentication {}
authentication.x509.clientCAFile string ""
authentication.webhook KubeletWebhookAuthentication {}
authentication.webhook.enabled *bool true
authentication.webhook.cacheTTL metav1.Duration "2m0s"
authentication.anonymous KubeletAnonymousAuthentication {}
authentication.anonymous.enabled *bool false
authorization KubeletAuthorization {}
authorization.mode KubeletAuthorizationMode "Webhook"
authorization.webhook KubeletWebhookAuthorization {}
authorization.webhook.cacheAuthorizedTTL metav1.Duration "5m0s"
authorization.webhook.cacheUnauthorizedTTL metav1.Duration "30s"
registryPullQPS *int32 5
registryBurst int32 10
imagePullCredentialsVerificationPolicy ImagePullCredentialsVerificationPolicy "NeverVerifyPreloadedImages"
preloadedImagesVerificationAllowlist []string -
eventRecordQPS *int32 50
eventBurst int32 100
enableDebuggingHandlers *bool true
enableContentionProfiling bool false
healthzPort *int32 10248
healthzBindAddress string "127.0.0.1"
oomScoreAdj *int32 -999
clusterDomain string ""
clusterDNS []string -
streamingConnectionIdleTimeout metav1.Duration "4h0m0s"
nodeStatusUpdateFrequency metav1.Duration "10s"
nodeStatusReportFrequency metav1.Duration "5m0s"
nodeLeaseDurationSeconds int32 40
imageMinimumGCAge metav1.Duration "2m0s"
imageMaximumGCAge metav1.Duration "0s"
imageGCHighThresholdPercent *int32 85
imageGCLowThresholdPercent *int32 80
volumeStatsAggPeriod metav1.Duration "1m0s"
kubeletCgroups string ""
systemCgroups string ""
cgroupRoot string ""
cgroupsPerQOS *bool true
cgroupDriver string "cgroupfs"
cpuManagerPolicy string "none"
singleProcessOOMKill *bool -
cpuManagerPolicyOptions map[string]string -
cpuManagerReconcilePeriod metav1.Duration "10s"
memoryManagerPolicy string "None"
topologyManagerPolicy string "none"
topologyManagerScope string "container"
topologyManagerPolicyOptions map[string]string -
qosReserved map[string]string -
runtimeRequestTimeout metav1.Duration "2m0s"
hairpinMode string "promiscuous-bridge"
maxPods int32 110
podCIDR string ""
podPidsLimit *int64 -1
resolvConf *string "/etc/resolv.conf"
runOnce bool false
cpuCFSQuota *bool true
cpuCFSQuotaPeriod *metav1.Duration "100ms"
nodeStatusMaxImages *int32 50
maxOpenFiles int64 1000000
contentType string "application/vnd.kubernetes.protobuf"
kubeAPIQPS *int32 50
kubeAPIBurst int32 100
serializeImagePulls *bool true
maxParallelImagePulls *int32 -
evictionHard map[string]string {"memory.available":"100Mi","nodefs.available":"10%","nodefs.inodesFree":"5%",\
"imagefs.available":"15%","imagefs.inodesFree":"5%"}
evictionSoft map[string]string -
evictionSoftGracePeriod map[string]string -
evictionPressureTransitionPeriod metav1.Duration "5m0s"
evictionMaxPodGracePeriod int32 0
evictionMinimumReclaim map[string]string -
mergeDefaultEvictionSettings *bool false
podsPerCore int32 0
enableControllerAttachDetach *bool true
protectKernelDefaults bool false
makeIPTablesUtilChains *bool true
iptablesMasqueradeBit *int32 14
iptablesDropBit *int32 15
featureGates map[string]bool -
failSwapOn *bool true
memorySwap MemorySwapConfiguration {}
memorySwap.swapBehavior string ""
containerLogMaxSize string "10Mi"
containerLogMaxFiles *int32 5
containerLogMaxWorkers *int32 1
containerLogMonitorInterval *metav1.Duration "10s"
configMapAndSecretChangeDetectionStrategy ResourceChangeDetectionStrategy "Watch"
systemReserved map[string]string -
kubeReserved map[string]string -
reservedSystemCPUs string ""
showHiddenMetricsForVersion string ""
systemReservedCgroup string ""
kubeReservedCgroup string ""
enforceNodeAllocatable []string ["pods"]
allowedUnsafeSysctls []string -
defaultPodSysctls map[string]string -
volumePluginDir string "/usr/libexec/kubernetes/kubelet-plugins/volume/exec/"
providerID string ""
kernelMemcgNotification bool false
logging logsapi.LoggingConfiguration {}
logging.format string "text"
logging.flushFrequency TimeOrMetaDuration "5s"
logging.verbosity uint32 0
logging.vmodule []VModuleItem -
logging.options.text.splitStream bool false
logging.options.text.infoBufferSize resource.QuantityValue "0"
logging.options.json.splitStream bool false
logging.options.json.infoBufferSize resource.QuantityValue "0"
enableSystemLogHandler *bool true
enableSystemLogQuery *bool false
shutdownGracePeriod metav1.Duration "0s"
shutdownGracePeriodCriticalPods metav1.Duration "0s"
shutdownGracePeriodByPodPriority []ShutdownGracePeriodByPodPriority -
shutdownGracePeriodByPodPriority[].priority int32 -
shutdownGracePeriodByPodPriority[].shutdownGracePeriodSeconds int64 -
crashLoopBackOff CrashLoopBackOffConfig {}
crashLoopBackOff.maxContainerRestartPeriod *metav1.Duration "5m0s"
reservedMemory []MemoryReservation -
reservedMemory[].numaNode int32 -
reservedMemory[].limits v1.ResourceList -
enableProfilingHandler *bool true
enableDebugFlagsHandler *bool true
seccompDefault *bool false
memoryThrottlingFactor *float64 -
memoryReservationPolicy MemoryReservationPolicy "None"
registerWithTaints []v1.Taint -
registerNode *bool true
tracing *tracingapi.TracingConfiguration -
tracing.endpoint *string -
tracing.samplingRatePerMillion *int32 -
localStorageCapacityIsolation *bool true
containerRuntimeEndpoint string "unix:///run/containerd/containerd.sock"
imageServiceEndpoint string ""
failCgroupV1 *bool true
userNamespaces *UserNamespaces -
userNamespaces.idsPerPod *int64 -
logging.vmodule[].filePattern string -
logging.vmodule[].verbosity uint32 -
registerWithTaints[].key string -
registerWithTaints[].value string -
registerWithTaints[].effect TaintEffect -
registerWithTaints[].timeAdded *metav1.Time -
logging.options logsapi.FormatOptions {}
logging.options.text logsapi.TextOptions {}
logging.options.json logsapi.JSONOptions {}
"""


class Kind(StrEnum):
    """What a value looks like in JSON."""

    BOOLEAN = "boolean"
    INTEGER = "integer"
    NUMBER = "number"
    STRING = "string"
    DURATION = "duration"
    QUANTITY = "quantity"
    STRUCT = "struct"
    LIST = "list"
    MAP = "map"


_SCALARS: Final = {
    "bool": Kind.BOOLEAN,
    "int32": Kind.INTEGER,
    "int64": Kind.INTEGER,
    "uint32": Kind.INTEGER,
    "float64": Kind.NUMBER,
    "metav1.Duration": Kind.DURATION,
    "TimeOrMetaDuration": Kind.DURATION,
    "resource.QuantityValue": Kind.QUANTITY,
    "resource.Quantity": Kind.QUANTITY,
}
_STRINGS: Final = frozenset(
    {
        "string",
        "metav1.Time",
        "TaintEffect",
        "ImagePullCredentialsVerificationPolicy",
        "KubeletAuthorizationMode",
        "MemoryReservationPolicy",
        "ResourceChangeDetectionStrategy",
    }
)


@dataclass(frozen=True)
class Type:
    """A Go type: `element` is set for lists and maps, `go` is its name without the pointer mark."""

    go: str
    kind: Kind
    pointer: bool = False
    element: "Type | None" = None


@dataclass(frozen=True)
class Field:
    """One field; `path` is dotted from the root. `children` are the fields of a struct, or of a list's elements."""

    path: str
    type: Type
    default: Any = None
    children: dict[str, "Field"] = field(default_factory=dict)

    @property
    def name(self) -> str:
        return self.path.rpartition(".")[2].removesuffix("[]")


def parse_type(go: str) -> Type:
    """The shape of a Go type as the table writes it."""
    if go.startswith("*"):
        inner = parse_type(go[1:])
        return Type(inner.go, inner.kind, pointer=True, element=inner.element)
    if go.startswith("[]"):
        return Type(go, Kind.LIST, element=parse_type(go[2:]))
    if go == "v1.ResourceList":
        return Type(go, Kind.MAP, element=parse_type("resource.Quantity"))
    if go.startswith("map[string]"):
        return Type(go, Kind.MAP, element=parse_type(go.removeprefix("map[string]")))
    if go in _SCALARS:
        return Type(go, _SCALARS[go])
    return Type(go, Kind.STRING if go in _STRINGS else Kind.STRUCT)


def _read_table() -> Field:
    root = Field("", Type(KIND, Kind.STRUCT))
    rows = [line.split(" ", 2) for line in _TABLE.strip().splitlines()]
    for path, go, default in sorted(rows, key=lambda row: row[0].count(".")):
        parent = root
        *above, name = path.replace("[]", "").split(".")
        for part in above:
            parent = parent.children[part]
        parent.children[name] = Field(path, parse_type(go), None if default == "-" else json.loads(default))
    return root


ROOT: Final = _read_table()
"""The configuration object; its `children` are the top-level fields."""


def leaves(parent: Field = ROOT) -> list[Field]:
    """All fields that hold a value of their own, in the table's order: structs are descended into, lists are not."""
    found: list[Field] = []
    for child in parent.children.values():
        if child.type.kind is Kind.STRUCT:
            found.extend(leaves(child))
        else:
            found.append(child)
    return found


def snake_case(name: str) -> str:
    """The name of a field in Python: `clusterDNS` is `cluster_dns`, `reservedSystemCPUs` is `reserved_system_cpus`."""
    name = name.replace("CPUs", "Cpus").replace("IPTables", "Iptables").replace("APIQPS", "ApiQps")
    name = re.sub(r"([a-z0-9])([A-Z])", r"\1_\2", name)
    return re.sub(r"([A-Z]+)([A-Z][a-z])", r"\1_\2", name).lower()
