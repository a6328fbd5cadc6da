"""Environment variables that announce Services. Pure (upstream `pkg/kubelet/envvars` and getServiceEnvVarMap)."""

from collections.abc import Iterable
from typing import Final

from services.pod_sync.environment.model import ServiceFacts

_MASTER_NAMESPACE: Final = "default"
_MASTER_SERVICE: Final = "kubernetes"


def service_variables(
    services: Iterable[ServiceFacts], *, namespace: str, enable_service_links: bool
) -> dict[str, str]:
    """Variables for a pod of that namespace.

    `default/kubernetes` is always announced, the namespace's own Services only with service links; of two of the same
    name the namespace's own wins. Services without a cluster IP are left out.
    """
    chosen: dict[str, ServiceFacts] = {}
    for service in services:
        if service.cluster_ip in ("", "None"):
            continue
        own = service.namespace == namespace
        master = service.namespace == _MASTER_NAMESPACE and service.name == _MASTER_SERVICE
        if (own and (enable_service_links or master)) or (master and service.name not in chosen):
            chosen[service.name] = service
    variables: dict[str, str] = {}
    for name in sorted(chosen):
        variables.update(_variables_of(chosen[name]))
    return variables


def _variables_of(service: ServiceFacts) -> dict[str, str]:
    prefix = _variable_name(service.name)
    variables = {f"{prefix}_SERVICE_HOST": service.cluster_ip}
    if not service.ports:
        return variables
    variables[f"{prefix}_SERVICE_PORT"] = str(service.ports[0].port)
    for port in service.ports:
        if port.name:
            variables[f"{prefix}_SERVICE_PORT_{_variable_name(port.name)}"] = str(port.port)
    host = f"[{service.cluster_ip}]" if ":" in service.cluster_ip else service.cluster_ip
    for index, port in enumerate(service.ports):
        protocol = (port.protocol or "TCP").lower()
        url = f"{protocol}://{host}:{port.port}"
        if index == 0:
            variables[f"{prefix}_PORT"] = url
        link = f"{prefix}_PORT_{port.port}_{protocol.upper()}"
        variables[link] = url
        variables[f"{link}_PROTO"] = protocol
        variables[f"{link}_PORT"] = str(port.port)
        variables[f"{link}_ADDR"] = service.cluster_ip
    return variables


def _variable_name(name: str) -> str:
    return name.replace("-", "_").upper()
