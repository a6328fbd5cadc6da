"""What two rows of a pod say happened between them."""

import hypothesis.strategies as st
import msgspec
from hypothesis import given, settings

from services.pleg.backoff import FIRST_S, Backoff
from services.pleg.lifecycle import happened
from shared.messages.pleg import ContainerState, RuntimePod, SandboxState

STATES = ("created", "running", "exited", "unknown")


def row(containers: dict[str, str], sandboxes: dict[str, bool] | None = None) -> RuntimePod:
    return RuntimePod(
        name="web",
        namespace="default",
        listed_at_mono=1.0,
        sandboxes=[
            SandboxState(id=s, name="web", namespace="default", attempt=0, ready=ready, created_at_ns=1)
            for s, ready in (sandboxes or {}).items()
        ],
        containers=[
            ContainerState(id=c, name="c", attempt=0, sandbox_id="s", state=state) for c, state in containers.items()
        ],
    )


rows = st.none() | st.builds(
    row,
    st.dictionaries(st.sampled_from("abc"), st.sampled_from(STATES)),
    st.dictionaries(st.sampled_from("st"), st.booleans()),
)


def names(old: RuntimePod | None, new: RuntimePod | None) -> list[str]:
    return [event.event for event in happened(old, new)]


def test_each_change_has_its_event() -> None:
    before = row({"stays": "running", "ends": "running", "goes": "exited"}, {"old": True})
    after = row(
        {"stays": "running", "ends": "exited", "comes": "running", "waits": "created"}, {"old": False, "new": True}
    )
    assert sorted(names(before, after)) == [
        "container.died",
        "container.removed",
        "container.started",
        "sandbox.died",
        "sandbox.started",
    ]
    assert sorted(names(after, None)) == ["container.removed"] * 4 + ["sandbox.removed"] * 2


def test_a_death_is_told_with_its_code_reason_and_age() -> None:
    ended = row({"c1": "exited"})
    container = msgspec.structs.replace(
        ended.containers[0], exit_code=137, reason="OOMKilled", started_at_ns=10**9, finished_at_ns=3 * 10**9
    )
    [event] = happened(row({"c1": "running"}), msgspec.structs.replace(ended, containers=[container]))
    assert event.fields == {
        "container": "c",
        "container_id": "c1",
        "attempt": 0,
        "exit_code": 137,
        "reason": "OOMKilled",
        "duration_s": 2.0,
    }


@settings(max_examples=50)
@given(rows)
def test_nothing_happened_between_a_row_and_itself(same: RuntimePod | None) -> None:
    assert names(same, same) == []


@settings(max_examples=100)
@given(rows, rows)
def test_what_is_gone_is_removed_exactly_once(old: RuntimePod | None, new: RuntimePod | None) -> None:
    gone = {c.id for c in old.containers} if old else set()
    gone -= {c.id for c in new.containers} if new else set()
    told = [e.fields["container_id"] for e in happened(old, new) if e.event == "container.removed"]
    assert sorted(map(str, told)) == sorted(gone)


@settings(max_examples=50)
@given(st.lists(st.floats(0, 1), min_size=1, max_size=20), st.floats(0.2, 60))
def test_pauses_double_up_to_their_limit_and_begin_anew_when_it_works(chances: list[float], limit: float) -> None:
    given_out = iter([*chances, 1.0])
    backoff = Backoff(limit, lambda: next(given_out))
    for number, chance in enumerate(chances):
        full = min(limit, FIRST_S * 2**number)
        pause = backoff.next_s()
        assert full / 2 <= pause <= full
        assert abs(pause - full * (0.5 + 0.5 * chance)) < 1e-9
    backoff.reset()
    assert backoff.next_s() == FIRST_S
