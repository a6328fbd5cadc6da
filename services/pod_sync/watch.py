"""What happens to pods, for whoever counts it. The adapter to Prometheus is `metrics`."""


class Watch:
    """Called where it happens; does nothing by itself. Durations are seconds."""

    def run_ended(self, operation: str, duration_s: float) -> None:
        """One run of a pod worker; `operation` is create, sync or kill."""

    def worker_began(self, after_s: float) -> None:
        """A pod's first run begins, that long after the pod was first seen."""

    def pod_running(self, after_s: float) -> None:
        """A pod is Running for the first time, that long after it was first seen."""

    def sandbox_made(self, handler: str, duration_s: float) -> None:
        """A sandbox was made."""

    def sandbox_failed(self, handler: str) -> None:
        """A sandbox could not be made."""

    def container_started(self, kind: str) -> None:
        """`kind` is container, init_container or ephemeral_container."""

    def container_failed(self, kind: str, reason: str) -> None:
        """A container could not be started; `reason` is its waiting reason."""

    def admitted(self, containers: int) -> None:
        """A pod with that many containers of all kinds was admitted."""

    def rejected(self, reason: str) -> None:
        """A pod was not admitted."""

    def orphan_found(self) -> None:
        """The runtime ran a pod that nobody knew."""

    def pod_restarted(self, *, static: bool) -> None:
        """A pod came again under the same UID after it had ended."""
