"""Defaults that the API server fills into a pod it reads (upstream `core/v1/defaults`), for API level v1.37.

Needed because static pods never pass an API server. `default_pod(pod)` is idempotent.
"""

from shared.kube.defaults.pods import default_pod

__all__ = ["default_pod"]
