"""Requests, limits and claims (`core/validation`, `ValidateResourceRequirements` and `validatePodResources`)."""

from typing import Final

from shared.kube import quantity
from shared.kube.pods import effective_requests, is_pod_level_resource
from shared.kube.types import Pod, ResourceClaim, ResourceRequirements
from shared.kube.validation.errors import NOT_NEGATIVE, Errors
from shared.kube.validation.names import qualified_name

_STANDARD: Final = frozenset({"cpu", "memory", "ephemeral-storage"})
_HUGE_PAGES: Final = "hugepages-"
_NATIVE_PREFIX: Final = "kubernetes.io/"


def check_requirements(errors: Errors, path: str, resources: ResourceRequirements, *, claims: set[str]) -> None:
    """One container's resources; `claims` are the names of the pod's resource claims."""
    _check_amounts(errors, path, resources)
    names = [*resources.limits, *resources.requests]
    if any(n.startswith(_HUGE_PAGES) for n in names) and not {"cpu", "memory"} & set(names):
        errors.forbidden(path, "HugePages require cpu or memory")
    _check_claims(errors, f"{path}.claims", resources.claims, claims)


def _check_amounts(errors: Errors, path: str, resources: ResourceRequirements) -> None:
    for kind, amounts in (("limits", resources.limits), ("requests", resources.requests)):
        for name, amount in amounts.items():
            where = f"{path}.{kind}[{name}]"
            _check_name(errors, where, name)
            check_amount(errors, where, name, amount)
    for name, request in resources.requests.items():
        limit = resources.limits.get(name)
        if limit is None:
            if not _may_overcommit(name):
                errors.required(f"{path}.limits", "Limit must be set for non overcommitable resources")
        elif not _may_overcommit(name) and not quantity.equal(request, limit):
            errors.invalid(f"{path}.requests", quantity.canonical(request), _bound("equal to", name, limit))
        elif quantity.parse(request) > quantity.parse(limit):
            errors.invalid(
                f"{path}.requests", quantity.canonical(request), _bound("less than or equal to", name, limit)
            )


def _bound(relation: str, name: str, limit: str) -> str:
    return f"must be {relation} {name} limit of {quantity.canonical(limit)}"


def check_amount(errors: Errors, path: str, name: str, amount: str) -> None:
    """Not negative; whole for resources that cannot be divided; a multiple of the page for huge pages."""
    value = quantity.parse(amount)
    if value < 0:
        errors.invalid(path, quantity.canonical(amount), NOT_NEGATIVE)
    if _is_extended(name) and value.denominator != 1:
        errors.invalid(path, quantity.canonical(amount), "must be an integer")
    if name.startswith(_HUGE_PAGES):
        _check_huge_pages(errors, path, name, amount)


def _check_huge_pages(errors: Errors, path: str, name: str, amount: str) -> None:
    try:
        page = quantity.parse(name.removeprefix(_HUGE_PAGES))
    except quantity.InvalidQuantity as error:
        errors.invalid(path, name, str(error))
        return
    if page <= 0 or quantity.parse(amount) % page:
        size = name.removeprefix(_HUGE_PAGES)
        errors.invalid(
            path, quantity.canonical(amount), f"{quantity.canonical(amount)} is not positive integer multiple of {size}"
        )


def _check_name(errors: Errors, path: str, name: str) -> None:
    wrong = qualified_name(name)
    errors.all(path, name, wrong)
    if wrong:
        return
    if "/" not in name:
        if name not in _STANDARD and not name.startswith(_HUGE_PAGES):
            errors.invalid(path, name, "must be a standard resource for containers")
    elif not _is_native(name) and not _is_extended(name):
        errors.invalid(path, name, "doesn't follow extended resource name standard")


def _is_native(name: str) -> bool:
    return "/" not in name or _NATIVE_PREFIX in name


def _is_extended(name: str) -> bool:
    return not _is_native(name) and not name.startswith("requests.") and not qualified_name(f"requests.{name}")


def _may_overcommit(name: str) -> bool:
    return _is_native(name) and not name.startswith(_HUGE_PAGES)


def _check_claims(errors: Errors, path: str, used: list[ResourceClaim], known: set[str]) -> None:
    seen: set[tuple[str, str | None]] = set()
    for i, claim in enumerate(used):
        where = f"{path}[{i}]"
        if not claim.name:
            errors.required(where)
        elif (claim.name, claim.request) in seen:
            errors.duplicate(where, claim.name)
        elif claim.name not in known:
            errors.not_found(where, claim.name)
        seen.add((claim.name, claim.request))


def check_pod_level(errors: Errors, pod: Pod) -> None:
    """Resources of the pod as a whole: only some kinds, and never less than what its containers ask for."""
    resources = pod.spec.resources
    if resources is None:
        return
    path = "spec.resources"
    if resources.claims:
        errors.forbidden(f"{path}.claims", "claims cannot be set for Resources at pod-level")
    _check_amounts(errors, path, resources)
    for kind, amounts in (("limits", resources.limits), ("requests", resources.requests)):
        for name in amounts:
            if not is_pod_level_resource(name):
                errors.unsupported(f"{path}.{kind}[{name}]", name, ("cpu", "hugepages-", "memory"))
    _check_sums(errors, pod, resources)


def _check_sums(errors: Errors, pod: Pod, resources: ResourceRequirements) -> None:
    spec = pod.spec
    bare = Pod(spec=type(spec)(containers=spec.containers, init_containers=spec.init_containers))
    needed = effective_requests(bare)
    for name, request in resources.requests.items():
        least = needed.get(name)
        if least is not None and quantity.parse(request) < quantity.parse(least):
            text = f"must be greater than or equal to aggregate container requests of {least}"
            errors.invalid(f"spec.resources.requests[{name}]", quantity.canonical(request), text)
    for kind, containers in (("initContainers", spec.init_containers), ("containers", spec.containers)):
        for i, container in enumerate(containers):
            own = container.resources.limits if container.resources is not None else {}
            for name, limit in resources.limits.items():
                if name in own and quantity.parse(own[name]) > quantity.parse(limit):
                    text = f"must be less than or equal to pod limits of {quantity.canonical(limit)}"
                    errors.invalid(f"spec.{kind}[{i}].resources.limits[{name}]", quantity.canonical(own[name]), text)
