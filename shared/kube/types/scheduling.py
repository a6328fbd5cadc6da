"""Where a pod may run. The node checks affinity and tolerations once more at admission."""

from msgspec import field

from shared.kube.types.base import ApiObject
from shared.kube.types.meta import LabelSelector


class NodeSelectorRequirement(ApiObject, frozen=True, kw_only=True):
    """`operator` is In, NotIn, Exists, DoesNotExist, Gt or Lt."""

    key: str = ""
    operator: str = ""
    values: list[str] = []


class NodeSelectorTerm(ApiObject, frozen=True, kw_only=True):
    """All expressions and fields must match; an empty term matches nothing."""

    match_expressions: list[NodeSelectorRequirement] = []
    match_fields: list[NodeSelectorRequirement] = []


class PreferredSchedulingTerm(ApiObject, frozen=True, kw_only=True):
    """A wish of a certain weight."""

    preference: NodeSelectorTerm = NodeSelectorTerm()
    weight: int = 0


class NodeSelector(ApiObject, frozen=True, kw_only=True):
    """One of the terms must match."""

    node_selector_terms: list[NodeSelectorTerm] = []


class NodeAffinity(ApiObject, frozen=True, kw_only=True):
    """Which nodes; the required part is checked by the node as well."""

    preferred_during_scheduling_ignored_during_execution: list[PreferredSchedulingTerm] = []
    required_during_scheduling_ignored_during_execution: NodeSelector | None = None


class PodAffinityTerm(ApiObject, frozen=True, kw_only=True):
    """Pods that the selectors choose, within a topology domain."""

    label_selector: LabelSelector | None = None
    match_label_keys: list[str] = []
    mismatch_label_keys: list[str] = []
    namespace_selector: LabelSelector | None = None
    namespaces: list[str] = []
    topology_key: str = ""


class WeightedPodAffinityTerm(ApiObject, frozen=True, kw_only=True):
    """A wish of a certain weight."""

    pod_affinity_term: PodAffinityTerm = PodAffinityTerm()
    weight: int = 0


class PodAffinity(ApiObject, frozen=True, kw_only=True):
    """Near which pods. Only the scheduler looks at it."""

    preferred_during_scheduling_ignored_during_execution: list[WeightedPodAffinityTerm] = []
    required_during_scheduling_ignored_during_execution: list[PodAffinityTerm] = []


class PodAntiAffinity(ApiObject, frozen=True, kw_only=True):
    """Away from which pods. Only the scheduler looks at it."""

    preferred_during_scheduling_ignored_during_execution: list[WeightedPodAffinityTerm] = []
    required_during_scheduling_ignored_during_execution: list[PodAffinityTerm] = []


class Affinity(ApiObject, frozen=True, kw_only=True):
    """Rules of attraction and repulsion."""

    node_affinity: NodeAffinity | None = None
    pod_affinity: PodAffinity | None = None
    pod_anti_affinity: PodAntiAffinity | None = None


class Toleration(ApiObject, frozen=True, kw_only=True):
    """A taint that the pod puts up with. Empty key with operator Exists: all of them."""

    effect: str | None = None
    key: str | None = None
    operator: str | None = None
    toleration_seconds: int | None = None
    value: str | None = None


class Taint(ApiObject, frozen=True, kw_only=True):
    """A mark that keeps pods away from a node; effect NoSchedule, PreferNoSchedule or NoExecute."""

    effect: str = field(default_factory=str)
    key: str = field(default_factory=str)
    time_added: str | None = None
    value: str | None = None


class TopologySpreadConstraint(ApiObject, frozen=True, kw_only=True):
    """How evenly pods are spread. Only the scheduler looks at it."""

    label_selector: LabelSelector | None = None
    match_label_keys: list[str] = []
    max_skew: int = 0
    min_domains: int | None = None
    node_affinity_policy: str | None = None
    node_taints_policy: str | None = None
    topology_key: str = ""
    when_unsatisfiable: str = ""


class PodSchedulingGate(ApiObject, frozen=True, kw_only=True):
    """Scheduling waits until it is removed."""

    name: str = ""


class PodSchedulingGroup(ApiObject, frozen=True, kw_only=True):
    """Pods that are scheduled together."""

    pod_group_name: str | None = None
