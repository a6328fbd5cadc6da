"""Settings of node_status."""

import msgspec


class NodeStatusSettings(msgspec.Struct, frozen=True, kw_only=True):
    """Every field has the name of its KubeletConfiguration field or flag; times are seconds."""

    node_name: str = ""
    """flag `--hostname-override`; empty: this host's name in lower case"""
    node_ip: str = ""
    """flag `--node-ip`: one address, or two of different families, comma separated; empty: found"""
    port: int = 10250
    """the server's port, reported in `daemonEndpoints`"""
    cert_dir: str = "/var/lib/kubelet/pki"
    """flag `--cert-dir`: where kubelet.crt and kubelet.key lie when no certificate is configured"""
    tls_cert_file: str = ""
    """`tlsCertFile`: serving certificate given by the operator"""
    tls_private_key_file: str = ""
    """`tlsPrivateKeyFile`"""
    runtime_endpoint: str = "unix:///run/containerd/containerd.sock"
    image_service_endpoint: str = ""
    """`imageServiceEndpoint`; empty: the runtime's"""
    node_status_update_frequency_s: float = 10.0
    """`nodeStatusUpdateFrequency`"""
    node_status_max_images: int = 50
    """`nodeStatusMaxImages`; -1: all"""
    image_list_period_s: float = 30.0
    """how often images are listed (upstream `images`: 30 s)"""
    node_labels: dict[str, str] = {}
    """flag `--node-labels`"""
    register_with_taints: list[dict[str, str]] = []
    """`registerWithTaints`"""
    provider_id: str = ""
    """`providerID`"""
    enable_controller_attach_detach: bool = True
    """`enableControllerAttachDetach`"""
    local_storage_capacity_isolation: bool = True
    """`localStorageCapacityIsolation`: ephemeral-storage must be known before the node is Ready"""
    settle_s: float = 5.0
    """how long a start waits for its peers before it says what is missing: a daemon restart takes far less"""
    daemon_grace_s: float = 30.0
    """how long another daemon may be away before the node is not Ready (the runtime has the same 30 s upstream)"""
