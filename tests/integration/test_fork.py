"""A fork goes on from a recorded run as a run of its own; its parent stays what it is, and nothing is executed."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import fork_fleet
from fork_fleet import EXECUTED
from forks import Forks, event_id, forks, log_bytes, record, result, swap
from recordings import kinds, named
from tachograph.core.errors import InvalidSetting, UnknownRun
from tachograph.core.ports import ForkOptions, Override
from tachograph.core.replay import DivergenceKind, VerdictStatus
from tachograph.replay_workers import fork
from tachograph.schemas import CallStarted, EndOutcome, RunFinished, RunStarted


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Forks]:
    """A home to fork in."""
    with forks(tmp_path_factory.mktemp("forks") / "home") as found:
        yield found


@pytest.fixture(scope="module")
def parent(desk: Forks) -> str:
    """A recorded refund."""
    return record(desk.path, fork_fleet.refund, "alice")


def test_a_fork_without_changes_does_what_its_parent_did(desk: Forks, parent: str) -> None:
    """The same steps in the same order, as a run of its own; an approval counts, because nothing changes."""
    done = desk.fork(parent)
    assert (done.ended, done.verdict.status, done.parent_run_id) == ("OK", VerdictStatus.REPRODUCED, parent)
    assert done.run_id != parent
    one, other = desk.events(parent), desk.events(done.run_id)
    without_moves = [kind for kind in kinds(one, "clerk") if kind != "EffectTransitioned"]
    assert without_moves == [kind for kind in kinds(other, "clerk") if kind != "EffectTransitioned"]
    desk.check(done.run_id)


def test_a_fork_says_what_was_changed(desk: Forks, parent: str) -> None:
    """Parent and list of changes stand in the fork's first event; name, tenant and arguments are the parent's."""
    changed = result(desk.place(parent, "clerk", "decide"), {"answer": "no"})
    done = desk.fork(parent, ForkOptions(overrides=(changed,)))
    start, before = desk.events(done.run_id)[0], desk.events(parent)[0]
    assert isinstance(start, RunStarted)
    assert isinstance(before, RunStarted)
    assert start.parent_run_id == parent
    assert desk.value(start) == {
        "parent_run_id": parent,
        "from_event": None,
        "overrides": [{"what": "result", "event_id": changed.event_id, "value": {"answer": "no"}}],
        "entrypoints": {},
        "code": None,
        "miss": "fail",
    }
    assert (start.name, start.entrypoint, start.arguments) == (before.name, before.entrypoint, before.arguments)
    assert (start.meta.tenant, start.redaction) == (before.meta.tenant, before.redaction)
    row = next(row for row in desk.home.catalogue.runs() if row.run_id == done.run_id)
    assert row.parent_run_id == parent


def test_another_result_is_what_control_logic_goes_on_with(desk: Forks, parent: str) -> None:
    """A what-if: the model says no, so nobody is asked and nobody is paid; the first divergence is what follows."""
    changed = result(desk.place(parent, "clerk", "decide"), {"answer": "no"})
    done = desk.fork(parent, ForkOptions(overrides=(changed,)))
    assert done.ended == "OK"
    assert desk.calls(done.run_id, "clerk") == [("look_up", "OK"), ("decide", "OK")]
    first = done.verdict.first_divergence
    assert first is not None
    assert (first.kind, first.step) == (DivergenceKind.STATE_CHANGED, 3)
    assert done.verdict.taints == (f"another answer was given to {changed.event_id}",)
    desk.check(done.run_id)


def test_the_parents_log_is_the_same_before_and_after(desk: Forks, parent: str) -> None:
    """Not a byte of what was recorded changes; a fork only adds a spool."""
    before = log_bytes(desk.path)
    done = desk.fork(parent, ForkOptions(entrypoints=swap("refund", "refund_elsewhere"), miss="stub"))
    after = log_bytes(desk.path)
    assert {name: after[name] for name in before} == before
    assert len(after) > len(before)
    assert done.run_id in set(desk.home.log.run_ids())


def test_forks_of_one_run_stay_apart(desk: Forks, parent: str) -> None:
    """Each is a run of its own: none overwrites another one, and all have the same parent."""
    event = desk.place(parent, "clerk", "decide")
    done = [desk.fork(parent, ForkOptions(overrides=(result(event, {"answer": word}),))) for word in ("no", "never")]
    assert len({parent, *(one.run_id for one in done)}) == 3
    for one, word in zip(done, ("no", "never"), strict=True):
        (state,) = named(desk.events(one.run_id), "StateChanged")
        assert state.value.inline == f'"{word}"'.encode()  # type: ignore[union-attr]


def test_a_fork_can_be_forked(desk: Forks, parent: str) -> None:
    """The fork of a fork has the fork as its parent."""
    event = desk.place(parent, "clerk", "decide")
    first = desk.fork(parent, ForkOptions(overrides=(result(event, {"answer": "no"}),)))
    again = desk.place(first.run_id, "clerk", "look_up")
    second = desk.fork(first.run_id, ForkOptions(overrides=(result(again, {"to": "dora", "amount": 1}),), miss="stub"))
    assert second.parent_run_id == first.run_id
    desk.check(second.run_id)


def test_nothing_is_executed(desk: Forks, parent: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever a fork does: no tool, no model, no approval runs, and the counters say so."""
    EXECUTED.clear()
    done = desk.fork(parent, ForkOptions(entrypoints=swap("refund", "refund_elsewhere"), miss="stub"))
    assert EXECUTED == []
    assert sum(done.verdict.live.values()) == 0
    assert sum(done.verdict.served.values()) == 2


def test_before_the_fork_point_a_fork_must_do_what_its_parent_did(desk: Forks, parent: str) -> None:
    """Changed code that leaves its parent too early stops: it would not fork from there but from somewhere else."""
    point = desk.place(parent, "clerk", "pay")
    options = ForkOptions(from_event=point, entrypoints=swap("refund", "refund_elsewhere"), miss="stub")
    done = desk.fork(parent, options)
    assert "the fork point was not reached yet" in done.ended
    assert done.verdict.status is VerdictStatus.LIMITED
    (end,) = named(desk.events(done.run_id), "RunFinished")
    assert isinstance(end, RunFinished)
    assert end.outcome is EndOutcome.ERROR


def test_behind_the_fork_point_it_may_differ(desk: Forks, parent: str) -> None:
    """The same change from an earlier event on is a fork."""
    point = desk.place(parent, "clerk", "look_up")
    options = ForkOptions(from_event=point, entrypoints=swap("refund", "refund_elsewhere"), miss="stub")
    done = desk.fork(parent, options)
    assert done.ended == "OK"
    desk.check(done.run_id)


def test_a_call_that_the_recording_cannot_answer_stops_the_fork(desk: Forks, parent: str) -> None:
    """By default: `except Exception` in control logic does not keep it going, and the ending names the call."""
    done = desk.fork(parent, ForkOptions(entrypoints=swap("refund", "swallows")))
    assert done.ended.startswith("FixtureMiss: the recording has no answer to tool look_up (step 1 of 'clerk')")
    assert done.verdict.status is VerdictStatus.LIMITED
    assert any("had to stop" in text for text in done.verdict.missing)
    events = desk.events(done.run_id)
    (call,) = named(events, "CallStarted", "clerk")
    assert isinstance(call, CallStarted)
    assert desk.arguments(call) == ["T-2"]
    assert desk.replay(done.run_id).verdict.status is VerdictStatus.LIMITED


def test_or_gets_a_stub(desk: Forks, parent: str) -> None:
    """With `stub` it gets nothing and goes on; the verdict says so."""
    done = desk.fork(parent, ForkOptions(entrypoints=swap("refund", "swallows"), miss="stub"))
    assert done.ended == "OK"
    assert "tool look_up (step 1 of 'clerk') was answered with a stub" in done.verdict.taints
    desk.check(done.run_id)


def test_an_override_that_nothing_asks_for_is_named(desk: Forks, parent: str) -> None:
    """It was not tried out: nothing is claimed."""
    no = result(desk.place(parent, "clerk", "decide"), {"answer": "no"})
    unused = result(desk.place(parent, "clerk", "pay"), "paid")
    done = desk.fork(parent, ForkOptions(overrides=(no, unused)))
    assert (
        f"The override of {unused.event_id} was not used: the fork did not come to such a call." in done.verdict.missing
    )
    assert done.verdict.status is VerdictStatus.LIMITED


def test_code_that_cannot_be_imported_is_said(desk: Forks, parent: str) -> None:
    """The fork ends before it begins, with the remedy; nothing is written."""
    before = log_bytes(desk.path)
    with pytest.raises(InvalidSetting, match="has no function 'nowhere'") as refused:
        desk.fork(parent, ForkOptions(entrypoints=swap("refund", "nowhere")))
    assert "--replace = 'fork_fleet:refund=fork_fleet:nowhere'" in str(refused.value)
    assert "check the name" in str(refused.value)
    assert log_bytes(desk.path) == before


def test_control_logic_that_ends_its_process_leaves_a_whole_run(desk: Forks) -> None:
    """What it had done is written, and every stream has an end."""
    run_id = record(desk.path, fork_fleet.stays)
    done = desk.fork(run_id, ForkOptions(entrypoints=swap("stays", "leaves")))
    assert done.ended == "ProcessLost: control logic ended its process with exit code 3"
    assert done.verdict.status is VerdictStatus.LIMITED
    assert kinds(desk.events(done.run_id), "run") == ["RunStarted", "RunFinished"]


def test_control_logic_that_never_ends_is_stopped(desk: Forks) -> None:
    """By the clock, by processor time without a step, or by the number of its steps."""
    run_id = record(desk.path, fork_fleet.stays)
    spinning = desk.fork(run_id, ForkOptions(entrypoints=swap("stays", "spins"), seconds_max=1.5))
    assert spinning.ended == "ProcessLost: it took longer than 1.5 seconds"
    assert kinds(desk.events(spinning.run_id), "run") == ["RunStarted", "RunFinished"]
    busy = desk.fork(run_id, ForkOptions(entrypoints=swap("stays", "spins"), cpu_seconds_max=0.3))
    assert busy.ended is not None
    assert "stopped after 0.3 seconds of processor time" in busy.ended
    assert "fork_fleet.py" in busy.ended
    stopped = desk.fork(run_id, ForkOptions(from_event=desk.place(run_id, "clerk", "look_up"), steps_max=1))
    assert stopped.ended == "'clerk' took 1 steps, the most that was allowed"


def test_no_secret_of_an_override_is_written(desk: Forks, parent: str) -> None:
    """Control logic gets it; the log has a token in its place, in the answer and in the list of changes."""
    secret = "sk-proj-abcdefghijklmnopqrstuvwxyz0123456789"
    changed = result(desk.place(parent, "clerk", "decide"), {"answer": "no", "api_key": secret})
    done = desk.fork(parent, ForkOptions(overrides=(changed,)))
    assert done.ended == "OK"
    written = b"".join(file.read_bytes() for file in desk.path.rglob("*") if file.is_file())
    assert secret.encode() not in written
    assert desk.replay(done.run_id).verdict.status is VerdictStatus.REPRODUCED


def test_clock_chance_timers_and_streams_are_forked_too(desk: Forks) -> None:
    """Recorded reads are served; reads that are new are the fork's own, and named. The fork replays as it was."""
    run_id = record(desk.path, fork_fleet.reader)
    same = desk.fork(run_id)
    assert same.verdict.status is VerdictStatus.REPRODUCED
    desk.check(same.run_id)
    more = desk.fork(run_id, ForkOptions(entrypoints=swap("reader", "reader_reads_more")))
    assert more.ended == "OK"
    assert sum("the fork's own clock and chance" in text for text in more.verdict.taints) == 3
    assert more.verdict.served == {"clock": 2, "id": 1, "model": 1, "random": 1}
    desk.check(more.run_id)


def test_a_streamed_answer_can_be_overridden(desk: Forks) -> None:
    """Each item of a list is one piece."""
    run_id = record(desk.path, fork_fleet.reader)
    changed = result(desk.place(run_id, "reader", "pieces"), [{"piece": "a"}, {"piece": "b"}])
    done = desk.fork(run_id, ForkOptions(overrides=(changed,)))
    chunks = named(desk.events(done.run_id), "CallChunk")
    assert [chunk.data.inline for chunk in chunks] == [b'{"piece":"a"}', b'{"piece":"b"}']  # type: ignore[union-attr]
    desk.check(done.run_id)


def test_synchronous_control_logic_is_forked(desk: Forks) -> None:
    """The same, without a loop; a message to itself reaches it."""
    run_id = record(desk.path, fork_fleet.sync_refund)
    changed = result(desk.place(run_id, "clerk", "look_up"), {"to": "dora"})
    done = desk.fork(run_id, ForkOptions(overrides=(changed,)))
    assert done.ended == "OK"
    desk.check(done.run_id)


def test_sub_agents_are_forked_with_their_parent(desk: Forks) -> None:
    """A fork from within a sub-agent restarts nothing: earlier lives are served, later ones go on from there."""
    run_id = record(desk.path, fork_fleet.sub_agents, 3)
    calls = [
        event for event in desk.events(run_id) if isinstance(event, CallStarted) and event.meta.agent_id == "helper"
    ]
    assert [call.meta.incarnation for call in calls] == [1, 2, 3]
    changed = result(event_id(calls[1]), {"ticket": "another"})
    done = desk.fork(run_id, ForkOptions(from_event=event_id(calls[1]), overrides=(changed,)))
    assert done.ended == "OK"
    forked = [event for event in desk.events(done.run_id) if isinstance(event, CallStarted) and event.name == "look_up"]
    assert [call.meta.incarnation for call in forked] == [1, 2, 3, 1]
    assert done.verdict.served == {"tool": 3}
    desk.check(done.run_id)


@pytest.mark.parametrize(
    ("options", "named_in_it"),
    [
        (ForkOptions(from_event="RUN/clerk#1.99"), "no such event"),
        (ForkOptions(overrides=(Override("message", "RUN/clerk#1.2", 1),)), "use `--result`"),
        (ForkOptions(overrides=(Override("result", "RUN/clerk#1.1", 1),)), "it is a AgentStarted"),
        (
            ForkOptions(overrides=(Override("result", "RUN/clerk#1.2", 1), Override("result", "RUN/clerk#1.3", 2))),
            "twice",
        ),
        (
            ForkOptions(from_event="RUN/clerk#1.4", overrides=(Override("result", "RUN/clerk#1.2", 1),)),
            "before the fork",
        ),
        (ForkOptions(entrypoints={"somewhere:else": "fork_fleet:refund"}), "fork_fleet:refund"),
    ],
)
def test_what_cannot_be_is_refused_before_anything_is_written(
    desk: Forks, parent: str, options: ForkOptions, named_in_it: str
) -> None:
    """Options that name what the run does not have say so."""
    before = log_bytes(desk.path)
    here = ForkOptions(
        from_event=options.from_event.replace("RUN", parent) if options.from_event else None,
        overrides=tuple(
            Override(one.what, one.event_id.replace("RUN", parent), one.value) for one in options.overrides
        ),
        entrypoints=options.entrypoints,
    )
    with pytest.raises(InvalidSetting, match=named_in_it):
        desk.fork(parent, here)
    assert log_bytes(desk.path) == before


def test_the_service_refuses_a_run_that_is_not_there(desk: Forks) -> None:
    """`fork` as the command line calls it."""
    with pytest.raises(UnknownRun):
        fork(desk.path, "run-0", ForkOptions())
