"""Secrets never reach an event, a file, a log line or the text of an error that a recorder writes."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from recordings import check_run, events_of, payloads_of
from tachograph.core.boundary import Receipted, Run
from tachograph.core.errors import ReconciliationRequired, UnserialisableValue
from tachograph.core.redaction import NO_REDACTION
from tachograph.producers import DirectoryTransport, Recorder, tool
from tachograph.schemas import CallFinished, CallStarted, RunStarted

KEY = "sk-proj-9aXk2LmQ8vTz41RbNcYd0WqEoPfGhJs7"
MAIL = "maria.hidden@example.org"
BEARER = "Bearer eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJtYXJpYSJ9.c2lnbmF0dXJlLXRoYXQtaXMtaGlkZGVu"
PLANTED = (KEY, MAIL, BEARER.split()[1])


@tool(effect="write", idempotency_key=lambda to, headers: f"mail:{to}")
def send(to: str, headers: dict[str, str]) -> object:
    """An effect with secrets wherever one can be."""
    return Receipted({"sent": to, "authorization": BEARER}, {"account": to, "api_key": KEY})


@tool(effect="write", idempotency_key=lambda to: f"mail:{to}")
def lose(to: str) -> None:
    """An effect that fails in a telling way."""
    raise ConnectionResetError(f"connection of {to} with key {KEY} lost")


async def chunks(key: str) -> AsyncIterator[str]:
    """A streamed answer that repeats its secret."""
    yield f"your key is {key}"


async def leaks(run: Run, owner: str) -> dict[str, str]:
    """Control logic that puts secrets into everything."""
    async with run.agent("a", role=f"clerk of {MAIL}") as agent, run.agent("b") as other:
        await agent.call(send, MAIL, {"Authorization": BEARER})
        with pytest.raises(ConnectionResetError):
            await agent.call(lose, "other@example.org")
        with pytest.raises(ReconciliationRequired) as refused:
            await agent.call(lose, "other@example.org")
        assert "other@example.org" not in str(refused.value)
        assert [piece async for piece in agent.stream(chunks, key=KEY)]
        await agent.model(lambda **_: {"answer": KEY, "model": "m"}, model="m", api_key=KEY, user=MAIL)
        await agent.retrieve(lambda q: [{"document_id": MAIL, "text": KEY}], MAIL, index=MAIL, filter=f"owner={MAIL}")
        await agent.policy(lambda _: {"decision": "deny", "reasons": [f"{MAIL} is blocked"]}, 1, policy_id=MAIL)
        await agent.approval(lambda: {"approver": MAIL, "granted": True})
        await agent.send("b", {"token": KEY, "note": f"write to {MAIL}"})
        await other.receive()
        agent.set_state(f"last contact {MAIL}", {"password": "hunter2-hidden"})
        agent.checkpoint(f"before {MAIL}", KEY)
        agent.artifact(f"letter to {MAIL}", f"Dear {MAIL}")
        with pytest.raises(UnserialisableValue) as unserialisable:
            agent.set_state("k", {KEY: object()})
        assert KEY not in str(unserialisable.value)
        await agent.call(lambda: {MAIL: object()})
    return {"owner": owner, "secret": "swordfish-hidden"}


def test_no_secret_is_in_any_file_or_log_line(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Every byte that is written is searched: log, objects, catalogue and the program's own log lines."""
    caplog.set_level(logging.DEBUG)
    with Recorder(tmp_path / "home") as recorder:
        asyncio.run(_recorded(recorder))
        check_run(payloads_of(recorder.home, recorder.latest_run_id))
        recorder.home.catalogue.effects()
    written = {path: path.read_bytes() for path in (tmp_path / "home").rglob("*") if path.is_file()}
    for secret in (*PLANTED, "other@example.org", "hunter2-hidden", "swordfish-hidden"):
        found = [str(path) for path, data in written.items() if secret.encode() in data]
        assert found == [], f"{secret} is in {found}"
        assert secret not in caplog.text


def test_without_redaction_they_would_have_been(tmp_path: Path) -> None:
    """The test before searches in the right places: with redaction off it would find every planted secret."""
    with Recorder(tmp_path / "home", redaction=NO_REDACTION) as recorder, pytest.raises(AssertionError):
        asyncio.run(_recorded(recorder))
    data = b"".join(path.read_bytes() for path in (tmp_path / "home" / "log").rglob("*.seg"))
    assert all(secret.encode() in data for secret in PLANTED[:2])


def test_events_say_that_a_body_was_redacted_and_by_which_policy(tmp_path: Path) -> None:
    """`redacted` marks the bodies in which something was replaced, and no others."""

    def calls(run: Run) -> None:
        with run.agent("a") as agent:
            agent.call(len, MAIL)
            agent.call(len, "plain")

    with Recorder(tmp_path / "home") as recorder:
        recorder.record(calls)
        events = events_of(recorder.home, recorder.latest_run_id)
    assert [event.redaction for event in events if isinstance(event, RunStarted)] == ["default/1"]
    assert [event.arguments.redacted for event in events if isinstance(event, CallStarted)] == [True, False]
    assert [event.result.redacted for event in events if isinstance(event, CallFinished) if event.result] == [
        False,
        False,
    ]


def test_equal_secrets_stay_equal(tmp_path: Path) -> None:
    """The ledger still knows two attempts by a key that holds an address, before and after a restart."""

    def loses(run: Run) -> None:
        with run.agent("a") as agent:
            agent.call(lose, MAIL)

    with Recorder(tmp_path / "home") as recorder, pytest.raises(ConnectionResetError):
        recorder.record(loses)
    with Recorder(tmp_path / "home") as recorder, pytest.raises(ReconciliationRequired) as refused:
        recorder.record(loses)
    assert MAIL not in str(refused.value)


def test_texts_that_utf8_cannot_carry_are_written_out(tmp_path: Path) -> None:
    """A lone surrogate in a name, a key, an exception's text or a payload does not stop the recording."""

    def odd(run: Run) -> None:
        with run.agent("a") as agent:
            agent.set_state("\ud800", "\udfff")
            with pytest.raises(ValueError, match="\udc00"):
                agent.call(_raise)

    with Recorder(tmp_path / "home") as recorder:
        recorder.record(odd)
        assert len(check_run(payloads_of(recorder.home, recorder.latest_run_id))) == 7


def _raise() -> None:
    raise ValueError("\udc00")


def test_message_files_are_for_their_owner_only(tmp_path: Path) -> None:
    """Messages between processes are as they are, so nobody else on the machine may read them."""
    with (
        Recorder(tmp_path / "home", transport=DirectoryTransport(tmp_path / "mail")) as recorder,
        recorder.run("r") as run,
        run.agent("a") as agent,
    ):
        agent.send("b", {"token": KEY})
    (message,) = (path for path in (tmp_path / "mail").rglob("*") if path.is_file())
    assert message.stat().st_mode & 0o077 == 0


async def _recorded(recorder: Recorder) -> object:
    return await recorder.record(leaks, MAIL)
