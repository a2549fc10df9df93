"""What strangers hand to a recorder: odd clocks, doubled messages, names that are no texts, numbers beyond any bound."""

from __future__ import annotations

import asyncio
from collections import deque
from dataclasses import replace
from pathlib import Path
from typing import cast

import pytest

from recordings import check_run, events_of, named, payloads_of
from tachograph.core.boundary import Envelope, Run, spec_of
from tachograph.core.errors import InvalidSetting
from tachograph.producers import Recorder, tool
from tachograph.schemas import CallFinished, CallStarted, Event, MessageReceived, ModelRequest, ToolRequest, Usage

HOUR_HLC = 3_600_000 << 16


class Post:
    """A transport that delivers what it is given, as often as it is given it."""

    def __init__(self) -> None:
        self.envelopes: deque[Envelope] = deque()

    def deliver(self, envelope: Envelope) -> None:
        """Keep it."""
        self.envelopes.append(envelope)

    async def deliver_async(self, envelope: Envelope) -> None:
        """Keep it."""
        self.envelopes.append(envelope)

    def collect(self, run_id: str, agent_id: str) -> Envelope:
        """The oldest, whoever asks."""
        return self.envelopes.popleft()

    async def collect_async(self, run_id: str, agent_id: str) -> Envelope:
        """The oldest, whoever asks."""
        return self.envelopes.popleft()


def test_an_envelope_that_leaves_carries_its_events_hash(tmp_path: Path) -> None:
    """And its MessageSent is with the operating system by then; a transport may deliver twice, control logic gets one."""
    post = Post()
    with Recorder(tmp_path / "home", transport=post) as recorder, recorder.run("r") as run:
        with run.agent("a") as a, run.agent("b") as b:
            a.send("b", 1)
            (sent,) = named(events_of(tmp_path / "home", run.id), "MessageSent")
            assert post.envelopes[0].hash == sent.meta.hash.hex()
            post.envelopes.append(post.envelopes[0])
            a.send("b", 2)
            assert [b.receive(), b.receive()] == [1, 2]
        recorder.flush()
        events = check_run(payloads_of(recorder.home, run.id))
    received = named(events, "MessageReceived")
    assert [len(event.meta.causes) for event in received] == [1, 1]


@pytest.mark.parametrize("digest", ["", "zz", "ab"])
def test_a_message_from_an_unrecorded_sender_has_no_cause(tmp_path: Path, digest: str) -> None:
    """It is received and recorded all the same."""
    post = Post()
    with Recorder(tmp_path / "home", transport=post) as recorder, recorder.run("r") as run, run.agent("b") as b:
        post.deliver(Envelope(run.id, "m-1", "stranger", "b", {"x": 1}, 1, 1, 0, digest))
        assert b.receive() == {"x": 1}
        (received,) = named(_after_flush(recorder, run.id), "MessageReceived")
    assert isinstance(received, MessageReceived)
    assert received.meta.causes == ()


def test_a_clock_far_ahead_is_flagged_and_not_adopted(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """One machine whose clock is an hour ahead does not push everybody's time ahead; a few seconds are believed."""
    post = Post()
    with Recorder(tmp_path / "home", transport=post) as recorder, recorder.run("r") as run:
        with run.agent("a") as a, run.agent("b") as b:
            a.send("b", 1)
            first = post.envelopes.pop()
            near = replace(first, hlc=first.hlc + (5_000 << 16), message_id="m-1", hash="")
            post.envelopes += [replace(first, hlc=first.hlc + HOUR_HLC, message_id="m-2", hash=""), near]
            b.receive()
            assert recorder.statistics().clocks_clamped == 1
            b.receive()
            assert recorder.statistics().clocks_clamped == 1
            b.set_state("k", 1)
        events = _after_flush(recorder, run.id)
    assert "'a' is more than a minute ahead" in caplog.text
    (later,) = named(events, "StateChanged")
    assert near.hlc < later.meta.hlc < first.hlc + HOUR_HLC


def test_names_and_numbers_that_no_event_can_hold_cost_no_event(tmp_path: Path) -> None:
    """A version that is a number, a provider that is none, tokens beyond 64 bits: the event is poorer, and is there."""

    @tool(version=cast("str", 7))
    def versioned() -> None:
        pass

    def odd(run: Run) -> None:
        with run.agent("a") as agent:
            agent.call(versioned)
            agent.model(lambda **_: {"usage": {"input_tokens": 2**70, "output_tokens": 3}}, provider=cast("str", 5))
            agent.retrieve(list, index=cast("str", ["not", "a", "text"]))
            agent.artifact("note", "x" * 100, media_type=cast("str", None))
            agent.set_state("x" * 100_000, 1)

    with Recorder(tmp_path / "home") as recorder:
        recorder.record(odd)
        events = check_run(payloads_of(recorder.home, recorder.latest_run_id))
        assert recorder.statistics().latest_error is None
    started = [event for event in events if isinstance(event, CallStarted)]
    assert started[0].name.endswith("versioned")
    assert started[0].version in ("7", None)
    finished = [event for event in events if isinstance(event, CallFinished)]
    assert finished[1].usage == Usage(None, 3, None)
    (state,) = named(events, "StateChanged")
    assert len(state.key) == 65_536  # type: ignore[union-attr]  # StateChanged


def test_what_an_answer_raises_when_looked_into_is_no_failure(tmp_path: Path) -> None:
    """Control logic gets the answer; a parameter that nobody can spell out is left out of the details."""

    class Lazy:
        @property
        def usage(self) -> object:
            message = "the connection is closed"
            raise RuntimeError(message)

    answer = Lazy()

    def looks(run: Run) -> None:
        with run.agent("a") as agent:
            assert agent.model(lambda **_: answer, model="m-1", seed=10**5000, top_k=3) is answer
            assert agent.retrieve(lambda: [{"document_id": "d", "score": 10**400}], index="i")

    with Recorder(tmp_path / "home") as recorder:
        recorder.record(looks)
        events = check_run(payloads_of(recorder.home, recorder.latest_run_id))
    (request, _) = [event.details for event in events if isinstance(event, CallStarted)]
    assert isinstance(request, ModelRequest)
    assert request.parameters == '{"top_k":3}'
    assert [str(event.outcome) for event in events if isinstance(event, CallFinished)] == ["OK", "OK"]


def test_details_of_calls_are_recorded(tmp_path: Path) -> None:
    """What the boundary reads out of requests and answers stands in the events, typed."""

    async def asks(run: Run) -> None:
        async with run.agent("a") as agent:
            await agent.model(_answer, provider="acme", model="m-1", temperature=0.5, model_version="2026-01")

    with Recorder(tmp_path / "home") as recorder:
        asyncio.run(_recorded(recorder, asks))
        events = check_run(payloads_of(recorder.home, recorder.latest_run_id))
    (start,) = [event for event in events if isinstance(event, CallStarted)]
    assert isinstance(start.details, ModelRequest)
    assert not isinstance(start.details, ToolRequest)
    assert (start.details.provider, start.details.model, start.details.version) == ("acme", "m-1", "2026-01")
    (end,) = [event for event in events if isinstance(event, CallFinished)]
    assert end.usage == Usage(10, 20, None)


def test_a_key_of_a_call_that_is_no_effect_is_redacted_too(tmp_path: Path) -> None:
    """Whatever stands in an idempotency key, it is not written as it is."""

    @tool(effect="read", idempotency_key=lambda who: who)
    def read(who: str) -> str:
        return "x"

    def reads(run: Run) -> None:
        with run.agent("a") as agent:
            agent.call(read, "maria.hidden@example.org")

    with Recorder(tmp_path / "home") as recorder:
        recorder.record(reads)
        (start,) = named(check_run(payloads_of(recorder.home, recorder.latest_run_id)), "CallStarted")
    assert isinstance(start, CallStarted)
    assert start.idempotency_key is not None
    assert "maria" not in start.idempotency_key


async def _answer(**_: object) -> dict[str, object]:
    return {"usage": {"input_tokens": 10, "output_tokens": 20}, "stop_reason": "end"}


def _after_flush(recorder: Recorder, run_id: str) -> list[Event]:
    recorder.flush()
    return events_of(recorder.home, run_id)


async def _recorded(recorder: Recorder, entrypoint: object) -> object:
    return await recorder.record(entrypoint)  # type: ignore[call-overload]  # any asynchronous entry point


def test_a_tool_may_be_declared_without_parentheses() -> None:
    """Then nothing is said of it but its name; what is no function is no tool."""

    @tool
    def bare() -> int:
        return 7

    assert bare() == 7
    assert spec_of(bare) == spec_of(tool()(bare))
    with pytest.raises(InvalidSetting, match="a name is given as `@tool"):
        tool("bare")  # type: ignore[type-var]
