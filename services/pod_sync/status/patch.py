"""The strategic merge patch from one status to another (upstream `util/pod`, `PatchPodStatus`).

Lists with a merge key (`_KEYS`) are patched item by item: changed and new items in full, removed ones by a
`$patch: delete` directive, and `$setElementOrder/<list>` gives the order when any of that happens. Other lists are
replaced. A field that is gone becomes null.
"""

from typing import Any, Final

import msgspec

from shared.kube.types import PodStatus

CONTENT_TYPE: Final = "application/strategic-merge-patch+json"
_KEYS: Final = {
    "conditions": "type",
    "podIPs": "ip",
    "hostIPs": "ip",
    "resourceClaimStatuses": "name",
    "nodeAllocatableResourceClaimStatuses": "resourceClaimName",
}


def status_patch(old: PodStatus, new: PodStatus, *, uid: str) -> bytes | None:
    """The body that turns `old` into `new` for the pod of that UID; None when nothing differs."""
    changes = _map_patch(msgspec.to_builtins(old), msgspec.to_builtins(new), top=True)
    if not changes:
        return None
    return msgspec.json.encode({"metadata": {"uid": uid}, "status": changes})


def _map_patch(old: dict[str, Any], new: dict[str, Any], *, top: bool = False) -> dict[str, Any]:
    patch: dict[str, Any] = {}
    for name in [*new, *(n for n in old if n not in new)]:
        before, after = old.get(name), new.get(name)
        if before == after:
            continue
        key = _KEYS.get(name) if top else None
        if key is not None:
            patch |= _list_patch(name, key, before or [], after or [])
        elif isinstance(before, dict) and isinstance(after, dict):
            patch[name] = _map_patch(before, after)
        else:
            patch[name] = after
    return patch


def _list_patch(name: str, key: str, before: list[Any], after: list[Any]) -> dict[str, Any]:
    old = {item[key]: item for item in before}
    new = {item[key]: item for item in after}
    items: list[dict[str, Any]] = []
    for identity, item in new.items():
        if identity not in old:
            items.append(item)
        elif old[identity] != item:
            items.append({key: identity, **_map_patch(old[identity], item)})
    items += [{"$patch": "delete", key: identity} for identity in old if identity not in new]
    patch: dict[str, Any] = {f"$setElementOrder/{name}": [{key: identity} for identity in new]}
    return patch | ({name: items} if items else {})
