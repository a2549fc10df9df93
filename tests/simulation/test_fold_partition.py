"""The fold of a partition, whatever happens to it: it ends with what folding the log from its start gives, byte for byte.

A log is made of some runs whose events are doubled, out of order, late or missing. It is folded by processes that die at any point
of a checkpoint or hand over in good order, beside an archive that lags behind, from snapshots some of which get lost.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import count
from typing import cast

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from any_histories import orders
from histories import history
from schemas_support import payload_of
from tachograph.core.findings import Finding, RunFinding, SignatureFinding, findings_of, newer
from tachograph.core.state import Folding, RunState, empty, state_bytes, state_from_bytes
from tachograph.schemas import Event, decode_meta
from tachograph.stream_processors.fold import Book, Checkpoint, FoldLimits, FoldStep, book_bytes, book_of

NIGHTLY = os.environ.get("TACHO_NIGHTLY") == "1"
SEEDED = settings(
    print_blob=True,
    max_examples=3_000 if NIGHTLY else 40,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
NOW_MS = 1_767_225_600_000
LIMITS = FoldLimits(
    snapshot_events_min=4, small_events_max=6, quiet_ms=400, over_ms=4_000, held_max=4, behind_max=10_000,
    streams_max=7, poison_max=3, refolds_max=10_000,
)  # fmt: skip
SETTLING = 40
ENDINGS = ("go on", "checkpoint", "idle", "die", "half", "hand over")
DEATHS_MAX = 8


@dataclass(frozen=True, slots=True)
class Row:
    """A record of the log."""

    key: bytes
    payload: bytes


def at_time(event: Event, run_id: str, start_ms: int, step_ms: int) -> Event:
    """An event of a run of that id, which begins at some time and has an event every so often."""
    meta = event.meta
    hlc = (NOW_MS + start_ms + meta.recorded_at_us // 1_000 * step_ms) << 16
    causes = tuple(replace(cause, run_id=run_id) for cause in meta.causes)
    return replace(event, meta=replace(meta, run_id=run_id, hlc=hlc, causes=causes, logical_time_us=None))


@st.composite
def runs(draw: st.DrawFn, number: int) -> list[Row]:
    """Records of one run: some doubled, some moved, some missing."""
    _, order = draw(orders())
    start, step = draw(st.integers(0, 3_000)), draw(st.sampled_from([1, 30, 500]))
    run_id = f"run-{number}"
    events = [replace_effect(at_time(event, run_id, start, step), run_id) for event in order]
    rows = [Row(run_id.encode(), payload_of(event)) for event in events]
    for _ in range(draw(st.integers(0, 4))):
        at = draw(st.integers(0, len(rows) - 1))
        match draw(st.sampled_from(["double", "move", "miss"])):
            case "double":
                rows.insert(draw(st.integers(at, len(rows))), rows[at])
            case "move":
                rows.insert(draw(st.integers(0, len(rows) - 1)), rows.pop(at))
            case _ if len(rows) > 1:
                del rows[at]
            case _:
                pass
    return rows


def replace_effect(event: Event, run_id: str) -> Event:
    """Effects are those of the run that an event was moved to."""
    if not hasattr(event, "effect_id"):
        return event
    return cast("Event", replace(event, effect_id=f"{run_id}/{event.effect_id.partition('/')[2]}"))  # type: ignore[call-arg]  # it has one


@st.composite
def logs(draw: st.DrawFn) -> list[Row]:
    """Records of some runs, mixed, and a few that are none."""
    waiting = [draw(runs(number)) for number in range(draw(st.integers(1, 3)))]
    log: list[Row] = []
    while waiting:
        rows = waiting[draw(st.integers(0, len(waiting) - 1))]
        for _ in range(min(len(rows), draw(st.integers(1, 6)))):
            log.append(rows.pop(0))
        waiting = [rows for rows in waiting if rows]
    for _ in range(draw(st.integers(0, 2))):
        good = draw(st.sampled_from(log))
        bad = [Row(good.key, good.payload[:-1]), Row(b"run-9", good.payload), Row(b"", b""), Row(b"run-0", b"\x00abc")]
        log.insert(draw(st.integers(0, len(log))), draw(st.sampled_from(bad)))
    return log


def ticking() -> Iterator[Row]:
    """A run of its own that says that much time has passed."""
    for event in history("run start; a open; " + "; ".join(f"a state k = {number}" for number in range(5)), "ticker"):
        yield Row(b"ticker", payload_of(at_time(event, "ticker", 10_000_000, 1_000)))


@dataclass(slots=True)
class World:
    """Stores that outlive every process: topic and group, snapshots, archive, catalogue."""

    log: list[Row]
    stored: int = 0
    """Records that the archive has."""
    committed: int = 0
    book: bytes = book_bytes(Book())
    snapshots: dict[str, dict[int, bytes]] = field(default_factory=dict[str, dict[int, bytes]])
    catalogue: dict[str, Finding] = field(default_factory=dict[str, Finding])

    def newest(self, tenant: str, run_id: str) -> RunState | None:
        """A run's newest snapshot."""
        del tenant
        kept = self.snapshots.get(run_id)
        return state_from_bytes(kept[max(kept)]) if kept else None

    def history(self, tenant: str, run_id: str) -> Iterable[bytes]:
        """What the archive has of a run."""
        del tenant
        return events_of(self.log[: self.stored], run_id)

    def archived(self, tenant: str, run_id: str) -> int:
        """How many those are."""
        return len(list(self.history(tenant, run_id)))

    def carry_out(self, checkpoint: Checkpoint, steps_max: int) -> bool:
        """Do what a checkpoint asks for, in its order, or only the first so many steps of it; whether all was done."""
        for finding in checkpoint.findings:
            if steps_max == 0:
                return False
            steps_max -= 1
            standing = self.catalogue.get(finding.key)
            if standing is None or newer(finding, standing):
                self.catalogue[finding.key] = finding
        for state in checkpoint.snapshots:
            if steps_max == 0:
                return False
            steps_max -= 1
            self.snapshots.setdefault(state.run_id, {})[state.events] = state_bytes(state)
        if steps_max == 0:
            return False
        self.book = book_bytes(checkpoint.book)
        if steps_max == 1:
            return False
        assert checkpoint.offset >= self.committed
        self.committed = checkpoint.offset
        return True


@cache
def is_event(row: Row) -> bool:
    """Whether a record can be folded."""
    try:
        Folding(empty(row.key.decode())).add(row.payload, over_gaps=True)
        return decode_meta(row.payload).run_id.encode() == row.key
    except Exception:  # the log has four kinds of bad records
        return False


def events_of(rows: Iterable[Row], run_id: str) -> list[bytes]:
    """A run's events as the archive has them: once, every stream's in order."""
    found = {row.payload for row in rows if row.key == run_id.encode() and is_event(row)}
    return sorted(found, key=stream_order)


@cache
def stream_order(payload: bytes) -> tuple[int, str, int, int]:
    """By the clock."""
    meta = decode_meta(payload)
    return meta.hlc, meta.agent_id, meta.incarnation, meta.seq


def from_the_start(log: list[Row], run_id: str) -> RunState:
    """What a run's events add up to."""
    folding = Folding(empty(run_id))
    for payload in events_of(log, run_id):
        folding.add(payload, over_gaps=True)
    return folding.state


def standing(catalogue: dict[str, Finding], run_id: str) -> list[Finding]:
    """What a catalogue says of a run: hits stand only at the position of the row."""
    found = [finding for finding in catalogue.values() if finding.run_id == run_id]
    row = next(finding for finding in found if isinstance(finding, RunFinding))
    return sorted(
        (f for f in found if not isinstance(f, SignatureFinding) or f.position == row.position), key=lambda f: f.key
    )


def live(world: World, data: st.DataObject) -> None:
    """Process after process, until the log is read."""
    for life in count():
        if world.committed == len(world.log):
            return
        step = FoldStep(world, LIMITS, book_of(world.book))
        for kept in world.snapshots.values():
            if data.draw(st.integers(0, 9)) == 0:
                del kept[max(kept)]
        world.snapshots = {run_id: kept for run_id, kept in world.snapshots.items() if kept}
        if not work(world, step, data, ENDINGS if life < DEATHS_MAX else ENDINGS[:3]):
            continue
        if data.draw(st.booleans()):
            world.carry_out(step.checkpoint(drain=True), 10_000)
            return


def work(world: World, step: FoldStep, data: st.DataObject, endings: Sequence[str]) -> bool:
    """One process's life; whether it came to the end of the log."""
    offset = world.committed
    while offset < len(world.log):
        for _ in range(data.draw(st.integers(1, 12))):
            if offset < len(world.log):
                step.add(offset, *rowed(world.log[offset]))
                offset += 1
        world.stored = max(world.stored, offset - data.draw(st.sampled_from([0, 1, 5, 40])))
        match data.draw(st.sampled_from(endings)):
            case "checkpoint" | "idle" as kind:
                assert world.carry_out(step.checkpoint(idle=kind == "idle"), 10_000)
            case "half":
                world.carry_out(step.checkpoint(), data.draw(st.integers(0, 6)))
                return False
            case "hand over":
                world.carry_out(step.checkpoint(drain=True), 10_000)
                return False
            case "die":
                return False
            case _:
                pass
    assert world.carry_out(step.checkpoint(), 10_000)
    return True


def rowed(row: Row) -> tuple[bytes, bytes]:
    """Key and payload."""
    return row.key, row.payload


def settle(world: World) -> FoldStep:
    """Time passes, the archive catches up, and a last process folds what is left."""
    world.log += ticking()
    world.stored = len(world.log)
    step = FoldStep(world, LIMITS, book_of(world.book))
    for offset in range(world.committed, len(world.log)):
        step.add(offset, *rowed(world.log[offset]))
    for _ in range(SETTLING):
        assert world.carry_out(step.checkpoint(idle=True), 10_000)
    return step


@SEEDED
@given(logs(), st.data())
def test_it_ends_with_what_the_log_adds_up_to(log: list[Row], data: st.DataObject) -> None:
    """Rows, effects and signatures of every run; and the states of those that are kept."""
    world = World(list(log))
    live(world, data)
    step = settle(world)
    for run_id in {row.key.decode() for row in log if is_event(row)}:
        expected = from_the_start(log, run_id)
        fresh = {finding.key: finding for finding in findings_of(expected, over=True)}
        told = standing(world.catalogue, run_id)
        assert [plain(finding) for finding in told] == [plain(finding) for finding in standing(fresh, run_id)]
        state = step.states().get(run_id)
        assert state is None or state_bytes(state) == state_bytes(expected)
    assert step.statistics().held == 0


def plain(finding: Finding) -> object:
    """What a catalogue shows of a finding; an effect does not show how far its run was."""
    return finding.row if not isinstance(finding, SignatureFinding) else finding.hit
