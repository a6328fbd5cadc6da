"""Names of groups for both drivers."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.cgroups.names import (
    CgroupName,
    Driver,
    PodGroups,
    QosClass,
    from_systemd_unit,
    parse_configured,
    parse_root,
    pod_uid_of,
)
from shared.errors import Invalid

uids = st.uuids().map(str)
parts = st.lists(st.from_regex(r"[a-z0-9][a-z0-9-]{0,8}[a-z0-9]", fullmatch=True), min_size=1, max_size=4)


@pytest.mark.parametrize(
    ("qos", "cgroupfs", "systemd"),
    [
        (QosClass.GUARANTEED, "/kubepods/pod12-ab", "/kubepods.slice/kubepods-pod12_ab.slice"),
        (
            QosClass.BURSTABLE,
            "/kubepods/burstable/pod12-ab",
            "/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod12_ab.slice",
        ),
        (
            QosClass.BEST_EFFORT,
            "/kubepods/besteffort/pod12-ab",
            "/kubepods.slice/kubepods-besteffort.slice/kubepods-besteffort-pod12_ab.slice",
        ),
    ],
)
def test_a_pods_group_is_named_as_upstream_names_it(qos: QosClass, cgroupfs: str, systemd: str) -> None:
    name = PodGroups().pod("12-ab", qos)
    assert (name.path(Driver.CGROUPFS), name.path(Driver.SYSTEMD)) == (cgroupfs, systemd)


def test_a_cgroup_root_is_put_in_front_with_either_driver() -> None:
    groups = PodGroups(parse_root("/my-node/x"))
    assert groups.kubepods.path(Driver.CGROUPFS) == "/my-node/x/kubepods"
    assert groups.kubepods.path(Driver.SYSTEMD) == "/my_node.slice/my_node-x.slice/my_node-x-kubepods.slice"


def test_a_name_prints_as_upstreams_messages_print_it() -> None:
    assert str(PodGroups().pod("u", QosClass.BURSTABLE)) == "[kubepods burstable podu]"


@pytest.mark.parametrize("text", ["", "/", "//"])
def test_an_empty_cgroup_root_is_the_root_of_the_hierarchy(text: str) -> None:
    assert parse_root(text) == CgroupName()


@pytest.mark.parametrize("text", ["/a_b", "/a/../b", "/."])
def test_a_cgroup_root_that_no_driver_can_name_is_refused(text: str) -> None:
    with pytest.raises(Invalid, match="not a valid component"):
        parse_root(text)


@given(parts)
def test_a_systemd_unit_names_the_same_group_when_read_back(parts: list[str]) -> None:
    name = CgroupName(tuple(parts))
    assert from_systemd_unit(name.path(Driver.SYSTEMD)) == name


@given(uids, st.sampled_from(QosClass), st.sampled_from(Driver))
def test_a_pods_uid_and_class_are_read_back_from_its_directory(uid: str, qos: QosClass, driver: Driver) -> None:
    groups = PodGroups(parse_root("/some-root"))
    name = groups.pod(uid, qos)
    assert pod_uid_of(name.path(driver).rsplit("/", 1)[1], driver) == uid
    assert groups.qos_of(name) is qos


@pytest.mark.parametrize("directory", ["burstable", "besteffort", "pod", "podapod", "xpod1", "crio-123.scope"])
def test_other_directories_are_no_pods(directory: str) -> None:
    assert pod_uid_of(directory, Driver.CGROUPFS) is None


@pytest.mark.parametrize("directory", ["kubepods-burstable.slice", "kubepods-pod12", "kubepods-podx.scope"])
def test_other_units_are_no_pods(directory: str) -> None:
    assert pod_uid_of(directory, Driver.SYSTEMD) is None


@pytest.mark.parametrize(
    ("path", "driver"),
    [("/daemons/all", Driver.CGROUPFS), ("/system.slice", Driver.SYSTEMD), ("/a.slice/a-b.slice", Driver.SYSTEMD)],
)
def test_a_group_that_is_configured_by_its_path_is_found_at_that_path(path: str, driver: Driver) -> None:
    assert parse_configured(path, driver).path(driver) == path
