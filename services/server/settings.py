"""Settings of server."""

import msgspec


class ServerSettings(msgspec.Struct, frozen=True, kw_only=True):
    """Every field has the name of its KubeletConfiguration field or flag; times are seconds."""

    node_name: str = ""
    """flag `--hostname-override`; empty: this host's name"""
    root_dir: str = "/var/lib/kubelet"
    """flag `--root-dir`: its filesystem is the node's `fs` in the summary"""
    pod_logs_dir: str = "/var/log/pods"
    """`podLogsDir`"""
    runtime_endpoint: str = "unix:///run/containerd/containerd.sock"
    image_service_endpoint: str = ""
    address: str = "0.0.0.0"
    """`address`: where 10250 and the read-only port listen"""
    port: int = 10250
    """`port`"""
    read_only_port: int = 0
    """`readOnlyPort`; 0: none"""
    healthz_port: int = 10248
    """`healthzPort`; 0: none"""
    healthz_bind_address: str = "127.0.0.1"
    """`healthzBindAddress`"""
    enable_server: bool = True
    """`enableServer`"""
    enable_debugging_handlers: bool = True
    """`enableDebuggingHandlers`: logs, exec, configz and the like"""
    authentication: dict[str, dict[str, bool | str]] = {}
    """`authentication`: x509.clientCAFile, webhook.enabled, anonymous.enabled as configured"""
    authorization: dict[str, object] = {}
    """`authorization`: mode Webhook (the default) or AlwaysAllow"""
    tls_min_version: str = ""
    """`tlsMinVersion`: VersionTLS12 (the default) or VersionTLS13"""
    tls_cipher_suites: list[str] = []
    """`tlsCipherSuites`"""
    kubelet_configuration: dict[str, object] = {}
    """the whole effective KubeletConfiguration as `/configz` shows it; empty when this daemon was started by hand"""
    kubeconfig: str = ""
    """flag `--kubeconfig`; empty: standalone, so webhook authentication and authorization are impossible"""
