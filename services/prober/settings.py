"""Settings of prober, read from RUN/settings/prober.json."""

import msgspec


class ProberSettings(msgspec.Struct, frozen=True, kw_only=True):
    """Defaults are the kubelet's own."""

    runtime_endpoint: str = "unix:///run/containerd/containerd.sock"
    """where exec probes are run (KubeletConfiguration `containerRuntimeEndpoint`)"""
    runtime_request_timeout_s: float = 120.0
    """seconds added to an exec probe's own timeout before the runtime counts as away
    (KubeletConfiguration `runtimeRequestTimeout`)"""
