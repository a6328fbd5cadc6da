"""A volume_manager without a bus: a reconciler over a fake machine, run until nothing is left to do or it is killed."""

import asyncio
from collections.abc import Coroutine, Sequence
from typing import Any, Generic, TypeVar

from services.volume_manager.model import Action, Failed, Outcome, VolumeKey
from services.volume_manager.reconciler import Reconciler, Tables
from shared.kube.types import Pod
from shared.messages.pleg import RuntimePod
from shared.messages.pod_sync import PodEntry
from shared.messages.volume_manager import PodVolumes
from tests.volume_manager.fake_machine import FakeMachine

V = TypeVar("V")
ROOT = "/root"


class Rows(dict[str, V], Generic[V]):
    """A table, followed or owned."""

    complete = True

    def put(self, key: str, value: V) -> None:
        self[key] = value

    def delete(self, key: str) -> None:
        self.pop(key, None)


class Recorder:
    """`reconciler.Report` that keeps what failed."""

    def __init__(self) -> None:
        self.failures: list[tuple[str, Action, Failed]] = []
        self.mounted: list[str] = []

    def operation_ended(self, uid: str, pod: Pod | None, action: Action, outcome: Outcome, duration_s: float) -> None:
        if isinstance(outcome, Failed):
            self.failures.append((uid, action, outcome))

    def all_mounted(self, uid: str, volumes: Sequence[VolumeKey], duration_s: float) -> None:
        self.mounted.append(uid)

    def published(self, uid: str, row: PodVolumes | None) -> None:
        return


class Daemon:
    """One life of the daemon. `pods` and `runtime` outlive it; what it publishes does not."""

    def __init__(self, machine: FakeMachine, pods: Rows[PodEntry], runtime: Rows[RuntimePod] | None = None) -> None:
        self.machine = machine
        self.pods = pods
        self.volumes: Rows[PodVolumes] = Rows()
        self.report = Recorder()
        self.now = 1000.0
        self._tasks: list[asyncio.Task[None]] = []
        self.reconciler = Reconciler(
            ROOT,
            machine,
            tables=Tables(pods, Rows() if runtime is None else runtime, self.volumes),
            report=self.report,
            start=self._start,
            clock=lambda: self.now,
        )

    def _start(self, work: Coroutine[Any, Any, None]) -> None:
        self._tasks.append(asyncio.get_running_loop().create_task(work))

    async def boot(self) -> None:
        """Find what is there, then learn of the pods, as the shell does."""
        await self.reconciler.scan()
        for uid, entry in list(self.pods.items()):
            self.reconciler.pod_changed(uid, entry)
        await self.settle()

    async def settle(self) -> None:
        """Until no operation runs. Raises what killed the process."""
        while self._tasks:
            tasks, self._tasks = self._tasks, []
            await asyncio.gather(*tasks)

    def run(self) -> "Daemon":
        """One whole life, from the start until nothing is left to do."""
        asyncio.run(self.boot())
        return self
