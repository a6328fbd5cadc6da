"""A runtime room over a fake runtime and real files in a temporary folder."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from services.pod_sync.environment.model import EnvObjects, NodeFacts, PodContext
from services.pod_sync.environment.variables import ObjectNames
from services.pod_sync.images.manager import ImageManager
from services.pod_sync.images.model import PullSettings
from services.pod_sync.runtime.acts import Runtime
from services.pod_sync.runtime.host_files import HostFiles
from services.pod_sync.runtime.ports import Ports
from shared.errors import OctoletError
from shared.kube.types import Pod
from shared.messages.container_manager import ContainerExtras
from tests.pod_sync.environment.manifests import NODE, make_pod
from tests.pod_sync.runtime.fake_runtime import FakeRuntime

Event = tuple[str | None, str, str, str]


@dataclass
class World:
    """What outlives a crash of the process (runtime, files), and what events were emitted."""

    folder: Path
    cri: FakeRuntime = field(default_factory=FakeRuntime)
    events: list[Event] = field(default_factory=list)
    extras: ContainerExtras = field(default_factory=ContainerExtras)
    objects: EnvObjects = field(default_factory=EnvObjects)
    trouble: dict[str, OctoletError] = field(default_factory=dict)
    asked: list[Any] = field(default_factory=list)
    now: float = 0.0

    def __post_init__(self) -> None:
        self.pod_dir.mkdir(parents=True, exist_ok=True)
        (self.folder / "resolv.conf").write_text("nameserver 192.0.2.53\n")
        (self.folder / "hosts").write_text("127.0.0.1 n1\n")

    @property
    def pod_dir(self) -> Path:
        return self.folder / "pods" / "u1"

    @property
    def node(self) -> NodeFacts:
        return replace(NODE, root_dir=str(self.folder), pod_logs_dir=str(self.folder / "logs"))

    def event(self, container: str | None, type_: str, reason: str, message: str) -> None:
        self.events.append((container, type_, reason, message))

    def runtime(self, *, node: Callable[[], NodeFacts] | None = None) -> Runtime:
        """A new life of the process."""
        host = HostFiles(
            legacy_logs_dir=str(self.folder / "containers"),
            resolver_path=str(self.folder / "resolv.conf"),
            node_hosts_path=str(self.folder / "hosts"),
        )
        ports = Ports(node=node or (lambda: self.node), prepare_container=self._prepare, objects=self._objects)
        images = ImageManager(self.cri, PullSettings(), now=lambda: self.now)
        return Runtime(self.cri, images, ports=ports, host=host, now=lambda: self.now)

    async def _prepare(self, pod_uid: str, container: str) -> ContainerExtras:
        self.asked.append((pod_uid, container))
        if "prepare" in self.trouble:
            raise self.trouble["prepare"]
        return self.extras

    async def _objects(self, pod: Pod, names: ObjectNames) -> EnvObjects:
        self.asked.append(names)
        if "objects" in self.trouble:
            raise self.trouble["objects"]
        return self.objects

    def context(self, spec: dict[str, Any] | None = None, **fields: Any) -> PodContext:
        """A pod of that spec, as it is on this node."""
        made = {"pod": make_pod(spec), "pod_dir": str(self.pod_dir), "ips": ("10.88.0.7",), **fields}
        return PodContext(**made)
