"""Volumes made of API objects and of what is known of the pod: written by the node, kept up to date."""

from shared.kube.types.base import ApiObject
from shared.kube.types.meta import LabelSelector
from shared.kube.types.references import KeyToPath, ObjectFieldSelector, ResourceFieldSelector


class ConfigMapVolumeSource(ApiObject, frozen=True, kw_only=True):
    """A ConfigMap's keys as files."""

    default_mode: int | None = None
    default_user: int | None = None
    items: list[KeyToPath] = []
    name: str = ""
    optional: bool | None = None


class SecretVolumeSource(ApiObject, frozen=True, kw_only=True):
    """A Secret's keys as files."""

    default_mode: int | None = None
    default_user: int | None = None
    items: list[KeyToPath] = []
    optional: bool | None = None
    secret_name: str | None = None


class DownwardAPIVolumeFile(ApiObject, frozen=True, kw_only=True):
    """One fact as one file."""

    field_ref: ObjectFieldSelector | None = None
    mode: int | None = None
    path: str = ""
    resource_field_ref: ResourceFieldSelector | None = None
    user: int | None = None


class DownwardAPIVolumeSource(ApiObject, frozen=True, kw_only=True):
    """Facts about the pod as files."""

    default_mode: int | None = None
    default_user: int | None = None
    items: list[DownwardAPIVolumeFile] = []


class ClusterTrustBundleProjection(ApiObject, frozen=True, kw_only=True):
    """Trust anchors by name, or by signer and labels, in one PEM file."""

    label_selector: LabelSelector | None = None
    name: str | None = None
    optional: bool | None = None
    path: str = ""
    signer_name: str | None = None
    user: int | None = None


class ConfigMapProjection(ApiObject, frozen=True, kw_only=True):
    """A ConfigMap's keys as files of a projected volume."""

    items: list[KeyToPath] = []
    name: str = ""
    optional: bool | None = None


class DownwardAPIProjection(ApiObject, frozen=True, kw_only=True):
    """Facts about the pod as files of a projected volume."""

    items: list[DownwardAPIVolumeFile] = []


class PodCertificateProjection(ApiObject, frozen=True, kw_only=True):
    """A key and a certificate for the pod, made and renewed by the node."""

    certificate_chain_path: str | None = None
    credential_bundle_path: str | None = None
    key_path: str | None = None
    key_type: str = ""
    max_expiration_seconds: int | None = None
    signer_name: str = ""
    user: int | None = None
    user_annotations: dict[str, str] = {}


class SecretProjection(ApiObject, frozen=True, kw_only=True):
    """A Secret's keys as files of a projected volume."""

    items: list[KeyToPath] = []
    name: str = ""
    optional: bool | None = None


class ServiceAccountTokenProjection(ApiObject, frozen=True, kw_only=True):
    """A token for the pod's service account, renewed in time."""

    audience: str | None = None
    expiration_seconds: int | None = None
    path: str = ""
    user: int | None = None


class VolumeProjection(ApiObject, frozen=True, kw_only=True):
    """Exactly one of the sources."""

    cluster_trust_bundle: ClusterTrustBundleProjection | None = None
    config_map: ConfigMapProjection | None = None
    downward_api: DownwardAPIProjection | None = None
    pod_certificate: PodCertificateProjection | None = None
    secret: SecretProjection | None = None
    service_account_token: ServiceAccountTokenProjection | None = None


class ProjectedVolumeSource(ApiObject, frozen=True, kw_only=True):
    """Several sources in one directory."""

    default_mode: int | None = None
    default_user: int | None = None
    sources: list[VolumeProjection] = []
