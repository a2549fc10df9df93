"""The fold of a partition: when it stores, waits, gives up and forgets; each by its limit."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from itertools import pairwise

import pytest

from chains import Chain, Clock, small_fleet
from schemas_support import payload_of
from tachograph.core.errors import CorruptPayload
from tachograph.core.findings import Finding, RunFinding, RunStatus
from tachograph.core.state import RunState
from tachograph.schemas import EffectState, decode, decode_meta
from tachograph.stream_processors.fold import Book, Checkpoint, FoldLimits, FoldStep, Open, book_bytes, book_of


@dataclass
class Past:
    """Snapshots and archive of a test."""

    kept: dict[str, RunState] = field(default_factory=dict[str, RunState])
    events: dict[str, list[bytes]] = field(default_factory=dict[str, list[bytes]])
    asked: list[str] = field(default_factory=list[str])

    def newest(self, tenant: str, run_id: str) -> RunState | None:
        """A run's snapshot."""
        del tenant
        self.asked.append(run_id)
        return self.kept.get(run_id)

    def history(self, tenant: str, run_id: str) -> Iterable[bytes]:
        """What is archived."""
        del tenant
        return self.events.get(run_id, [])

    def archived(self, tenant: str, run_id: str) -> int:
        """How much that is."""
        return len(list(self.history(tenant, run_id)))


def add(step: FoldStep, payloads: Iterable[bytes], offset: int = 0) -> int:
    """Add events as records from an offset on; the offset behind them."""
    for payload in payloads:
        assert step.add(offset, decode_meta(payload).run_id.encode(), payload)
        offset += 1
    return offset


def rows(checkpoint: Checkpoint) -> dict[str, RunFinding]:
    """The rows that are told."""
    return {finding.run_id: finding for finding in checkpoint.findings if isinstance(finding, RunFinding)}


def statuses(findings: Iterable[Finding]) -> list[RunStatus]:
    """Of the rows among them."""
    return [finding.row.status for finding in findings if isinstance(finding, RunFinding)]


def long_run(calls: int, clock: Clock | None = None) -> list[bytes]:
    """A run that has not ended."""
    return small_fleet("long", calls=calls, clock=clock)[:-3]


def effects_of(run_id: str, effects: int) -> list[bytes]:
    """A run that has not ended, and all whose calls are effects."""
    clock = Clock()
    root, agent = Chain(run_id, "run", clock), Chain(run_id, "mailer", clock)
    payloads = [root.run_started(), agent.agent_started(root.latest)]
    for number in range(effects):
        payloads.append(agent.call_started("send", number, key=str(number)))
        moved = (agent.event_id, "send", str(number))
        payloads.append(agent.moved(*moved, EffectState.PLANNED, EffectState.EXECUTING))
    return payloads


def events_stored(payloads: Iterable[bytes], limits: FoldLimits) -> list[RunState]:
    """What of a run is stored when a checkpoint is made behind every event: events and effects, as they were then."""
    step, offset, stored = FoldStep(Past(), limits), 0, list[RunState]()
    for payload in payloads:
        offset = add(step, [payload], offset)
        stored += [replace(state, effects=dict(state.effects)) for state in step.checkpoint().snapshots]
    return stored


def test_a_run_is_stored_when_it_grew() -> None:
    """By so many events, however long it is: what lies behind a snapshot does not grow with the run."""
    stored = [state.events for state in events_stored(long_run(calls=1000), FoldLimits(snapshot_events_min=100))]
    things = 3 + 2  # agents and what they call
    assert stored[-1] > 3_500
    assert all(after - before <= 50 * things for before, after in pairwise(stored))


def test_a_state_that_grows_with_its_run_is_stored_ever_further_apart() -> None:
    """By an eighth, so that all that is written stays in proportion to the last state."""
    limits = FoldLimits(snapshot_events_min=100, snapshot_item_events=1_000_000)
    stored = [state.events for state in events_stored(long_run(calls=1000), limits)]
    assert stored[:9] == [100, 200, 300, 400, 500, 600, 700, 800, 900]
    assert all(after - before >= before // 8 for before, after in pairwise(stored[9:]))
    assert sum(stored) < 12 * stored[-1]


def test_what_is_written_down_is_in_proportion_to_the_events() -> None:
    """Whatever of its state grows: here every call is an effect in the ledger."""
    limits = FoldLimits(snapshot_events_min=100)
    stored = events_stored(effects_of("long", 300), limits)
    events = stored[-1].events
    assert len(stored[-1].effects) > events // 10
    assert sum(len(state.effects) for state in stored) <= 12 * events


def test_offsets_never_pass_what_is_not_stored() -> None:
    """Until it is; a handed over partition begins behind everything."""
    step = FoldStep(Past())
    end = add(step, long_run(calls=4))
    assert step.checkpoint().offset == 0
    last = step.checkpoint(drain=True)
    assert (last.offset, len(last.snapshots)) == (end, 1)


def test_small_runs_that_ended_are_not_stored() -> None:
    """The archive has them; a run in between keeps what it needs."""
    step = FoldStep(Past())
    end = add(step, [payload for number in range(50) for payload in small_fleet(f"run-{number}")])
    done = step.checkpoint()
    assert (done.snapshots, done.offset, len(rows(done))) == ((), end, 50)
    assert set(statuses(done.findings)) == {RunStatus.FINISHED}


def test_runs_are_put_away_and_taken_up_again() -> None:
    """Once the log has moved on; what is put away is in the book."""
    past, clock = Past(), Clock()
    step = FoldStep(past)
    events = long_run(calls=4, clock=clock)
    end = add(step, events[:6])
    clock.ms += 100_000
    end = add(step, small_fleet("other", clock=clock), end)
    away = step.checkpoint()
    assert [state.run_id for state in away.snapshots] == ["long"]
    past.kept["long"] = away.snapshots[0]
    assert away.book.open["long"].events == 6
    assert "long" not in step.states()
    add(step, events[6:], end)
    assert past.asked == ["long"]
    assert step.states()["long"].events == len(events)


def test_a_run_without_an_end_is_over_when_the_log_moved_on() -> None:
    """By an hour of log time, whether it is in memory or put away; an event that comes after all goes on from there."""
    past, clock = Past(), Clock()
    events = long_run(calls=2, clock=clock)
    clock.ms += 100_000
    quiet = small_fleet("quiet", clock=clock)
    clock.ms += 4_000_000
    step = FoldStep(past)
    end = add(step, [*events[:-1], *quiet])
    first = step.checkpoint()
    assert rows(first)["long"].row.status is RunStatus.RUNNING
    past.kept["long"] = first.snapshots[0]
    end = add(step, small_fleet("late", clock=clock), end)
    over = step.checkpoint()
    assert rows(over)["long"].row.status is RunStatus.TRUNCATED
    assert rows(over)["long"].version > rows(first)["long"].version
    add(step, events[-1:], end)
    on = rows(step.checkpoint())["long"]
    assert on.version > rows(over)["long"].version
    assert on.row.events == len(events)


def test_an_early_event_waits() -> None:
    """And is folded behind those that it waited for; the offset stays before it."""
    step = FoldStep(Past())
    payloads = small_fleet()
    order = [payloads[0], *payloads[3:6], payloads[1], payloads[2], *payloads[6:]]
    for offset, payload in enumerate(order[:4]):
        step.add(offset, b"run-1", payload)
    assert step.statistics().held == 3
    assert step.checkpoint(drain=True).offset == 1
    add(step, order[4:], 4)
    assert step.statistics().held == 0
    assert not step.states()["run-1"].gaps


def test_nobody_waits_for_ever() -> None:
    """Where too many wait, they are folded with the gap; when the archive has what was missing, the run is whole again."""
    past = Past()
    step = FoldStep(past, FoldLimits(held_max=5))
    payloads = long_run(calls=10)
    missing = payloads[3]
    end = add(step, [payload for payload in payloads if payload is not missing])
    assert step.statistics().gaps >= 1
    row = rows(step.checkpoint(idle=True))["long"].row
    assert any("missing" in sentence for sentence in row.missing)
    past.events["long"] = payloads
    add(step, [missing], end)
    for _ in range(4):
        found = rows(step.checkpoint(idle=True))
        if "long" in found:
            row = found["long"].row
    assert row.events == len(payloads)
    assert not any("are missing" in sentence or "is missing" in sentence for sentence in row.missing)


def test_an_idle_partition_waits_for_nothing() -> None:
    """Log time stands still in it: what waits is folded with the gap, so that everything can be committed."""
    past = Past()
    step = FoldStep(past)
    payloads = long_run(calls=10)
    end = add(step, [payload for at, payload in enumerate(payloads) if at != 3])
    assert step.statistics().held > 0
    assert step.checkpoint().offset < end
    offset, checkpoints = 0, 0
    while offset < end:
        offset, checkpoints = step.checkpoint(idle=True).offset, checkpoints + 1
        assert checkpoints < 100
    assert step.states()["long"].gaps
    past.events["long"] = payloads
    add(step, [payloads[3]], end)
    while step.statistics().pending:
        step.checkpoint(idle=True)
    assert step.checkpoint(idle=True).offset == end + 1
    assert not step.states()["long"].gaps


def test_what_waits_is_bounded_in_bytes() -> None:
    """Over all runs."""
    step = FoldStep(Past(), FoldLimits(held_bytes_max=2_000))
    for number in range(20):
        for offset, payload in enumerate(small_fleet(f"run-{number}")[3:6]):
            step.add(number * 10 + offset, f"run-{number}".encode(), payload)
    assert step.statistics().gaps > 0
    assert step.statistics().held < 20


def test_memory_is_bounded_by_streams() -> None:
    """The runs that moved longest ago are stored and put away, however young they are."""
    step = FoldStep(Past(), FoldLimits(streams_max=30))
    clock = Clock()
    events = [small_fleet(f"run-{number}", clock=clock)[:-1] for number in range(40)]
    add(step, [payload for run in events for payload in run])
    done = step.checkpoint()
    assert len(done.snapshots) == 30
    assert step.statistics().loaded == 10
    assert set(step.states()) == {f"run-{number}" for number in range(30, 40)}


@pytest.mark.parametrize(
    ("key", "change"),
    [
        (b"run-2", {}),
        (None, {}),
        (b"run-1", {"tenant": "other"}),
        (b"../x", {"run_id": "../x"}),
        (b"run-3", {"tenant": ""}),
    ],
)
def test_poison_is_set_aside(key: bytes | None, change: dict[str, str]) -> None:
    """With a reason, and nothing of it is folded."""
    step = FoldStep(Past())
    payloads = small_fleet()
    add(step, payloads[:3])
    event = decode(payloads[3])
    run_id = "run-3" if key == b"run-3" else event.meta.run_id
    other = payload_of(replace(event, meta=replace(event.meta, **{"run_id": run_id, **change})))
    assert not step.add(3, key, other)
    assert not step.add(4, b"run-1", payloads[3][:-2])
    done = step.checkpoint()
    assert [poison.offset for poison in done.poison] == [3, 4]
    assert all(poison.reason for poison in done.poison)
    assert done.poison != step.checkpoint().poison
    assert rows(done)["run-1"].row.events == 3


def test_a_book_comes_back() -> None:
    """Equal books give equal bytes; what is none is refused."""
    book = Book(7, {"b": Open("t", 5, 3, 4), "a": Open("t", 6, 9, 12, over=True)})
    assert book_of(book_bytes(book)) == book
    assert book_bytes(book) == book_bytes(Book(7, dict(reversed(book.open.items()))))
    for data in (b"", b"[]", b"{}", b'{"clock":1,"format":1,"open":[]}', b'{"clock":1,"format":2,"open":[["a"]]}'):
        with pytest.raises(CorruptPayload):
            book_of(data)


def test_chains_are_what_the_fold_expects() -> None:
    """Runs begin with the root's first event; else the tests above would look up every run."""
    past = Past()
    add(FoldStep(past), small_fleet())
    assert past.asked == []
    late = Chain("run-7", "late", Clock())
    root = Chain("run-7", "run", Clock())
    root.run_started()
    FoldStep(past).add(0, b"run-7", late.agent_started(root.latest))
    assert past.asked == ["run-7"]


def test_a_record_that_names_another_tenant_is_set_aside() -> None:
    """Whether its run is known or not: nothing of it is folded, as the archive keeps nothing of it."""
    step = FoldStep(Past())
    events = small_fleet("run")
    assert not step.add(0, b"run", events[0], b"acme")
    assert step.states() == {}
    assert step.add(1, b"run", events[0], b"default")
    assert not step.add(2, b"run", events[1], b"acme")
    assert [poison.offset for poison in step.checkpoint().poison] == [0, 2]
    assert step.states()["run"].events == 1


def test_a_first_event_that_comes_again_is_no_new_run() -> None:
    """Where the run was folded before, left to the archive and forgotten, all of it is taken up from there."""
    past = Past()
    payloads = small_fleet()
    ahead = add(FoldStep(past), payloads)
    past.events["run-1"] = payloads[:-1]
    clock = max(decode_meta(payload).hlc for payload in payloads)
    step = FoldStep(past, book=Book(clock))
    end = add(step, [payloads[0], payloads[-1]], ahead)
    assert step.checkpoint(idle=True).offset <= end
    assert step.states()["run-1"].events == len(payloads)


def test_what_comes_later_makes_up_for_nothing_that_is_missing() -> None:
    """The newest snapshot is gone and the archive lags behind: it is waited for, however many events come."""
    clock = Clock()
    root, one, other = (Chain("long", agent, clock) for agent in ("run", "one", "other"))
    kept = [root.run_started(), one.agent_started(root.latest), other.agent_started(root.latest)]
    lost = [one.call_started("f"), one.call_finished()]
    more = [event for name in "ghi" for event in (other.call_started(name), other.call_finished())]
    heard = decode_meta(lost[-1]).hlc
    past = Past(events={"long": kept})
    step = FoldStep(past, book=Book(heard, {"long": Open("default", heard, len(kept + lost), 4)}))
    end = add(step, more, 5)
    done = step.checkpoint(idle=True)
    assert done.snapshots == ()
    assert done.offset == 5
    past.events["long"] = [*kept, *lost, *more]
    for _ in range(3):
        step.checkpoint(idle=True)
    assert step.states()["long"].events == len(past.events["long"])
    assert step.checkpoint(idle=True).offset == end
