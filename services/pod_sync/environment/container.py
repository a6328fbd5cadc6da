"""The configuration of one container instance. Pure (upstream `kuberuntime`, generateContainerConfig)."""

from collections.abc import Iterable, Mapping
from typing import Final

from services.pod_sync.environment.metadata import container_annotations, container_labels, container_log_path
from services.pod_sync.environment.model import AnyContainer, ConfigError, ContainerInputs, NodeFacts, PodContext
from services.pod_sync.environment.mounts import container_devices, container_mounts
from services.pod_sync.environment.resources import container_resources
from services.pod_sync.environment.security import container_security
from shared.cri import api
from shared.kube.expansion import expand, lookup_in

_RTMIN_PLUS: Final = "SIGRTMIN+"
_RTMAX_MINUS: Final = "SIGRTMAX-"


def container_config(
    pod: PodContext, container: AnyContainer, inputs: ContainerInputs, *, node: NodeFacts
) -> api.ContainerConfig:
    """The configuration for CreateContainer. Raises ConfigError."""
    lookup = lookup_in(inputs.environment)
    return api.ContainerConfig(
        metadata=api.ContainerMetadata(name=container.name, attempt=inputs.attempt),
        image=api.ImageSpec(image=inputs.image_ref, user_specified_image=container.image),
        command=[expand(word, lookup) for word in container.command],
        args=[expand(word, lookup) for word in container.args],
        working_dir=container.working_dir or "",
        envs=_envs(inputs.extras.env, inputs.environment),
        mounts=container_mounts(pod, container, inputs, node=node),
        devices=container_devices(pod, container, inputs),
        CDI_devices=[api.CDIDevice(name=name) for name in inputs.extras.cdi_devices],
        labels=container_labels(pod.pod, container.name),
        annotations=container_annotations(
            pod.pod, container, attempt=inputs.attempt, extra=dict(inputs.extras.annotations)
        ),
        log_path=container_log_path(container.name, inputs.attempt),
        stdin=bool(container.stdin),
        stdin_once=bool(container.stdin_once),
        tty=bool(container.tty),
        linux=api.LinuxContainerConfig(
            resources=_resources(pod, container, inputs, node=node),
            security_context=container_security(pod, container, inputs, node=node),
        ),
        stop_signal=_stop_signal(container, node),
    )


def stop_signal(name: str) -> str:
    """CRI's name of a signal that the API names, such as `SIGNAL_SIGRTMINPLUS1`. Raises ConfigError."""
    key = f"SIGNAL_{name}"
    if name.startswith(_RTMIN_PLUS):
        key = f"SIGNAL_SIGRTMINPLUS{name.removeprefix(_RTMIN_PLUS)}"
    elif name.startswith(_RTMAX_MINUS):
        key = f"SIGNAL_SIGRTMAXMINUS{name.removeprefix(_RTMAX_MINUS)}"
    try:
        api.Signal.Value(key)
    except ValueError as error:
        raise ConfigError(f'unknown stop signal "{name}"') from error
    return key


def _stop_signal(container: AnyContainer, node: NodeFacts) -> str | None:
    """Feature gate ContainerStopSignals; without it the runtime takes the image's signal."""
    name = container.lifecycle.stop_signal if container.lifecycle is not None else None
    return stop_signal(name) if name and node.container_stop_signals else None


def _envs(extra: Mapping[str, str], variables: Mapping[str, str]) -> Iterable[api.KeyValue]:
    """Device plugins' variables first: one of the spec with the same name follows, and the runtime lets the last win."""
    for scope in (extra, variables):
        for name, value in scope.items():
            yield api.KeyValue(key=name, value=value.encode("utf-8", "surrogateescape"))


def _resources(
    pod: PodContext, container: AnyContainer, inputs: ContainerInputs, *, node: NodeFacts
) -> api.LinuxContainerResources:
    result = container_resources(pod.pod, container, node, exclusive_cpus=inputs.exclusive_cpus)
    extras = inputs.extras
    result.cpuset_cpus = extras.cpuset_cpus
    result.cpuset_mems = extras.cpuset_mems
    result.unified.update(extras.unified)
    if extras.oom_score_adj is not None:
        result.oom_score_adj = extras.oom_score_adj
    return result
