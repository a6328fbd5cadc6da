"""Settings of pleg."""

import msgspec


class PlegSettings(msgspec.Struct, frozen=True, kw_only=True):
    """All have upstream's default where upstream has the setting."""

    runtime_endpoint: str = "unix:///run/containerd/containerd.sock"
    """KubeletConfiguration `containerRuntimeEndpoint`."""

    relist_period_s: float = 1.0
    """From the end of one full listing to the start of the next (upstream `pleg`: `genericPlegRelistPeriod`)."""

    runtime_request_timeout_s: float = 120.0
    """For one listing call (KubeletConfiguration `runtimeRequestTimeout`)."""

    inspect_timeout_s: float = 10.0
    """For one status call. Shorter than upstream's 2 min, since the listing of all pods waits for it; the pod concerned
    carries the error and is tried again by the next listing."""

    inspect_at_once: int = 8
    """Pods inspected side by side by one full listing."""

    status_period_s: float = 5.0
    """Between two reads of the runtime's own status (upstream `updateRuntimeUp`)."""

    status_timeout_s: float = 10.0
    """For one read of status, version or configuration. Readers judge by the time of the last good one."""

    retry_max_s: float = 2.0
    """Longest pause, before jitter, between attempts while the runtime is away."""

    feature_gates: dict[str, bool] = {}
    """KubeletConfiguration `featureGates`. Of meaning here: CRIListStreaming (alpha, off), listings come in parts."""
