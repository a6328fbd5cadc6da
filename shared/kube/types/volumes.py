"""A pod's volumes: the union of all sources, and the sources that are not a storage system of their own."""

from shared.kube.types.base import ApiObject, Quantity
from shared.kube.types.meta import LabelSelector, ObjectMeta
from shared.kube.types.projections import (
    ConfigMapVolumeSource,
    DownwardAPIVolumeSource,
    ProjectedVolumeSource,
    SecretVolumeSource,
)
from shared.kube.types.references import LocalObjectReference, TypedLocalObjectReference, TypedObjectReference
from shared.kube.types.resources import VolumeResourceRequirements
from shared.kube.types.volumes_storage import (
    AWSElasticBlockStoreVolumeSource,
    AzureDiskVolumeSource,
    AzureFileVolumeSource,
    CephFSVolumeSource,
    CinderVolumeSource,
    FlockerVolumeSource,
    GCEPersistentDiskVolumeSource,
    GlusterfsVolumeSource,
    PhotonPersistentDiskVolumeSource,
    PortworxVolumeSource,
    QuobyteVolumeSource,
    RBDVolumeSource,
    ScaleIOVolumeSource,
    StorageOSVolumeSource,
    VsphereVirtualDiskVolumeSource,
)


class CSIVolumeSource(ApiObject, frozen=True, kw_only=True):
    """An ephemeral volume of a CSI driver."""

    driver: str = ""
    fs_type: str | None = None
    node_publish_secret_ref: LocalObjectReference | None = None
    read_only: bool | None = None
    volume_attributes: dict[str, str] = {}


class EmptyDirVolumeSource(ApiObject, frozen=True, kw_only=True):
    """A directory as old as the pod; `medium` is empty, Memory or HugePages[-size]."""

    medium: str | None = None
    mode: int | None = None
    size_limit: Quantity | None = None


class PersistentVolumeClaimSpec(ApiObject, frozen=True, kw_only=True):
    """What storage a claim asks for."""

    access_modes: list[str] = []
    data_source: TypedLocalObjectReference | None = None
    data_source_ref: TypedObjectReference | None = None
    resources: VolumeResourceRequirements | None = None
    selector: LabelSelector | None = None
    storage_class_name: str | None = None
    volume_attributes_class_name: str | None = None
    volume_mode: str | None = None
    volume_name: str | None = None


class PersistentVolumeClaimTemplate(ApiObject, frozen=True, kw_only=True):
    """The claim to be made."""

    metadata: ObjectMeta | None = None
    spec: PersistentVolumeClaimSpec = PersistentVolumeClaimSpec()


class EphemeralVolumeSource(ApiObject, frozen=True, kw_only=True):
    """A claim that is made for, and dies with, the pod."""

    volume_claim_template: PersistentVolumeClaimTemplate | None = None


class FCVolumeSource(ApiObject, frozen=True, kw_only=True):
    """A LUN over fibre channel."""

    fs_type: str | None = None
    lun: int | None = None
    read_only: bool | None = None
    target_wwns: list[str] = []
    wwids: list[str] = []


class FlexVolumeSource(ApiObject, frozen=True, kw_only=True):
    """A volume of an exec-based driver."""

    driver: str = ""
    fs_type: str | None = None
    options: dict[str, str] = {}
    read_only: bool | None = None
    secret_ref: LocalObjectReference | None = None


class GitRepoVolumeSource(ApiObject, frozen=True, kw_only=True):
    """A clone made once; refused by nodes today."""

    directory: str | None = None
    repository: str = ""
    revision: str | None = None


class HostPathVolumeSource(ApiObject, frozen=True, kw_only=True):
    """A path of the node; `type` says what must be there, or is made."""

    path: str = ""
    type: str | None = None


class ImageVolumeSource(ApiObject, frozen=True, kw_only=True):
    """The content of an OCI image, read only."""

    pull_policy: str | None = None
    reference: str | None = None


class ISCSIVolumeSource(ApiObject, frozen=True, kw_only=True):
    """A LUN of an iSCSI target."""

    chap_auth_discovery: bool | None = None
    chap_auth_session: bool | None = None
    fs_type: str | None = None
    initiator_name: str | None = None
    iqn: str = ""
    iscsi_interface: str | None = None
    lun: int = 0
    portals: list[str] = []
    read_only: bool | None = None
    secret_ref: LocalObjectReference | None = None
    target_portal: str = ""


class NFSVolumeSource(ApiObject, frozen=True, kw_only=True):
    """An export of an NFS server."""

    path: str = ""
    read_only: bool | None = None
    server: str = ""


class PersistentVolumeClaimVolumeSource(ApiObject, frozen=True, kw_only=True):
    """A claim of the same namespace."""

    claim_name: str = ""
    read_only: bool | None = None


class Volume(ApiObject, frozen=True, kw_only=True):
    """One volume: a name and exactly one source; none means emptyDir."""

    aws_elastic_block_store: AWSElasticBlockStoreVolumeSource | None = None
    azure_disk: AzureDiskVolumeSource | None = None
    azure_file: AzureFileVolumeSource | None = None
    cephfs: CephFSVolumeSource | None = None
    cinder: CinderVolumeSource | None = None
    config_map: ConfigMapVolumeSource | None = None
    csi: CSIVolumeSource | None = None
    downward_api: DownwardAPIVolumeSource | None = None
    empty_dir: EmptyDirVolumeSource | None = None
    ephemeral: EphemeralVolumeSource | None = None
    fc: FCVolumeSource | None = None
    flex_volume: FlexVolumeSource | None = None
    flocker: FlockerVolumeSource | None = None
    gce_persistent_disk: GCEPersistentDiskVolumeSource | None = None
    git_repo: GitRepoVolumeSource | None = None
    glusterfs: GlusterfsVolumeSource | None = None
    host_path: HostPathVolumeSource | None = None
    image: ImageVolumeSource | None = None
    iscsi: ISCSIVolumeSource | None = None
    name: str = ""
    nfs: NFSVolumeSource | None = None
    persistent_volume_claim: PersistentVolumeClaimVolumeSource | None = None
    photon_persistent_disk: PhotonPersistentDiskVolumeSource | None = None
    portworx_volume: PortworxVolumeSource | None = None
    projected: ProjectedVolumeSource | None = None
    quobyte: QuobyteVolumeSource | None = None
    rbd: RBDVolumeSource | None = None
    scale_io: ScaleIOVolumeSource | None = None
    secret: SecretVolumeSource | None = None
    storageos: StorageOSVolumeSource | None = None
    vsphere_volume: VsphereVirtualDiskVolumeSource | None = None
