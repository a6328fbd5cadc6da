"""Pods for tests, made through CRI itself with the labels that tie objects to a pod."""

from shared.cri import api
from shared.cri.client import RuntimeClient

BUSYBOX = "docker.io/library/busybox:1.36"


def sandbox_config(
    uid: str, *, name: str = "web", attempt: int = 0, cgroup_parent: str = "", log_directory: str = ""
) -> api.PodSandboxConfig:
    """A pod in the node's network: nothing to set up, so it starts quickly. No logs without a folder for them."""
    namespaces = api.NamespaceOption(network=api.NODE, pid=api.CONTAINER)
    return api.PodSandboxConfig(
        metadata=api.PodSandboxMetadata(name=name, uid=uid, namespace="default", attempt=attempt),
        labels={
            "io.kubernetes.pod.name": name,
            "io.kubernetes.pod.namespace": "default",
            "io.kubernetes.pod.uid": uid,
        },
        annotations={"note": "kept"},
        log_directory=log_directory,
        linux=api.LinuxPodSandboxConfig(
            cgroup_parent=cgroup_parent,
            security_context=api.LinuxSandboxSecurityContext(namespace_options=namespaces),
        ),
    )


def container_config(
    sandbox: api.PodSandboxConfig, *, name: str = "c", attempt: int = 0, command: tuple[str, ...] = ("sleep", "100000")
) -> api.ContainerConfig:
    namespaces = sandbox.linux.security_context.namespace_options
    return api.ContainerConfig(
        metadata=api.ContainerMetadata(name=name, attempt=attempt),
        image=api.ImageSpec(image=BUSYBOX),
        command=command,
        labels={**sandbox.labels, "io.kubernetes.container.name": name},
        annotations={"io.kubernetes.container.restartCount": str(attempt)},
        log_path=f"{name}.log",
        linux=api.LinuxContainerConfig(
            resources=api.LinuxContainerResources(cpu_shares=102, memory_limit_in_bytes=64 * 2**20),
            security_context=api.LinuxContainerSecurityContext(namespace_options=namespaces),
        ),
    )


async def run_sandbox(cri: RuntimeClient, config: api.PodSandboxConfig) -> str:
    return (await cri.run_pod_sandbox(api.RunPodSandboxRequest(config=config))).pod_sandbox_id


async def create_container(
    cri: RuntimeClient, sandbox_id: str, sandbox: api.PodSandboxConfig, config: api.ContainerConfig
) -> str:
    request = api.CreateContainerRequest(pod_sandbox_id=sandbox_id, config=config, sandbox_config=sandbox)
    return (await cri.create_container(request)).container_id


async def run_pod(
    cri: RuntimeClient,
    uid: str,
    *,
    name: str = "web",
    command: tuple[str, ...] = ("sleep", "100000"),
    cgroup_parent: str = "",
    log_directory: str = "",
) -> tuple[str, str]:
    """A pod with one running container; returns the sandbox's and the container's id."""
    sandbox = sandbox_config(uid, name=name, cgroup_parent=cgroup_parent, log_directory=log_directory)
    sandbox_id = await run_sandbox(cri, sandbox)
    container_id = await create_container(cri, sandbox_id, sandbox, container_config(sandbox, command=command))
    await cri.start_container(api.StartContainerRequest(container_id=container_id))
    return sandbox_id, container_id
