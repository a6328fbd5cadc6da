"""Which API objects a pod refers to. A static pod may not: it has to start without an API server.

Source: upstream `apis/core/pods` (`HasAPIObjectReference`) with its order of checks.
"""

from collections.abc import Iterator

from shared.kube.pods import all_containers
from shared.kube.types import Pod, PodSpec, ProjectedVolumeSource, Volume


def first_api_reference(pod: Pod) -> str:
    """What a refusal names, such as `secrets`; empty when the pod stands alone."""
    return next(_references(pod), "")


def _references(pod: Pod) -> Iterator[str]:
    if pod.spec.service_account_name:
        yield "serviceaccounts"
    if any(_secrets(pod)):
        yield "secrets"
    if any(_config_maps(pod)):
        yield "configmaps"
    if pod.spec.resource_claims:
        yield "resourceclaims"
    for volume in pod.spec.volumes:
        yield from _of_volume(volume)


def _secrets(pod: Pod) -> Iterator[bool]:
    """One True per use of a secret."""
    yield bool(pod.spec.image_pull_secrets)
    for container in all_containers(pod):
        yield any(e.secret_ref is not None for e in container.env_from)
        yield any(v.value_from is not None and v.value_from.secret_key_ref is not None for v in container.env)
    yield from _volume_secrets(pod.spec)


def _volume_secrets(spec: PodSpec) -> Iterator[bool]:
    for volume in spec.volumes:
        yield volume.secret is not None or volume.azure_file is not None
        yield volume.csi is not None and volume.csi.node_publish_secret_ref is not None
        yield volume.projected is not None and any(s.secret is not None for s in volume.projected.sources)
        with_reference = (
            volume.cephfs,
            volume.cinder,
            volume.flex_volume,
            volume.rbd,
            volume.scale_io,
            volume.iscsi,
            volume.storageos,
        )
        yield any(source is not None and source.secret_ref is not None for source in with_reference)


def _config_maps(pod: Pod) -> Iterator[bool]:
    """One True per use of a config map."""
    for container in all_containers(pod):
        yield any(e.config_map_ref is not None for e in container.env_from)
        yield any(v.value_from is not None and v.value_from.config_map_key_ref is not None for v in container.env)
    for volume in pod.spec.volumes:
        yield volume.config_map is not None
        yield volume.projected is not None and any(s.config_map is not None for s in volume.projected.sources)


def _of_volume(volume: Volume) -> Iterator[str]:
    for source, text in (
        (volume.config_map, "configmaps (via configmap volumes)"),
        (volume.secret, "secrets (via secret volumes)"),
        (volume.csi, "csidrivers (via CSI volumes)"),
        (volume.glusterfs, "endpoints (via glusterFS volumes)"),
        (volume.persistent_volume_claim, "persistentvolumeclaims"),
        (volume.ephemeral, "persistentvolumeclaims (via ephemeral volumes)"),
        (volume.azure_file, "secrets (via azureFile volumes)"),
    ):
        if source is not None:
            yield text
    if volume.projected is not None:
        yield from _of_projected(volume.projected)


def _of_projected(projected: ProjectedVolumeSource) -> Iterator[str]:
    for source in projected.sources:
        for part, text in (
            (source.config_map, "configmaps (via projected volumes)"),
            (source.secret, "secrets (via projected volumes)"),
            (source.service_account_token, "serviceaccounts (via projected volumes)"),
            (source.cluster_trust_bundle, "clustertrustbundles"),
            (source.pod_certificate, "podcertificates"),
        ):
            if part is not None:
                yield text
