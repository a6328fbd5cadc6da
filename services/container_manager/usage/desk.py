"""Answers `usage`: one reading at a time in a thread of its own, shared by all who can do with its age."""

import asyncio
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from services.container_manager.capacity import machine
from services.container_manager.capacity.model import Machine
from services.container_manager.cgroups.model import Policy
from services.container_manager.metrics import ManagerMetrics
from services.container_manager.usage.own import own_group
from services.container_manager.usage.reader import Root, UsageReader
from shared.bus import Call, TableView
from shared.cgroups.mounts import Hierarchies
from shared.cgroups.names import CgroupName
from shared.messages.container_manager import CgroupUsage, Usage, UsageReply
from shared.messages.pleg import RuntimePod

System = tuple[tuple[str, str], ...]
"""(label, path) of groups that are not pods"""


class UsageDesk:
    """`pod_names` says which groups of pods there are now."""

    def __init__(
        self,
        hierarchies: Hierarchies,
        found: Machine,
        policy: Policy,
        *,
        pod_names: Callable[[], dict[str, CgroupName]],
        runtime: TableView[RuntimePod],
        system: System,
        metrics: ManagerMetrics,
    ) -> None:
        self._reader = UsageReader(hierarchies)
        self._machine = found
        self._policy = policy
        self._pod_names = pod_names
        self._runtime = runtime
        self._system = system
        self._metrics = metrics
        self._lock = asyncio.Lock()
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="usage")
        self._last: dict[bool, tuple[float, UsageReply]] = {}

    async def handle_usage(self, question: Usage, call: Call) -> UsageReply:
        """A reading that began at most `max_age_s` before now, or a new one."""
        asked_mono = time.monotonic()
        async with self._lock:
            for whole in (True,) if question.pods else (False, True):
                read_mono, reply = self._last.get(whole, (float("-inf"), None))
                if reply is not None and read_mono >= asked_mono - question.max_age_s:
                    return reply
            started = time.monotonic()
            names = self._pod_names() if question.pods else {}
            wanted = {uid: self._running(uid) for uid in names}
            loop = asyncio.get_running_loop()
            reply = await loop.run_in_executor(self._thread, lambda: self._read(names, wanted, whole=question.pods))
            self._last[question.pods] = (started, reply)
            self._metrics.usage_seconds.observe(time.monotonic() - started)
            return reply

    def _running(self, uid: str) -> frozenset[str] | None:
        pod = self._runtime.get(uid)
        return frozenset(c.id for c in pod.containers if c.state == "running") if pod is not None else None

    def _read(
        self, names: dict[str, CgroupName], wanted: dict[str, frozenset[str] | None], *, whole: bool
    ) -> UsageReply:
        if whole:
            self._reader.rates.begin_pass()
        tasks, swap_used = machine.read_tasks_and_swap()
        hugepages = sum(size * pages for size, pages in self._machine.hugepages.items())
        root = Root(self._machine.memory_bytes, hugepages, swap_used)
        kubepods = self._policy.groups.kubepods.path(self._policy.driver)
        pods = [p for uid, name in names.items() if (p := self._reader.read_pod(uid, name, wanted[uid])) is not None]
        reply = UsageReply(
            at=time.time(),
            node=self._reader.read_root(root),
            pods_group=self._reader.read_group(kubepods, "pods") or CgroupUsage(name="pods"),
            pods=pods,
            system=[u for label, path in self._system if (u := self._reader.read_group(path, label)) is not None],
            memory_total_bytes=self._machine.memory_bytes,
            pids_max=self._machine.pids_max,
            pids_current=tasks,
        )
        if whole:
            self._reader.rates.end_pass()
        return reply


def system_groups(hierarchies: Hierarchies, *, kubelet: str, runtime: str, system: str) -> System:
    """The groups that the summary shows beside pods, by upstream's labels; those that are not known are left out."""
    own = kubelet or own_group(Path("/proc/self/cgroup").read_text(), hierarchies.version)
    named = (("kubelet", own), ("runtime", runtime), ("misc", system))
    return tuple((label, "/" + path.strip("/")) for label, path in named if path.strip("/"))
