"""Counts under upstream's names, as a scrape sees them."""

import asyncio
from pathlib import Path

from prometheus_client import CollectorRegistry

from services.pod_sync.metrics import PodCounts, PodSyncMetrics, rejection_label
from shared.messages.container_manager import Admitted
from tests.pod_sync.shell.node import Node, static_pod
from tests.pod_sync.shell.test_engine import phase_of, play, until


def test_pods_are_counted_by_what_they_are(tmp_path: Path) -> None:
    async def story(node: Node) -> None:
        registry = CollectorRegistry()
        registry.register(PodCounts(node.life.engine.intake, node.life.engine.dispatcher.pool))
        node.write(static_pod("u1"))
        node.write(static_pod("u2", "db"))
        node.peers.refused["u3"] = Admitted(admitted=False, reason="OutOfcpu")
        node.write(static_pod("u3", "big"))
        await until(lambda: phase_of(node, "u1") == phase_of(node, "u2") == "Running")
        assert registry.get_sample_value("kubelet_desired_pods", {"static": "true"}) == 3
        assert registry.get_sample_value("kubelet_active_pods", {"static": "true"}) == 2
        assert registry.get_sample_value("kubelet_active_pods", {"static": ""}) == 0
        working = {"lifecycle": "sync", "config": "desired", "static": "true"}
        assert registry.get_sample_value("kubelet_working_pods", working) == 2
        node.unlink("u1")
        ending = {"lifecycle": "terminating", "config": "orphan", "static": "true"}
        assert registry.get_sample_value("kubelet_working_pods", ending) == 1

    play(tmp_path, story)


def test_what_happens_to_a_pod_is_counted_and_timed(tmp_path: Path) -> None:
    registry = CollectorRegistry()
    metrics = PodSyncMetrics(registry)

    async def story(node: Node) -> None:
        node.restart_with(metrics)
        pod = static_pod("u1", containers=2)
        node.write(pod)
        await until(lambda: phase_of(node, "u1") == "Running")
        node.unlink("u1")
        node.write(pod)
        await until(lambda: node.life.engine.dispatcher.pool.workers["u1"].restart_requested)
        await until(lambda: len([s for s in node.world.starts if s[2] == 1]) == 2)
        await asyncio.sleep(1.0)

    play(tmp_path, story)
    value = registry.get_sample_value
    assert value("kubelet_started_pods_total") == 2
    assert value("kubelet_run_podsandbox_duration_seconds_count", {"runtime_handler": ""}) == 2
    assert value("kubelet_started_containers_total", {"container_type": "container"}) == 4
    assert value("kubelet_restarted_pods_total", {"static": "true"}) == 1
    assert value("kubelet_containers_per_pod_count_sum") == 4
    assert value("kubelet_pod_worker_duration_seconds_count", {"operation_type": "create"}) == 2
    assert value("kubelet_pod_worker_duration_seconds_count", {"operation_type": "kill"}) == 1
    assert value("kubelet_pod_worker_start_duration_seconds_count") == 2
    assert (value("kubelet_pod_start_duration_seconds_sum") or 0) < 20


def test_reasons_of_rejection_are_a_bounded_set() -> None:
    assert rejection_label("OutOfcpu") == "OutOfcpu"
    assert rejection_label("OutOfexample.com/gpu") == "OutOfExtendedResources"
    assert rejection_label("NodeAffinity") == "Other"
