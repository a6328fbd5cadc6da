"""What all API objects are built on: how attributes are spelled on the wire."""

from typing import Annotated, Any, Final

import msgspec

Quantity = Annotated[str, msgspec.Meta(extra={"quantity": True})]
"""A string such as `100m` or `1Gi`. Only manifests may also give a bare number (`shared.kube.manifest`)."""

_EXACT: Final[dict[str, str]] = {
    "host_ip": "hostIP",
    "host_ips": "hostIPs",
    "pod_ip": "podIP",
    "pod_ips": "podIPs",
    "pod_cidr": "podCIDR",
    "pod_cidrs": "podCIDRs",
    "host_ipc": "hostIPC",
    "host_pid": "hostPID",
    "set_hostname_as_fqdn": "setHostnameAsFQDN",
    "downward_api": "downwardAPI",
    "container_id": "containerID",
    "image_id": "imageID",
    "resource_id": "resourceID",
    "provider_id": "providerID",
    "external_id": "externalID",
    "machine_id": "machineID",
    "system_uuid": "systemUUID",
    "boot_id": "bootID",
    "volume_id": "volumeID",
    "disk_uri": "diskURI",
    "dataset_uuid": "datasetUUID",
    "pd_id": "pdID",
    "storage_policy_id": "storagePolicyID",
    "scale_io": "scaleIO",
    "target_wwns": "targetWWNs",
}


def wire_name(attribute: str) -> str:
    """The API's spelling of an attribute: camelCase, but abbreviations as the API writes them."""
    exact = _EXACT.get(attribute)
    if exact is not None:
        return exact
    first, *rest = attribute.split("_")
    return first + "".join(part[:1].upper() + part[1:] for part in rest)


class ApiObject(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, rename=wire_name, gc=False):
    """Base of every API type. Fields at their default are not written, unless the API server always writes them.

    Frozen values hold no cycles, so the cycle collector need not look at them (see `shared.messages.base.Message`).
    """


def always_written() -> list[Any]:
    """Default of lists that are written even when empty, as a list's `items` is: only `list` itself is omitted."""
    return []
