"""Volume sources of particular storage systems; most are served by a CSI driver or by nothing any more."""

from shared.kube.types.base import ApiObject
from shared.kube.types.references import LocalObjectReference


class AWSElasticBlockStoreVolumeSource(ApiObject, frozen=True, kw_only=True):
    """An AWS EBS disk."""

    fs_type: str | None = None
    partition: int | None = None
    read_only: bool | None = None
    volume_id: str = ""


class AzureDiskVolumeSource(ApiObject, frozen=True, kw_only=True):
    """An Azure data disk."""

    kind: str | None = None
    caching_mode: str | None = None
    disk_name: str = ""
    disk_uri: str = ""
    fs_type: str | None = None
    read_only: bool | None = None


class AzureFileVolumeSource(ApiObject, frozen=True, kw_only=True):
    """An Azure file share."""

    read_only: bool | None = None
    secret_name: str = ""
    share_name: str = ""


class CephFSVolumeSource(ApiObject, frozen=True, kw_only=True):
    """A CephFS path."""

    monitors: list[str] = []
    path: str | None = None
    read_only: bool | None = None
    secret_file: str | None = None
    secret_ref: LocalObjectReference | None = None
    user: str | None = None


class CinderVolumeSource(ApiObject, frozen=True, kw_only=True):
    """An OpenStack Cinder disk."""

    fs_type: str | None = None
    read_only: bool | None = None
    secret_ref: LocalObjectReference | None = None
    volume_id: str = ""


class FlockerVolumeSource(ApiObject, frozen=True, kw_only=True):
    """A Flocker dataset."""

    dataset_name: str | None = None
    dataset_uuid: str | None = None


class GCEPersistentDiskVolumeSource(ApiObject, frozen=True, kw_only=True):
    """A GCE persistent disk."""

    fs_type: str | None = None
    partition: int | None = None
    pd_name: str = ""
    read_only: bool | None = None


class GlusterfsVolumeSource(ApiObject, frozen=True, kw_only=True):
    """A Gluster volume."""

    endpoints: str = ""
    path: str = ""
    read_only: bool | None = None


class PhotonPersistentDiskVolumeSource(ApiObject, frozen=True, kw_only=True):
    """A Photon disk."""

    fs_type: str | None = None
    pd_id: str = ""


class PortworxVolumeSource(ApiObject, frozen=True, kw_only=True):
    """A Portworx volume."""

    fs_type: str | None = None
    read_only: bool | None = None
    volume_id: str = ""


class QuobyteVolumeSource(ApiObject, frozen=True, kw_only=True):
    """A Quobyte volume."""

    group: str | None = None
    read_only: bool | None = None
    registry: str = ""
    tenant: str | None = None
    user: str | None = None
    volume: str = ""


class RBDVolumeSource(ApiObject, frozen=True, kw_only=True):
    """A Ceph block device image."""

    fs_type: str | None = None
    image: str = ""
    keyring: str | None = None
    monitors: list[str] = []
    pool: str | None = None
    read_only: bool | None = None
    secret_ref: LocalObjectReference | None = None
    user: str | None = None


class ScaleIOVolumeSource(ApiObject, frozen=True, kw_only=True):
    """A ScaleIO volume."""

    fs_type: str | None = None
    gateway: str = ""
    protection_domain: str | None = None
    read_only: bool | None = None
    secret_ref: LocalObjectReference = LocalObjectReference()
    ssl_enabled: bool | None = None
    storage_mode: str | None = None
    storage_pool: str | None = None
    system: str = ""
    volume_name: str | None = None


class StorageOSVolumeSource(ApiObject, frozen=True, kw_only=True):
    """A StorageOS volume."""

    fs_type: str | None = None
    read_only: bool | None = None
    secret_ref: LocalObjectReference | None = None
    volume_name: str | None = None
    volume_namespace: str | None = None


class VsphereVirtualDiskVolumeSource(ApiObject, frozen=True, kw_only=True):
    """A vSphere disk."""

    fs_type: str | None = None
    storage_policy_id: str | None = None
    storage_policy_name: str | None = None
    volume_path: str = ""
