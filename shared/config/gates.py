"""The feature gates that a kubelet v1.37 accepts, and what setting some of them gives.

The table is data: a line `STAGE on|off [locked] [elsewhere]` and below it the gates. `elsewhere` gates mean nothing on a
node; they are accepted because one table serves all components. A locked gate can only be set to what it already is.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from shared.errors import Invalid

_TABLE: Final = """
BETA on elsewhere
  APIResponseCompression APIServerIdentity AllowUnsafeMalformedObjectDeletion CRDObservedGenerationTracking
  ClearingNominatedNodeNameAfterBinding ConcurrentWatchObjectDecode ConstrainedImpersonation DRAConsumableCapacity
  DRADeviceBindingConditions DRAFractionalCapacityRange DRAPartitionableDevices
  DRAResourceClaimGranularStatusAuthorization DRASchedulerFilterTimeout DeclarativeValidationBeta
  DeploymentReplicaSetTerminatingReplicas DetectCacheInconsistency EtcdRangeStream
  ExcludeAdmissionWebhookVirtualResources HPAGeneration HPAOptimizedSelectorStore HPAScaleToZero
  ListFromCacheSnapshot ManifestBasedAdmissionControlConfig MatchLabelKeysInPodTopologySpread
  MatchLabelKeysInPodTopologySpreadSelectorMerge MaxUnavailableStatefulSet MutablePodResourcesForSuspendedJobs
  MutableSchedulingDirectivesForSuspendedJobs NFTablesNetlink NodeControllerLeaseCircuitBreaker
  NominatedNodeNameForExpectation OpenAPIEnums OpportunisticBatching PersistentVolumeClaimUnusedSinceTime
  PodDeletionCost PodLevelResourcesFixDefaulting PodLevelResourcesFixKubeletQOSClass PodTopologyLabelsAdmission
  RemoteRequestHeaderUID SchedulerAsyncPreemption SchedulerPopFromBackoffQ ServiceAccountNodeAudienceRestriction
  SizeBasedListCostEstimate StaleControllerConsistencyDaemonSet StaleControllerConsistencyHPA
  StaleControllerConsistencyJob StaleControllerConsistencyReplicaSet StaleControllerConsistencyStatefulSet
  StatefulSetSemanticRevisionComparison StorageCapacityScoring StorageVersionHash StrictIPCIDRValidation
  StructuredAuthenticationConfigurationEgressSelector StructuredAuthenticationConfigurationJWKSMetrics
  TokenRequestServiceAccountUIDValidation UnauthenticatedHTTP2DOSMitigation UnknownVersionInteroperabilityProxy
  VolumeLimitScaling WatchList WatchListCompression WebhookRoundTripLoadBalancing
ALPHA off elsewhere
  APIServerWebhookAuthenticationToken APIServingWithRoutine AllAlpha CBORServingAndStorage
  CloudControllerManagerWatchBasedRoutesReconciliation CloudControllerManagerWebhook CompositePodGroup
  ConsistentListFromCacheSkipTimeoutFallback ControllerManagerReleaseLeaderElectionLockOnExit
  CrossNamespaceVolumeDataSource DRADerivedAttributes DRADeviceCompatibilityGroups DRAListTypeAttributes
  DRAPartitionableDevicesType DRAResourcePoolStatus EvictionRequestAPI InterPodAffinityHostnameFastPath
  KubeProxyNFTablesLocalhostNodePorts MutablePVNodeAffinity NodeLifecycleConditions PodGroupPreemptionPolicy
  SchedulerPreQueueingHints ShardedListAndWatch StatefulSetRecreateStrategy StorageVersionAPI
  TopologyAwareWorkloadScheduling WorkloadWithJob
DEPRECATED on locked elsewhere
  AggregatedDiscoveryRemoveBetaType AllowOverwriteTerminationGracePeriodSeconds DeclarativeValidationTakeover
  SeparateCacheWatchRPC
BETA off elsewhere
  AllBeta CoordinatedLeaderElection GenericWorkload SchedulerAsyncAPICalls
DEPRECATED off
  AllowDNSOnlyNodeCSR ChangeContainerStatusOnKubeletRestart KubeletRegistrationGetOnExistsOnly
DEPRECATED off elsewhere
  AllowInsecureKubeletCertificateSigningRequests KMSv1 WindowsHostNetwork
BETA on
  AllowParsingUserUIDFromCertAuth AtomicFIFO AuthorizePodWebsocketUpgradeCreatePermission
  CPUManagerPolicyBetaOptions ClientsAllowCARotation ClientsAllowTLSCacheGC ComponentFlagz ComponentStatusz
  ContainerCheckpoint ContainerRestartRules ContextualLogging EnvFiles ExtendWebSocketsToKubelet
  GracefulNodeShutdown GracefulNodeShutdownBasedOnPodPriority HugepageAwareEviction InOrderInformersBatchProcess
  InPlacePodLevelResourcesVerticalScaling KubeletCrashLoopBackOffMax KubeletEnsureSecretPulledImages
  KubeletInUserNamespace KubeletSeparateDiskGC KubeletServiceAccountTokenForCredentialProviders LoggingBetaOptions
  MemoryQoS NativeHistograms PodLevelResources PodsAPI PortForwardWebsockets ReloadKubeletClientCAFile
  ReloadKubeletServerCertificateFile ResourceHealthStatus ResourceHealthStatusMessage
  RestartAllContainersOnContainerExits RotateKubeletServerCertificate TopologyManagerPolicyBetaOptions
  TranslateStreamCloseWebsocketRequests UnlockWhileProcessingFIFO WatchListClient WindowsGracefulNodeShutdown
GA on elsewhere
  AllowServiceExternalIPs ClusterTrustBundle MutatingAdmissionPolicy StorageVersionMigrator
ALPHA off
  AtomicWriteVolumeUserFields CPUManagerPolicyAlphaOptions CRIListStreaming CSIVolumeHealth ClientsAllowCBOR
  ClientsPreferCBOR ContainerStopSignals DRANodeAllocatableResources DRAOptionalNodeOperations DefaultPodSysctls
  EmptyDirVolumeMode EventedPLEG GRPCContainerProbeTLS H2CContainerProbe ImageVolumeWithDigest
  InPlacePodVerticalScalingExclusiveCPUs InPlacePodVerticalScalingExclusiveMemory
  InPlacePodVerticalScalingMemoryBackedVolumes InPlacePodVerticalScalingSchedulerPreemption
  KubeletAllocatedPodsEndpoint LoggingAlphaOptions PodLogsQuerySplitStreams QOSReserved
  ReduceDefaultCrashLoopBackOffDecay RuntimeClassInImageCriApi TaintTolerationComparisonOperators
  TopologyManagerPolicyAlphaOptions UserNamespacesHostNetworkSupport VolumeBindMountOptions
  WindowsCPUAndMemoryAffinity
GA on locked
  CPUManagerPolicyOptions DRAExtendedResource DynamicResourceAllocation ImageMaximumGCAge ImageVolume
  InOrderInformers InPlacePodVerticalScaling InPlacePodVerticalScalingInitContainers KubeletFineGrainedAuthz
  KubeletPSI KubeletPodResourcesGet KubeletTracing MutableCSINodeAllocatableCount NodeDeclaredFeatures NodeLogQuery
  NodeSwap PLEGOnDemandRelist PodObservedGenerationTracking PodReadyToStartContainersCondition
  RecoverVolumeExpansionFailure RecursiveReadOnlyMounts SELinuxChangePolicy SELinuxMountReadWriteOncePod
  SupplementalGroupsPolicy SystemdWatchdog TopologyManagerPolicyOptions UserNamespacesSupport
GA on locked elsewhere
  CRDValidationRatcheting CSIServiceAccountTokenSecrets CustomResourceFieldSelectors DRAAdminAccess
  DRADeviceTaintRules DRADeviceTaints DRAPrioritizedList DRAResourceClaimDeviceStatus DeclarativeValidation
  DisableAllocatorDualWrite ExecProbeTimeout ExternalServiceAccountTokenSigner HPAConfigurableTolerance
  HostnameOverride JobManagedBy KubeletCgroupDriverFromCRI KubeletPodResourcesDynamicResources
  MatchLabelKeysInPodAffinity MultiCIDRServiceAllocator NFTablesProxyMode NodeInclusionPolicyInPodTopologySpread
  PodSchedulingReadiness PreferSameTrafficDistribution ProcMountType RelaxedEnvironmentVariableValidation
  RelaxedServiceNameValidation SeparateTaintEvictionController ServiceAccountTokenJTI ServiceAccountTokenNodeBinding
  ServiceAccountTokenNodeBindingValidation ServiceAccountTokenPodNodeInfo VolumeAttributesClass
  WatchCacheInitializationPostStartHook WinDSR WinOverlay
GA on
  ClusterTrustBundleProjection CustomCPUCFSQuotaPeriod InformerResourceVersion PodCertificateRequest SELinuxMount
BETA off
  DRAWorkloadResourceClaims LocalStorageCapacityIsolationFSQuotaMonitoring PodAndContainerStatsFromCRI
  PodLevelResourceManagers
DEPRECATED on locked
  DisableCPUQuotaWithExclusiveCPUs DisableNodeKubeProxyVersion GitRepoVolumeDriver
DEPRECATED on elsewhere
  KubeProxyIPVS ServiceCIDRStatusFieldWiping StorageNamespaceIndex
DEPRECATED on
  KubeletPodResourcesListUseActivePods
"""


@dataclass(frozen=True)
class Gate:
    """One gate: `stage` is ALPHA, BETA, GA or DEPRECATED; `on_node` says whether a node looks at it."""

    name: str
    stage: str
    default: bool
    locked: bool
    on_node: bool


def _read_table() -> dict[str, Gate]:
    gates: dict[str, Gate] = {}
    stage, words = "", [""]
    for line in _TABLE.strip().splitlines():
        if not line.startswith(" "):
            stage, *words = line.split()
            continue
        for name in line.split():
            gates[name] = Gate(name, stage, words[0] == "on", "locked" in words, "elsewhere" not in words)
    return gates


GATES: Final = _read_table()
_WHOLE_STAGES: Final = {"AllAlpha": "ALPHA", "AllBeta": "BETA"}


def effective_gates(chosen: Mapping[str, bool]) -> dict[str, bool]:
    """The value of every gate that means something on a node, for the chosen ones and defaults for the rest.

    `AllAlpha` and `AllBeta` switch a whole stage, explicit choices win. Raises Invalid in upstream's words (upstream
    `component-base/featuregate`) for an unknown gate and for a locked one set to the other value.
    """
    for name, value in chosen.items():
        gate = GATES.get(name)
        if gate is None:
            raise Invalid(f"unrecognized feature gate: {name}")
        if gate.locked and value != gate.default:
            locked_to = str(gate.default).lower()
            raise Invalid(f"cannot set feature gate {name} to {str(value).lower()}, feature is locked to {locked_to}")
    values = {gate.name: gate.default for gate in GATES.values() if gate.on_node}
    for special, stage in _WHOLE_STAGES.items():
        if special in chosen:
            values |= {name: chosen[special] for name in values if GATES[name].stage == stage}
    return values | {name: value for name, value in chosen.items() if name in values}


def settled_gates(chosen: Mapping[str, bool]) -> list[str]:
    """Chosen gates that are GA or deprecated: setting them is allowed and deserves a warning."""
    return [name for name in chosen if name in GATES and GATES[name].stage in ("GA", "DEPRECATED")]
