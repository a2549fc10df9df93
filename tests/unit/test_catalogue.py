"""What the catalogue tells of runs and effects, while they go on, after they end and after a crash."""

from __future__ import annotations

import multiprocessing
import os
import sqlite3
from pathlib import Path

import pytest

from chains import Chain, Clock, small_fleet
from segments import segments_of
from tachograph.core.errors import StoreUnavailable, UnknownEffect, UnknownRun
from tachograph.schemas import CallOutcome, EffectState, Fidelity, RunImported
from tachograph.stores import Home, RunStatus, SpoolWriter, rebuild

PLANNED, EXECUTING, CONFIRMED, FAILED, UNKNOWN, RECONCILED = (
    EffectState.PLANNED,
    EffectState.EXECUTING,
    EffectState.CONFIRMED,
    EffectState.FAILED,
    EffectState.UNKNOWN,
    EffectState.RECONCILED,
)


@pytest.fixture
def home(tmp_path: Path) -> Home:
    """An empty home."""
    return Home.open(tmp_path / "home", create=True)


class Desk:
    """A run with one effect, in a spool of its own."""

    def __init__(self, home: Home, *, run_id: str = "run-1", clock: Clock | None = None) -> None:
        self.chain = Chain(run_id, "run", Clock() if clock is None else clock, digester=home.digester)
        self.writer = home.new_spool()
        self.writer.append([self.chain.run_started(), self.chain.call_started("send_mail", {"to": "ada"}, key="k-1")])
        self.effect_id = self.chain.event_id
        self.call = self.chain.seq

    def move(self, start: EffectState, end: EffectState, by: str = "recorder") -> None:
        """The ledger moves the effect."""
        self.writer.append([self.chain.moved(self.effect_id, "send_mail", "k-1", start, end, by)])

    def come_back(self, outcome: CallOutcome = CallOutcome.OK) -> None:
        """The effect's call ends."""
        self.writer.append([self.chain.call_finished("receipt", outcome, call_id=self.call)])

    def finish(self) -> None:
        """The run ends and its spool is closed."""
        self.writer.append([self.chain.run_finished()])
        self.writer.close()


def test_an_empty_home_has_no_runs_and_no_effects(home: Home) -> None:
    """And knows nothing of the past."""
    assert list(home.catalogue.runs()) == []
    assert list(home.catalogue.effects()) == []
    assert home.past_effects.find("default", "send_mail", "k-1") is None
    with pytest.raises(UnknownRun, match="'run-1'"):
        home.catalogue.run("run-1")
    with pytest.raises(UnknownEffect, match="there is none"):
        home.catalogue.effect("run-1/run#1.2")


def test_a_run_is_told_while_it_goes_on_and_after(home: Home) -> None:
    """RUNNING, then FINISHED; the counts grow."""
    payloads = small_fleet(digester=home.digester)
    with home.new_spool() as writer:
        writer.append(payloads[:6])
        row = home.catalogue.run("run-1")
        assert (row.status, row.events, row.agents, row.finished_at_us) == (RunStatus.RUNNING, 6, 2, None)
        writer.append(payloads[6:])
        row = home.catalogue.run("run-1")
    assert (row.status, row.outcome, row.events) == (RunStatus.FINISHED, "OK", 14)
    assert (row.tenant, row.name, row.entrypoint, row.parent_run_id) == ("default", "desk", "app:main", None)
    assert (row.fidelity, row.missing) == ("COMPLETE", ())
    assert row.finished_at_us is not None
    assert row.finished_at_us > row.started_at_us == 1_800_000_000_001_000


def test_a_run_whose_process_died_is_truncated(home: Home) -> None:
    """As soon as its lock is free, though nothing was written since."""
    writer = home.new_spool()
    writer.append(small_fleet(digester=home.digester)[:-1])
    assert home.catalogue.run("run-1").status is RunStatus.RUNNING
    writer.abandon()
    row = home.catalogue.run("run-1")
    assert (row.status, row.fidelity, row.outcome) == (RunStatus.TRUNCATED, "TRUNCATED", None)
    assert row.missing


def test_a_finished_run_stays_finished_when_its_process_dies(home: Home) -> None:
    """Its end is in the record."""
    writer = home.new_spool()
    writer.append(small_fleet(digester=home.digester))
    writer.abandon()
    assert home.catalogue.run("run-1").status is RunStatus.FINISHED


def test_runs_are_told_oldest_first(home: Home) -> None:
    """By their first event, not by the order in which they were read."""
    with home.new_spool() as writer:
        for number, start in ((2, 2_000_000_000_000), (1, 1_000_000_000_000)):
            writer.append(small_fleet(f"run-{number}", clock=Clock(start), digester=home.digester))
            home.catalogue.runs()
    assert [row.run_id for row in home.catalogue.runs()] == ["run-1", "run-2"]


def test_an_effect_is_found_by_its_key_in_every_state_but_failed(home: Home) -> None:
    """By tenant, tool and key together."""
    desk = Desk(home)
    assert home.past_effects.find("default", "send_mail", "k-1") is None
    for start, end in ((PLANNED, EXECUTING), (EXECUTING, UNKNOWN), (UNKNOWN, RECONCILED)):
        desk.move(start, end)
        found = home.past_effects.find("default", "send_mail", "k-1")
        assert found is not None
        assert (found.effect_id, found.state) == (desk.effect_id, end)
    for other in (("x", "send_mail", "k-1"), ("default", "x", "k-1"), ("default", "send_mail", "x")):
        assert home.past_effects.find(*other) is None
    desk.finish()


def test_whoever_wrote_a_spool_is_told_of_what_others_did_alone(home: Home) -> None:
    """His own spool is not read for him: he knows more. What others add is there at once."""
    desk = Desk(home)
    desk.move(PLANNED, EXECUTING)
    past = home.past_effects_beside({desk.writer.name})
    assert past.find("default", "send_mail", "k-1") is None
    assert (desk.writer.name, 1) not in home.catalogue.known_segments()
    assert home.past_effects_beside(()).find("default", "send_mail", "k-1") is not None
    other = Desk(home, run_id="run-2", clock=Clock(3_000_000_000_000))
    other.move(PLANNED, EXECUTING)
    found = past.find("default", "send_mail", "k-1")
    assert found is not None
    assert (found.effect_id, found.state) == (other.effect_id, EXECUTING)
    other.writer.abandon()
    found = past.find("default", "send_mail", "k-1")
    assert found is not None
    assert (found.effect_id, found.state) == (other.effect_id, UNKNOWN)
    desk.finish()


def test_what_is_catalogued_of_one_s_own_spool_is_never_old(home: Home) -> None:
    """Somebody else had it read while the effect was on its way; it has failed since, and may be tried again."""
    desk = Desk(home)
    desk.move(PLANNED, EXECUTING)
    assert home.catalogue.effect(desk.effect_id).state is EXECUTING
    desk.move(EXECUTING, FAILED)
    assert home.past_effects_beside({desk.writer.name}).find("default", "send_mail", "k-1") is None
    desk.finish()


def test_a_failed_effect_does_not_count_and_an_earlier_unknown_one_does(home: Home) -> None:
    """The latest that is not FAILED."""
    clock = Clock()
    first, second = Desk(home, run_id="run-1", clock=clock), Desk(home, run_id="run-2", clock=clock)
    first.move(PLANNED, EXECUTING)
    first.move(EXECUTING, UNKNOWN)
    second.move(PLANNED, EXECUTING)
    second.move(EXECUTING, FAILED)
    found = home.past_effects.find("default", "send_mail", "k-1")
    assert found is not None
    assert (found.effect_id, found.state) == (first.effect_id, UNKNOWN)
    first.finish()
    second.finish()


@pytest.mark.parametrize("close", [True, False])
def test_an_effect_left_executing_is_unknown(home: Home, *, close: bool) -> None:
    """Whether its process died or went without knowing."""
    desk = Desk(home)
    desk.move(PLANNED, EXECUTING)
    assert home.catalogue.effect(desk.effect_id).state is EXECUTING
    desk.writer.close() if close else desk.writer.abandon()
    row = home.catalogue.effect(desk.effect_id)
    assert (row.state, row.name, row.idempotency_key) == (UNKNOWN, "send_mail", "k-1")
    found = home.past_effects.find("default", "send_mail", "k-1")
    assert found is not None
    assert found.state is UNKNOWN
    run = home.catalogue.run("run-1")
    assert (run.effects, run.unknown_effects) == (1, 1)
    assert "SIDE_EFFECT_UNKNOWN" in run.signatures


@pytest.mark.parametrize(
    ("outcome", "state"),
    [(CallOutcome.OK, CONFIRMED), (CallOutcome.ERROR, FAILED), (CallOutcome.TIMEOUT, UNKNOWN)],
)
def test_an_effect_whose_call_came_back_before_the_crash_is_decided(
    home: Home, outcome: CallOutcome, state: EffectState
) -> None:
    """Only the ledger's own event is lost."""
    desk = Desk(home)
    desk.move(PLANNED, EXECUTING)
    desk.come_back(outcome)
    desk.writer.abandon()
    assert home.catalogue.effect(desk.effect_id).state is state


def test_a_reconciler_in_another_process_decides_it(home: Home) -> None:
    """In its own spool, in whichever order the two are read."""
    clock = Clock()
    desk = Desk(home, clock=clock)
    desk.move(PLANNED, EXECUTING)
    desk.writer.abandon()
    other = Chain("run-1", "reconciler", clock, digester=home.digester)
    with home.new_spool() as writer:
        writer.append([other.agent_started(desk.chain.latest)])
        decided = other.moved(desk.effect_id, "send_mail", "k-1", UNKNOWN, RECONCILED, "person:ada")
        writer.append([decided, other.agent_finished()])
    row = home.catalogue.effect(desk.effect_id)
    assert (row.state, row.by) == (RECONCILED, "person:ada")
    assert home.catalogue.run("run-1").unknown_effects == 0
    assert rebuild(home, check=True).differences == ()


def test_effects_are_listed_for_a_run_or_all(home: Home) -> None:
    """In the order in which they moved."""
    clock = Clock()
    desks = [Desk(home, run_id=f"run-{number}", clock=clock) for number in range(3)]
    for desk in reversed(desks):
        desk.move(PLANNED, EXECUTING)
    assert [row.effect_id for row in home.catalogue.effects()] == [desk.effect_id for desk in reversed(desks)]
    assert [row.run_id for row in home.catalogue.effects("run-1")] == ["run-1"]
    for desk in desks:
        desk.finish()


def test_an_imported_run_keeps_the_grade_of_its_source(home: Home) -> None:
    """With what the source does not carry."""
    chain = Chain("run-1", "run", Clock(), digester=home.digester)
    start = chain.run_started()
    imported = RunImported(chain.meta(), "who-and-when", Fidelity.SPANS_ONLY, ("a clock",), None)
    with home.new_spool() as writer:
        writer.append([start, chain.add(imported), chain.run_finished()])
    row = home.catalogue.run("run-1")
    assert row.fidelity == "SPANS_ONLY"
    assert any("a clock" in sentence for sentence in row.missing)


def test_a_damaged_run_is_told_as_far_as_it_can_be_read(home: Home) -> None:
    """And does not keep the others from being told."""
    with home.new_spool() as writer:
        writer.append(small_fleet("run-1", digester=home.digester))
        writer.append(small_fleet("run-2", digester=home.digester))
    path = segments_of(home)[0]
    data = bytearray(path.read_bytes())
    data[600] ^= 0xFF
    path.write_bytes(data)
    one, two = home.catalogue.runs()
    assert (one.run_id, one.fidelity) == ("run-1", "TRUNCATED")
    assert "cannot be read" in one.missing[-1]
    assert (two.run_id, two.fidelity) == ("run-2", "COMPLETE")


def test_a_catalogue_that_was_deleted_comes_back(home: Home) -> None:
    """From the log."""
    desk = Desk(home)
    desk.move(PLANNED, EXECUTING)
    desk.finish()
    before = (list(home.catalogue.runs()), list(home.catalogue.effects()))
    home.catalogue.close()
    for path in home.path.glob("catalogue.db*"):
        path.unlink()
    again = Home.open(home.path).catalogue
    assert (list(again.runs()), list(again.effects())) == before


def test_a_catalogue_of_another_version_is_filled_anew(home: Home) -> None:
    """Whatever tables it has."""
    with home.new_spool() as writer:
        writer.append(small_fleet(digester=home.digester))
    database = sqlite3.connect(home.path / "catalogue.db")
    database.execute("CREATE TABLE runs (other TEXT)")
    database.execute("PRAGMA user_version = 99")
    database.close()
    assert [row.run_id for row in home.catalogue.runs()] == ["run-1"]


def test_a_file_that_is_no_catalogue_is_a_clear_error_and_rebuilt(home: Home) -> None:
    """The error says that nothing is lost and how to mend it."""
    with home.new_spool() as writer:
        writer.append(small_fleet(digester=home.digester))
    (home.path / "catalogue.db").write_bytes(b"not a database " * 100)
    with pytest.raises(StoreUnavailable, match="`tacho rebuild` makes it anew"):
        home.catalogue.runs()
    assert rebuild(home, check=True).differences == ("The catalogue cannot be read.",)
    assert rebuild(home, check=False).runs == 1
    assert [row.run_id for row in home.catalogue.runs()] == ["run-1"]


def test_rebuild_check_names_what_differs_and_rebuild_mends_it(home: Home) -> None:
    """Row by row."""
    desk = Desk(home)
    desk.move(PLANNED, EXECUTING)
    desk.finish()
    home.catalogue.runs()
    home.catalogue.close()
    database = sqlite3.connect(home.path / "catalogue.db")
    database.execute("UPDATE transitions SET state = 'CONFIRMED'")
    database.commit()
    database.close()
    report = rebuild(home, check=True)
    assert any("transitions" in sentence and "'CONFIRMED'" in sentence for sentence in report.differences)
    assert rebuild(home, check=True).differences == report.differences
    assert rebuild(home, check=False).differences == report.differences
    assert rebuild(home, check=True).differences == ()
    assert home.catalogue.effect(desk.effect_id).state is UNKNOWN


def test_a_home_that_cannot_be_written_is_catalogued_in_memory(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    """Evidence on a read-only medium can be looked at."""
    with home.new_spool() as writer:
        writer.append(small_fleet(digester=home.digester))
    monkeypatch.setattr("os.access", lambda path, mode: False)
    again = Home.open(home.path)
    assert [row.run_id for row in again.catalogue.runs()] == ["run-1"]
    assert rebuild(again, check=True).differences == ()
    assert not (home.path / "catalogue.db").exists()


def test_a_home_on_a_full_disk_is_catalogued_in_memory(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    """That is when somebody wants to look; only what would have to be kept is refused."""
    with home.new_spool() as writer:
        writer.append(small_fleet(digester=home.digester))
    told = list(os.statvfs(home.path))
    full = os.statvfs_result([*told[:3], 0, 0, *told[5:]])
    monkeypatch.setattr("os.statvfs", lambda path: full)
    again = Home.open(home.path)
    assert [row.run_id for row in again.catalogue.runs()] == ["run-1"]
    assert not (home.path / "catalogue.db").exists()
    with pytest.raises(StoreUnavailable, match="full"):
        rebuild(again, check=False)


@pytest.mark.parametrize("check", [False, True])
@pytest.mark.parametrize("denied", ["catalogue.db", ""])
def test_a_catalogue_that_cannot_be_written_is_not_said_to_be_rebuilt(
    home: Home, monkeypatch: pytest.MonkeyPatch, denied: str, check: bool
) -> None:
    """Of a file or a directory that somebody else owns: nothing is claimed, the damage stays and is named."""
    with home.new_spool() as writer:
        writer.append(small_fleet(digester=home.digester))
    (home.path / "catalogue.db").write_bytes(b"no database")
    real = os.access
    monkeypatch.setattr("os.access", lambda path, mode: Path(path) != home.path / denied and real(path, mode))
    again = Home.open(home.path)
    assert [row.run_id for row in again.catalogue.runs()] == ["run-1"]
    with pytest.raises(StoreUnavailable, match=r"catalogue\.db.*as the owner"):
        rebuild(again, check=check)
    assert (home.path / "catalogue.db").read_bytes() == b"no database"


def test_a_catalogue_that_can_be_written_meanwhile_is_kept(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was catalogued in memory is rebuilt into the file as soon as there can be one."""
    with home.new_spool() as writer:
        writer.append(small_fleet(digester=home.digester))
    again = Home.open(home.path)
    with monkeypatch.context() as denied:
        denied.setattr("os.access", lambda path, mode: False)
        assert len(again.catalogue.runs()) == 1
    assert rebuild(again, check=False).runs == 1
    assert (home.path / "catalogue.db").exists()


def _ask(path: Path, start: multiprocessing.synchronize.Event, out: multiprocessing.SimpleQueue) -> None:
    start.wait()
    home = Home.open(path)
    out.put([(row.run_id, row.events) for row in home.catalogue.runs()])


def test_processes_that_ask_at_once_get_the_same(home: Home) -> None:
    """Each brings the catalogue up to date; none spoils it."""
    for number in range(6):
        with SpoolWriter(home.path / "log", segment_bytes_max=2000) as writer:
            for payload in small_fleet(f"run-{number}", digester=home.digester):
                writer.append([payload])
    context = multiprocessing.get_context("fork")
    start, out = context.Event(), context.SimpleQueue()
    children = [context.Process(target=_ask, args=(home.path, start, out)) for _ in range(4)]
    for child in children:
        child.start()
    start.set()
    answers = [out.get() for _ in children]
    for child in children:
        child.join()
    assert {tuple(answer) for answer in answers} == {tuple((f"run-{number}", 14) for number in range(6))}
    assert rebuild(home, check=True).differences == ()


def _ask_again(home: Home, out: multiprocessing.SimpleQueue) -> None:
    out.put([row.run_id for row in home.catalogue.runs()])


def test_a_forked_child_uses_a_connection_of_its_own(home: Home) -> None:
    """An SQLite connection must not be carried over a fork."""
    with home.new_spool() as writer:
        writer.append(small_fleet(digester=home.digester))
    home.catalogue.runs()
    context = multiprocessing.get_context("fork")
    out = context.SimpleQueue()
    child = context.Process(target=_ask_again, args=(home, out))
    child.start()
    assert out.get() == ["run-1"]
    child.join()
    assert child.exitcode == 0
    assert [row.run_id for row in home.catalogue.runs()] == ["run-1"]


def test_what_other_spools_get_is_seen_at_once_however_it_comes(home: Home) -> None:
    """More of a segment, a further segment, a writer's death: each is noticed in a spool that was read before."""
    desk = Desk(home)
    assert home.past_effects.find("default", "send_mail", "k-1") is None
    desk.move(PLANNED, EXECUTING)
    assert _state(home) is EXECUTING
    assert _state(home) is EXECUTING
    desk.writer._rotate()
    desk.move(EXECUTING, UNKNOWN)
    assert _state(home) is UNKNOWN
    desk.move(UNKNOWN, RECONCILED)
    assert _state(home) is RECONCILED
    other = Desk(home, run_id="run-2", clock=Clock(3_000_000_000_000))
    other.move(PLANNED, EXECUTING)
    assert _state(home) is EXECUTING
    other.writer.abandon()
    assert _state(home) is UNKNOWN
    desk.finish()


def _state(home: Home) -> EffectState | None:
    found = home.past_effects.find("default", "send_mail", "k-1")
    return None if found is None else found.state
