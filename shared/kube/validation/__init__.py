"""Is this a pod that the API server would create? Rules and texts of upstream `core/validation`, for API level v1.37.

Needed because static pods never pass an API server. `validate_pod(pod)` gives every error as the API words it, such as
`spec.containers[0].image: Required value`; none means valid. The pod must have its defaults already.

Not looked at, because they mean nothing on the node of a static pod: pod affinity, topology spread constraints, the rules
for Windows pods, and deprecated annotations.
"""

from shared.kube.types import Pod
from shared.kube.validation.containers import check_containers
from shared.kube.validation.errors import Errors
from shared.kube.validation.metadata import check_metadata
from shared.kube.validation.resources import check_pod_level
from shared.kube.validation.security import check_pod_security
from shared.kube.validation.spec import check_spec
from shared.kube.validation.volumes import check_volumes

__all__ = ["Errors", "validate_pod"]


def validate_pod(pod: Pod) -> Errors:
    """All errors of a pod that is about to be created, in the order of the API's own checks."""
    errors = Errors()
    check_metadata(errors, pod.metadata)
    volumes = check_volumes(errors, pod.spec)
    check_containers(errors, pod, volumes)
    check_spec(errors, pod.spec)
    check_pod_security(errors, pod.spec)
    check_pod_level(errors, pod)
    return errors
