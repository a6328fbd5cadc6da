"""Every command-line flag of the kubelet: its form, the configuration field it sets, whether its use is discouraged.

The table is data: flag, form, path of the field or `-`, standing (`current`; `moved`: the configuration file is the place
for it now; `deprecated`: no effect any more), default as JSON where there is no field. `Form` says how a value is read.
"""

import json
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

_TABLE: Final = """
config string - current ""
config-dir string - current ""
kubeconfig string - current ""
bootstrap-kubeconfig string - current ""
hostname-override string - current ""
node-ip string - current ""
cert-dir string - current "/var/lib/kubelet/pki"
cloud-provider string - current ""
root-dir string - current "/var/lib/kubelet"
seccomp-default bool - current false
node-labels mapStringString - current {}
lock-file string - current ""
exit-on-lock-contention bool - current false
minimum-container-ttl-duration duration - deprecated "0s"
maximum-dead-containers-per-container int32 - deprecated 1
maximum-dead-containers int32 - deprecated -1
experimental-mounter-path string - deprecated ""
experimental-allocatable-ignore-eviction bool - deprecated false
runtime-cgroups string - current ""
image-credential-provider-config string - current ""
image-credential-provider-bin-dir string - current ""
enable-server bool enableServer moved
fail-swap-on bool failSwapOn moved
pod-manifest-path string staticPodPath moved
sync-frequency duration syncFrequency moved
file-check-frequency duration fileCheckFrequency moved
http-check-frequency duration httpCheckFrequency moved
manifest-url string staticPodURL moved
manifest-url-header headers staticPodURLHeader moved
address ip address moved
port int32 port moved
read-only-port int32 readOnlyPort moved
fail-cgroupv1 bool failCgroupV1 current
container-runtime-endpoint string containerRuntimeEndpoint moved
image-service-endpoint string imageServiceEndpoint moved
anonymous-auth bool authentication.anonymous.enabled moved
authentication-token-webhook bool authentication.webhook.enabled moved
authentication-token-webhook-cache-ttl duration authentication.webhook.cacheTTL moved
client-ca-file string authentication.x509.clientCAFile moved
authorization-mode string authorization.mode moved
authorization-webhook-cache-authorized-ttl duration authorization.webhook.cacheAuthorizedTTL moved
authorization-webhook-cache-unauthorized-ttl duration authorization.webhook.cacheUnauthorizedTTL moved
tls-cert-file string tlsCertFile moved
tls-private-key-file string tlsPrivateKeyFile moved
rotate-server-certificates bool serverTLSBootstrap moved
tls-cipher-suites strings tlsCipherSuites moved
tls-min-version string tlsMinVersion moved
rotate-certificates bool rotateCertificates moved
registry-qps int32 registryPullQPS moved
registry-burst int32 registryBurst moved
event-qps int32 eventRecordQPS moved
event-burst int32 eventBurst moved
enable-debugging-handlers bool enableDebuggingHandlers moved
contention-profiling bool enableContentionProfiling moved
healthz-port int32 healthzPort moved
healthz-bind-address ip healthzBindAddress moved
oom-score-adj int32 oomScoreAdj moved
cluster-domain string clusterDomain moved
volume-plugin-dir string volumePluginDir moved
cluster-dns strings clusterDNS moved
streaming-connection-idle-timeout duration streamingConnectionIdleTimeout moved
node-status-update-frequency duration nodeStatusUpdateFrequency moved
minimum-image-ttl-duration duration imageMinimumGCAge moved
image-gc-high-threshold int32 imageGCHighThresholdPercent moved
image-gc-low-threshold int32 imageGCLowThresholdPercent moved
volume-stats-agg-period duration volumeStatsAggPeriod moved
feature-gates mapStringBool featureGates moved
kubelet-cgroups string kubeletCgroups moved
system-cgroups string systemCgroups moved
provider-id string providerID current
cgroups-per-qos bool cgroupsPerQOS moved
cgroup-driver string cgroupDriver moved
cgroup-root string cgroupRoot moved
cpu-manager-policy string cpuManagerPolicy moved
cpu-manager-policy-options pair cpuManagerPolicyOptions moved
cpu-manager-reconcile-period duration cpuManagerReconcilePeriod moved
qos-reserved mapStringString qosReserved moved
topology-manager-policy string topologyManagerPolicy moved
runtime-request-timeout duration runtimeRequestTimeout moved
hairpin-mode string hairpinMode moved
max-pods int32 maxPods moved
pod-cidr string podCIDR moved
pod-max-pids int64 podPidsLimit moved
resolv-conf string resolvConf moved
runonce bool runOnce moved
cpu-cfs-quota bool cpuCFSQuota moved
cpu-cfs-quota-period duration cpuCFSQuotaPeriod moved
enable-controller-attach-detach bool enableControllerAttachDetach moved
make-iptables-util-chains bool makeIPTablesUtilChains moved
container-log-max-size string containerLogMaxSize moved
container-log-max-files int32 containerLogMaxFiles moved
allowed-unsafe-sysctls strings allowedUnsafeSysctls moved
node-status-max-images int32 nodeStatusMaxImages moved
kernel-memcg-notification bool kernelMemcgNotification moved
local-storage-capacity-isolation bool localStorageCapacityIsolation moved
max-open-files int64 maxOpenFiles moved
kube-api-content-type string contentType moved
kube-api-qps int32 kubeAPIQPS moved
kube-api-burst int32 kubeAPIBurst moved
serialize-image-pulls bool serializeImagePulls moved
eviction-hard thresholds evictionHard moved
eviction-soft thresholds evictionSoft moved
eviction-soft-grace-period mapStringString evictionSoftGracePeriod moved
eviction-pressure-transition-period duration evictionPressureTransitionPeriod moved
eviction-max-pod-grace-period int32 evictionMaxPodGracePeriod moved
eviction-minimum-reclaim mapStringString evictionMinimumReclaim moved
pods-per-core int32 podsPerCore moved
protect-kernel-defaults bool protectKernelDefaults moved
reserved-cpus string reservedSystemCPUs moved
topology-manager-scope string topologyManagerScope moved
topology-manager-policy-options mapStringString topologyManagerPolicyOptions moved
system-reserved mapStringString systemReserved moved
kube-reserved mapStringString kubeReserved moved
enforce-node-allocatable strings enforceNodeAllocatable moved
system-reserved-cgroup string systemReservedCgroup moved
kube-reserved-cgroup string kubeReservedCgroup moved
memory-manager-policy string memoryManagerPolicy moved
reserved-memory reservedMemory reservedMemory moved
register-node bool registerNode moved
register-with-taints taints registerWithTaints moved
logging-format string logging.format moved
log-flush-frequency duration logging.flushFrequency current
v int32 logging.verbosity current
vmodule vmodule logging.vmodule current
log-text-split-stream bool logging.options.text.splitStream moved
log-text-info-buffer-size quantity logging.options.text.infoBufferSize moved
log-json-split-stream bool logging.options.json.splitStream moved
log-json-info-buffer-size quantity logging.options.json.infoBufferSize moved
housekeeping-interval duration - current "10s"
version version - current "false"
help bool - current false
"""


class Form(StrEnum):
    """How the text of a flag becomes a value."""

    STRING = "string"
    BOOL = "bool"
    INT32 = "int32"
    INT64 = "int64"
    DURATION = "duration"
    QUANTITY = "quantity"
    IP = "ip"
    STRINGS = "strings"
    MAP_STRING = "mapStringString"
    MAP_BOOL = "mapStringBool"
    PAIR = "pair"
    THRESHOLDS = "thresholds"
    HEADERS = "headers"
    TAINTS = "taints"
    RESERVED_MEMORY = "reservedMemory"
    VMODULE = "vmodule"
    VERSION = "version"


class Standing(StrEnum):
    """Whether a flag should still be used."""

    CURRENT = "current"
    MOVED = "moved"
    DEPRECATED = "deprecated"


@dataclass(frozen=True)
class Flag:
    """One flag; `path` is the dotted configuration field that it sets, or empty."""

    name: str
    form: Form
    path: str
    standing: Standing
    default: Any = None

    @property
    def attribute(self) -> str:
        return self.name.replace("-", "_")


def _read_table() -> dict[str, Flag]:
    flags = {}
    for line in _TABLE.strip().splitlines():
        name, form, path, standing, *default = line.split(" ", 4)
        flags[name] = Flag(
            name,
            Form(form),
            "" if path == "-" else path,
            Standing(standing),
            json.loads(default[0]) if default and default[0] != "-" else None,
        )
    return flags


FLAGS: Final = _read_table()
"""All flags by name, without the leading dashes."""

SHORTHANDS: Final = {"v": "v", "h": "help"}


def flag_of(path: str) -> str:
    """The flag that sets this field, with its dashes; empty when there is none. For messages."""
    return next((f"--{flag.name}" for flag in FLAGS.values() if flag.path == path), "")
