"""RunFinished states the digest of the application state that its run came to; whoever folds the run must come to it, too."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chains import Chain, Clock
from recordings import events_of, named
from state_fleet import set_all
from tachograph.core.canonical import encode_body
from tachograph.core.ports import ForkOptions, ReplayOptions
from tachograph.core.replay import VerdictStatus
from tachograph.core.state import empty, fold, state_digest, values_digest
from tachograph.producers import Recorder
from tachograph.replay_workers import fork, replay
from tachograph.schemas import Event, RunFinished, StateChanged
from tachograph.stores import FindingKind, Home, verify_home

WRITES = st.lists(
    st.tuples(
        st.sampled_from(["a", "b", "b/c"]),
        st.sampled_from(["mail", "total", "x" * 70, "bob@example.org"]),
        st.one_of(st.integers(0, 3), st.just("bob@example.org")),
    ),
    max_size=12,
)


def finished(events: list[Event]) -> RunFinished:
    """A run's end."""
    (end,) = named(events, "RunFinished")
    assert isinstance(end, RunFinished)
    return end


def folded_digest(events: list[Event]) -> bytes:
    """What the run's events add up to."""
    state = empty(events[0].meta.run_id)
    for event in events:
        state = fold(state, event)
    return state_digest(state, finished(events))


@given(writes=WRITES)
@settings(max_examples=25, print_blob=True, deadline=None)
def test_the_end_states_what_a_fold_comes_to(
    writes: list[tuple[str, str, object]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Whatever is set, how often and in which agent; with redaction in keys and values."""
    home = tmp_path_factory.mktemp("state") / "home"
    with Recorder(home) as recorder:
        recorder.record(set_all, writes)
    events = events_of(home, recorder.latest_run_id)
    assert finished(events).state_digest == folded_digest(events)
    latest = {
        (event.meta.agent_id, event.key): event.value.digest for event in events if isinstance(event, StateChanged)
    }
    expected = values_digest((agent, 1, {key: digest}) for (agent, key), digest in latest.items())
    assert finished(events).state_digest == expected
    assert verify_home(recorder.home).findings == ()


def test_another_state_is_another_digest() -> None:
    """Agent, life, key and value all count, and where one ends and the next begins."""
    digests = [
        values_digest([]),
        values_digest([("a", 1, {"k": b"1"})]),
        values_digest([("b", 1, {"k": b"1"})]),
        values_digest([("a", 2, {"k": b"1"})]),
        values_digest([("a", 1, {"l": b"1"})]),
        values_digest([("a", 1, {"k": b"2"})]),
        values_digest([("a", 1, {"k1": b""})]),
        values_digest([("a", 1, {"k": b"1", "l": b"1"})]),
    ]
    assert len(set(digests)) == len(digests)
    assert values_digest([("a", 1, {})]) == values_digest([]), "an agent that set nothing does not count"


def _forged(home: Home, stated: bytes | None) -> str:
    """A run whose chain is whole, with a state in it, and an end that states what it is told."""
    chain = Chain("run-1", "run", Clock(), digester=home.digester)
    payloads = [chain.run_started(entrypoint=None)]
    payloads.append(chain.add(StateChanged(chain.meta(), "total", chain.body(3))))
    end = RunFinished(chain.meta(), "OK", None, None, stated)  # type: ignore[arg-type]
    payloads.append(chain.add(dataclasses.replace(end)))
    writer = home.new_spool()
    writer.append(payloads)
    writer.close()
    return "run-1"


def test_an_end_that_states_another_state_is_damage(tmp_path: Path) -> None:
    """Though every hash fits; verification and replay both say so."""
    home = Home.open(tmp_path / "home", create=True)
    run_id = _forged(home, bytes(32))
    (finding,) = verify_home(home).findings
    assert (finding.kind, finding.severity, finding.event_id) == (FindingKind.STATE, "damage", "run-1/run#1.3")
    (also,) = verify_home(home, [run_id]).findings
    assert also.kind is FindingKind.STATE
    (result,) = replay(home.path, [run_id], ReplayOptions(), 1, lambda *_: None)
    assert any("is not the one that it states" in text for text in result.verdict.missing)
    assert result.verdict.status is VerdictStatus.LIMITED


@pytest.mark.parametrize("stated", [None, "right"])
def test_the_right_state_and_none_at_all_are_whole(tmp_path: Path, stated: str | None) -> None:
    """Releases before stated none."""
    home = Home.open(tmp_path / "home", create=True)
    digest = values_digest([("run", 1, {"total": home.digester.digest(encode_body(3))})])
    _forged(home, digest if stated else None)
    assert verify_home(home).findings == ()


def test_a_fork_states_its_own_state(tmp_path: Path) -> None:
    """The copied beginning counts, too."""
    with Recorder(tmp_path / "home") as recorder:
        recorder.record(set_all, [("a", "mail", 1), ("b", "total", 2)])
        run_id = recorder.latest_run_id
    assert run_id is not None
    result = fork(tmp_path / "home", run_id, ForkOptions())
    events = events_of(tmp_path / "home", result.run_id)
    assert finished(events).state_digest == folded_digest(events)
    assert verify_home(Home.open(tmp_path / "home")).findings == ()
