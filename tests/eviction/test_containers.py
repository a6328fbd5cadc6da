"""Which dead containers, sandboxes and log folders go."""

from hypothesis import given
from hypothesis import strategies as st

from services.eviction.containers.core import (
    container_id_of_link,
    plan_containers,
    plan_log_folders,
    plan_sandboxes,
    pod_uid_of_log_folder,
)
from services.eviction.containers.model import GONE, DeadContainer, PodFate, Policy, Sandbox

LIVE = PodFate(content_removable=False, runtime_removable=False)
DONE = PodFate(content_removable=False, runtime_removable=True)
POLICY = Policy()
NOW = 1000


def dead(id: str, pod: str = "p", name: str = "c", at: int = 0) -> DeadContainer:
    return DeadContainer(id, pod, name, at)


def ids(plan: list[DeadContainer] | list[Sandbox]) -> list[str]:
    return [x.id for x in plan]


def test_the_newest_dead_container_of_each_name_stays() -> None:
    all_dead = [dead("a1", at=1), dead("a3", at=3), dead("a2", at=2), dead("b1", name="d", at=1)]
    assert ids(plan_containers(all_dead, {"p": LIVE}, POLICY, NOW)) == ["a1", "a2"]


def test_of_a_pod_whose_content_may_go_nothing_stays() -> None:
    all_dead = [dead("a1", at=1), dead("a2", at=2)]
    assert ids(plan_containers(all_dead, {"p": GONE}, POLICY, NOW)) == ["a1", "a2"]


def test_a_pod_that_is_not_known_to_be_gone_is_treated_as_if_it_ran() -> None:
    assert ids(plan_containers([dead("a1", at=1), dead("a2", at=2)], {}, POLICY, NOW)) == ["a1"]


def test_when_disk_is_short_pods_that_will_not_run_again_lose_everything() -> None:
    all_dead = [dead("a1"), dead("b1", pod="q")]
    fates = {"p": DONE, "q": LIVE}
    assert ids(plan_containers(all_dead, fates, POLICY, NOW)) == []
    assert ids(plan_containers(all_dead, fates, POLICY, NOW, all_stopped=True)) == ["a1"]


def test_containers_younger_than_the_minimum_age_are_not_looked_at() -> None:
    young = dead("new", at=NOW)
    assert plan_containers([young], {"p": GONE}, Policy(min_age_s=1e-9), NOW) == []
    assert ids(plan_containers([young], {"p": GONE}, POLICY, NOW)) == ["new"]


def test_the_total_is_taken_evenly_from_pods_then_from_the_oldest() -> None:
    all_dead = [dead(f"{pod}{n}", pod=pod, at=n) for pod in "pq" for n in range(3)]
    plan = plan_containers(all_dead, {}, Policy(max_per_container=3, max_total=2), NOW)
    assert sorted(ids(plan)) == ["p0", "p1", "q0", "q1"]
    plan = plan_containers(all_dead, {}, Policy(max_per_container=-1, max_total=1), NOW)
    assert len(plan) == 5


@given(
    st.lists(st.tuples(st.sampled_from("pqr"), st.sampled_from("cd"), st.integers(0, 50)), max_size=15),
    st.sets(st.sampled_from("pqr")),
    st.booleans(),
)
def test_a_plan_carried_out_and_made_again_is_empty_and_no_pod_loses_its_last(
    containers: list[tuple[str, str, int]], gone: set[str], short: bool
) -> None:
    all_dead = [dead(str(n), pod=p, name=c, at=at) for n, (p, c, at) in enumerate(containers)]
    fates = {p: GONE if p in gone else LIVE for p in "pqr"}
    removed = set(plan_containers(all_dead, fates, POLICY, NOW, all_stopped=short))
    left = [c for c in all_dead if c not in removed]
    assert plan_containers(left, fates, POLICY, NOW, all_stopped=short) == []
    for pod in "pqr":
        for name in "cd":
            had = [c for c in all_dead if (c.pod_uid, c.name) == (pod, name)]
            has = [c for c in left if (c.pod_uid, c.name) == (pod, name)]
            assert len(has) == (0 if pod in gone else min(1, len(had)))
            if has:
                assert has[0].created_at_ns == max(c.created_at_ns for c in had)


def sandbox(id: str, at: int, *, in_use: bool = False, pod: str = "p") -> Sandbox:
    return Sandbox(id, pod, at, in_use)


def test_the_newest_sandbox_of_a_pod_stays_and_none_that_is_in_use_goes() -> None:
    all_of = [sandbox("new", 3), sandbox("old", 1), sandbox("used", 2, in_use=True)]
    assert ids(plan_sandboxes(all_of, {"p": LIVE})) == ["old"]
    assert ids(plan_sandboxes(all_of, {"p": GONE})) == ["old", "new"]
    assert ids(plan_sandboxes(all_of, {})) == ["old"]


def test_when_disk_is_short_sandboxes_of_stopped_pods_go_too() -> None:
    assert ids(plan_sandboxes([sandbox("s", 1)], {"p": DONE}, all_stopped=True)) == ["s"]


def test_log_folders_go_with_their_pods() -> None:
    folders = ["default_web_uid-1", "kube-system_a_b_uid-2", "odd"]
    assert pod_uid_of_log_folder("kube-system_a_b_uid-2") == "uid-2"
    assert plan_log_folders(folders, {"uid-1": LIVE, "uid-2": GONE}) == ["kube-system_a_b_uid-2"]


def test_a_link_names_its_container() -> None:
    assert container_id_of_link("web_default_c-0123abcd.log") == "0123abcd"
    assert container_id_of_link("web_default_c-01.log") == ""
    assert container_id_of_link("noid.log") == ""
