"""The demo fleet records the incident with real parts; its replay reproduces it and touches none of them."""

from __future__ import annotations

import asyncio
import socket
import sqlite3
import sys
from contextlib import closing
from pathlib import Path

import pytest

from public_runs import nothing
from recordings import check_run, payloads_of
from tachograph.core.errors import InvalidSetting
from tachograph.core.ports import ForkOptions, ReplayOptions
from tachograph.core.state import empty, fold, signatures
from tachograph.producers.demo import Office, record_demo, record_fleet
from tachograph.replay_workers import fork, replay
from tachograph.schemas import (
    AgentStarted,
    CallFinished,
    CallOutcome,
    CallStarted,
    EffectTransitioned,
    Event,
    RetrievalResponse,
    RunStarted,
)
from tachograph.stores import Home

_BACK_OFFICE = "tachograph.producers.demo._back_office"


def test_the_customer_gets_two_mails(tmp_path: Path) -> None:
    """The mail server accepts, the connection drops, the agent sends again under another key."""
    steps: list[str] = []
    result = record_demo(tmp_path / "home", 7, lambda _done, _total, what: steps.append(what))
    events = check_run(payloads_of(tmp_path / "home", result.run_id))
    assert result.mails_received == 2
    assert len(steps) == 4
    sends = [event for event in events if isinstance(event, CallStarted) and event.name == "send_mail"]
    outcomes = {
        event.call_id: event.outcome for event in events if isinstance(event, CallFinished) and _of(event, sends)
    }
    assert [outcomes[send.meta.seq] for send in sends] == [CallOutcome.UNKNOWN, CallOutcome.OK]
    assert sends[0].idempotency_key != sends[1].idempotency_key
    assert sends[0].arguments == sends[1].arguments
    states = [
        event.to_state.value for event in events if isinstance(event, EffectTransitioned) and event.name == "send_mail"
    ]
    assert states == ["EXECUTING", "UNKNOWN", "EXECUTING", "CONFIRMED"]


def _of(event: CallFinished, sends: list[CallStarted]) -> bool:
    return any(event.meta.agent_id == send.meta.agent_id and event.call_id == send.meta.seq for send in sends)


def test_the_incident_has_its_signature(tmp_path: Path) -> None:
    """What happened is named from evidence alone."""
    run_id = record_demo(tmp_path / "home", 1, nothing).run_id
    state = empty(run_id)
    for event in check_run(payloads_of(tmp_path / "home", run_id)):
        state = fold(state, event)
    names = {hit.name for hit in signatures(state)}
    assert "SIDE_EFFECT_UNKNOWN_RETRY_DUPLICATE" in names


def test_the_fleet_crosses_the_boundary_in_every_way(tmp_path: Path) -> None:
    """Four agents in two processes; every kind of call, concurrent ones, and evidence with its ids."""
    run_id = record_demo(tmp_path / "home", 2, nothing).run_id
    events = check_run(payloads_of(tmp_path / "home", run_id))
    assert {event.meta.agent_id for event in events} == {"run", "triage", "billing", "mailer", "auditor"}
    kinds = {event.kind for event in events if isinstance(event, CallStarted)}
    assert kinds == {"model", "tool", "retrieval", "policy", "approval", "clock", "random", "id", "messages"}
    others = {type(event).__name__ for event in events}
    assert {"StateChanged", "Checkpointed", "ArtifactWritten", "MessageSent", "MessageReceived"} <= others
    joined = [event for event in events if isinstance(event, AgentStarted) and event.entrypoint]
    assert sorted(event.meta.agent_id for event in joined) == ["auditor", "mailer"]
    spools = {stored.segment.split("/")[0] for stored in Home.open(tmp_path / "home").log.read_run(run_id)}
    assert len(spools) == 2
    found = [event.details for event in events if isinstance(event, CallFinished)]
    (evidence,) = [details.evidence for details in found if isinstance(details, RetrievalResponse)]
    assert [(each.document_id, each.chunk_id) for each in evidence] == [("refunds", "damaged")]
    assert any(evidence[0].chunk_hash)
    assert _is_concurrent(events, "triage")


def test_the_same_seed_gives_the_same_story(tmp_path: Path) -> None:
    """Ticket and letter come from the seed; ids, clock and chance are the run's own."""

    def bodies(seed: int, name: str) -> list[bytes | None]:
        home = tmp_path / name
        events = check_run(payloads_of(home, record_demo(home, seed, nothing).run_id))
        return [event.arguments.inline for event in events if isinstance(event, CallStarted) and event.kind == "model"]

    first, same, other = bodies(5, "a"), bodies(5, "b"), bodies(6, "c")
    assert first == same
    assert first != other


def test_a_replay_touches_nothing(tmp_path: Path) -> None:
    """While every server still runs, a replay reproduces the run and none of them hears of it."""
    home = tmp_path / "home"
    with Office(3) as office:
        run_id = asyncio.run(record_fleet(home, office))
        visits, books = office.visits, _books(office)
        assert visits >= 4
        (result,) = replay(home, [run_id], ReplayOptions(), 1, nothing)
        assert (office.visits, _books(office), len(office.mail.mails)) == (visits, books, 2)
    verdict = result.verdict
    assert (verdict.status, verdict.control_flow, verdict.state, verdict.content) == ("reproduced",) * 4
    assert not any(verdict.live.values())
    assert verdict.served["tool"] == 7
    assert verdict.blocked == ()


def test_nothing_is_left_behind() -> None:
    """Files and ports are gone when the office closes, whatever happened in it."""
    office = Office(4)
    with pytest.raises(RuntimeError):
        _interrupt(office)
    assert not office.directory.exists()
    for port in (office.service.port, office.mail.port):
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(("127.0.0.1", port), timeout=5)


def _interrupt(office: Office) -> None:
    with office:
        assert office.directory.exists()
        raise RuntimeError


def test_the_entry_points_of_the_mended_fleet_fit_the_recorded_ones(tmp_path: Path) -> None:
    """What is to be driven in place of what: names that the recording has."""
    result = record_demo(tmp_path / "home", 9, nothing)
    events = check_run(payloads_of(tmp_path / "home", result.run_id))
    recorded = {event.entrypoint for event in events if isinstance(event, RunStarted | AgentStarted)}
    assert set(result.fixed_entrypoints) <= recorded
    assert all(name.endswith(":careful_mailer") for name in result.fixed_entrypoints.values())


def _books(office: Office) -> list[tuple[object, ...]]:
    with closing(sqlite3.connect(office.places["database"])) as database:
        return [*database.execute("SELECT * FROM refunds"), *database.execute("SELECT * FROM audit")]


def _is_concurrent(events: list[Event], agent_id: str) -> bool:
    """Whether an agent had two calls out at once."""
    out = 0
    for event in events:
        if event.meta.agent_id == agent_id:
            out += isinstance(event, CallStarted) - isinstance(event, CallFinished)
            if out > 1:
                return True
    return False


def test_the_demo_without_its_mail_server_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    """The missing package is named with the command that brings it, and nothing is left open."""
    monkeypatch.setitem(sys.modules, "aiosmtpd.smtp", None)
    office = Office(4)
    with pytest.raises(InvalidSetting, match=r"pip install 'tachograph\[demo\]'"):
        office.__enter__()
    assert not office.directory.exists()


def test_the_mended_fleet_stops_where_a_person_must_decide(tmp_path: Path) -> None:
    """A fork with the mended mailer sends nothing and ends in ReconciliationRequired, the mail being UNKNOWN."""
    home = tmp_path / "home"
    with Office(11) as office:
        run_id = asyncio.run(record_fleet(home, office))
        visits = office.visits
        mended = {f"{_BACK_OFFICE}:mailer": f"{_BACK_OFFICE}:careful_mailer"}
        forked = fork(home, run_id, ForkOptions(entrypoints=mended))
        assert office.visits == visits
    assert "ReconciliationRequired" in forked.ended
    assert "refund-mail/T-1042" in forked.ended
    assert not any(forked.verdict.live.values())
    assert forked.verdict.first_divergence is not None
    assert forked.verdict.first_divergence.agent_id == "mailer"
