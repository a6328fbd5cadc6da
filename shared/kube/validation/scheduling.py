"""Tolerations and node affinity, the parts of scheduling that a node looks at (`core/validation`)."""

from typing import Final

from shared.kube.types import NodeSelector, NodeSelectorRequirement, PodSpec, Toleration
from shared.kube.validation import names
from shared.kube.validation.errors import Errors

_EFFECTS: Final = frozenset({"NoSchedule", "PreferNoSchedule", "NoExecute"})
_NUMERIC: Final = frozenset({"Gt", "Lt"})
_SETS: Final = frozenset({"In", "NotIn"})
_PRESENCE: Final = frozenset({"Exists", "DoesNotExist"})


def check_tolerations(errors: Errors, path: str, tolerations: list[Toleration]) -> None:
    for i, toleration in enumerate(tolerations):
        where = f"{path}[{i}]"
        operator = toleration.operator or "Equal"
        if toleration.key:
            errors.all(f"{where}.key", toleration.key, names.qualified_name(toleration.key))
        elif operator != "Exists":
            text = 'operator must be Exists when `key` is empty, which means "match all values and all keys"'
            errors.invalid(f"{where}.operator", toleration.operator or "", text)
        if toleration.toleration_seconds is not None and toleration.effect != "NoExecute":
            text = "effect must be 'NoExecute' when `tolerationSeconds` is set"
            errors.invalid(f"{where}.effect", toleration.effect or "", text)
        if operator == "Equal":
            errors.all(f"{where}.operator", toleration.value or "", names.label_value(toleration.value or ""))
        elif operator != "Exists":
            errors.unsupported(f"{where}.operator", operator, ("Equal", "Exists"))
        elif toleration.value:
            errors.invalid(f"{where}.operator", toleration, "value must be empty when `operator` is 'Exists'")
        if toleration.effect and toleration.effect not in _EFFECTS:
            errors.unsupported(f"{where}.effect", toleration.effect, _EFFECTS)


def check_node_affinity(errors: Errors, spec: PodSpec) -> None:
    affinity = spec.affinity.node_affinity if spec.affinity is not None else None
    if affinity is None:
        return
    path = "spec.affinity.nodeAffinity"
    if affinity.required_during_scheduling_ignored_during_execution is not None:
        where = f"{path}.requiredDuringSchedulingIgnoredDuringExecution"
        _check_selector(errors, where, affinity.required_during_scheduling_ignored_during_execution)
    for i, term in enumerate(affinity.preferred_during_scheduling_ignored_during_execution):
        where = f"{path}.preferredDuringSchedulingIgnoredDuringExecution[{i}]"
        if not 1 <= term.weight <= 100:
            errors.invalid(f"{where}.weight", term.weight, "must be in the range 1-100")
        for j, requirement in enumerate(term.preference.match_expressions):
            _check_requirement(errors, f"{where}.preference.matchExpressions[{j}]", requirement)


def _check_selector(errors: Errors, path: str, selector: NodeSelector) -> None:
    if not selector.node_selector_terms:
        errors.required(f"{path}.nodeSelectorTerms", "must have at least one node selector term")
    for i, term in enumerate(selector.node_selector_terms):
        for j, requirement in enumerate(term.match_expressions):
            _check_requirement(errors, f"{path}.nodeSelectorTerms[{i}].matchExpressions[{j}]", requirement)


def _check_requirement(errors: Errors, path: str, requirement: NodeSelectorRequirement) -> None:
    errors.all(f"{path}.key", requirement.key, names.qualified_name(requirement.key))
    operator, count = requirement.operator, len(requirement.values)
    if operator in _SETS:
        if not count:
            errors.required(f"{path}.values", "must be specified when `operator` is 'In' or 'NotIn'")
    elif operator in _PRESENCE:
        if count:
            errors.forbidden(f"{path}.values", "may not be specified when `operator` is 'Exists' or 'DoesNotExist'")
    elif operator in _NUMERIC:
        if count != 1:
            errors.required(f"{path}.values", "must be specified single value when `operator` is 'Lt' or 'Gt'")
    else:
        errors.invalid(f"{path}.operator", operator, "not a valid selector operator")
