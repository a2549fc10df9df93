"""From events to steps."""

from __future__ import annotations

from dataclasses import replace

import pytest

from histories import history
from history_parts import inline
from tachograph.core.canonical import encode_body
from tachograph.core.errors import MissingBody
from tachograph.core.replay import StepMaker, StreamSteps, steps_of
from tachograph.schemas import Body, CallOutcome, EndOutcome


def streams(text: str) -> dict[tuple[str, int], StreamSteps]:
    """The steps of a history's streams."""
    return steps_of(history(text), inline)


def outline(stream: StreamSteps) -> list[tuple[str, str]]:
    """Kinds and names."""
    return [(step.kind, step.name) for step in stream.steps]


def test_a_call_is_one_step_with_its_answer() -> None:
    """CallStarted and CallFinished make one step, which carries what came back."""
    found = streams('run start; a open; a tool look(1, x=2) = {"n": 3}')["a", 1]
    (step,), (fixture,) = found.steps, found.fixtures
    assert (step.kind, step.name, step.number, step.seq) == ("tool", "look", 1, 2)
    assert step.arguments == encode_body({"args": [1], "kwargs": {"x": 2}})
    assert (step.outcome, step.result) == (CallOutcome.OK, b'{"n":3}')
    assert fixture is not None
    assert (fixture.result, fixture.seq) == (b'{"n":3}', 3)


def test_both_sides_make_the_same_step_of_a_call() -> None:
    """What the recording's reader makes of a call is what a replay makes of it, but for what only a recording has."""
    (recorded,) = streams("run start; a open; a tool look(1, x=2) = 3")["a", 1].steps
    replayed = StepMaker("a", 1).call("tool", "look", recorded.arguments)
    only_recorded = {"seq": recorded.seq, "hlc": recorded.hlc, "outcome": CallOutcome.OK, "result": b"3"}
    assert replace(replayed, **only_recorded) == recorded


def test_steps_stand_in_order_of_their_first_event() -> None:
    """Concurrent calls stand as they began, not as they came back."""
    found = streams("run start; a open; a begin tool f(1); a begin tool g(1); a back g = 2; a back f = 1")["a", 1]
    assert outline(found) == [("tool", "f"), ("tool", "g")]
    assert [step.result for step in found.steps] == [b"1", b"2"]
    assert [fixture.hlc for fixture in found.fixtures if fixture] == sorted(
        (fixture.hlc for fixture in found.fixtures if fixture), reverse=True
    )


def test_every_kind_of_step() -> None:
    """Messages, state, checkpoints, artifacts and the end are steps; nothing comes back from them."""
    found = streams(
        "run start; a open; b open; b send a 7; a receive 1; a send b 8; a state k = 1; a checkpoint c = 2; a artifact d = 3;"
        " a clock now = 4; a end = 5"
    )["a", 1]
    assert outline(found) == [
        ("messages", "receive"),
        ("send", "b"),
        ("state", "k"),
        ("checkpoint", "c"),
        ("artifact", "d"),
        ("clock", "now"),
        ("end", "end"),
    ]
    assert [fixture is not None for fixture in found.fixtures] == [True, False, False, False, False, True, False]
    assert found.steps[-1].outcome is EndOutcome.OK
    assert found.ended


def test_a_received_message_is_the_answer_of_receive() -> None:
    """The step has no arguments; its fixture is the message and who sent it."""
    found = streams('run start; a open; b open; b send a "hello"; a receive 1')["a", 1]
    (fixture,) = found.fixtures
    assert fixture is not None
    assert (fixture.outcome, fixture.result, fixture.from_agent_id) == (CallOutcome.OK, b'"hello"', "b")
    assert fixture.yields == -1


def test_a_child_is_opened_where_its_parent_stood() -> None:
    """An agent's first event is a step of its parent, between the parent's own steps around it."""
    found = streams("run start; a open; a tool f(1) = 1; b open in a; a tool g(1) = 1; c open in a; a end; run end")
    assert outline(found["a", 1]) == [("tool", "f"), ("agent", "b"), ("tool", "g"), ("agent", "c"), ("end", "end")]
    assert outline(found["run", 1]) == [("agent", "a"), ("end", "end")]
    assert (found["b", 1].parent, found["b", 1].role) == (("a", 1), "b")


def test_a_child_opened_while_a_call_is_out() -> None:
    """The child's place is behind the call that had begun and before the one that had not."""
    found = streams("run start; a open; a begin tool f(1); b open in a; a back f = 1; a tool g(1) = 1")["a", 1]
    assert outline(found) == [("tool", "f"), ("agent", "b"), ("tool", "g")]


def test_a_process_that_joins_is_no_step() -> None:
    """A stream with an entry point of its own is driven by itself."""
    assert outline(streams("run start; b joins; run end")["run", 1]) == [("end", "end")]


def test_an_agent_opened_twice_is_two_streams() -> None:
    """Each incarnation stands for itself."""
    found = streams("run start; a open; a tool f(1) = 1; a end; a open; a tool f(2) = 2; a end; run end")
    assert found["a", 1].steps[0].arguments != found["a", 2].steps[0].arguments
    assert outline(found["run", 1]) == [("agent", "a"), ("agent", "a"), ("end", "end")]


def test_a_call_that_never_came_back() -> None:
    """The step is there; its fixture says that nothing came back, and the stream that it breaks off."""
    found = streams("run start; a open; a begin tool f(1)")["a", 1]
    assert found.steps[0].outcome is None
    assert found.fixtures[0] is not None
    assert found.fixtures[0].outcome is None
    assert not found.ended


def test_errors_and_streams() -> None:
    """An exception is kept with its bases, a streamed answer piece by piece."""
    found = streams('run start; a open; a tool f(1) ! KeyError; a stream chat(1) = ["to", "day"]')["a", 1]
    raised, streamed = found.fixtures
    assert raised is not None
    assert raised.error is not None
    assert (raised.error.type, raised.error.bases) == ("builtins.KeyError", ("builtins.Exception",))
    assert found.steps[0].error_type == "builtins.KeyError"
    assert streamed is not None
    assert [piece.data for piece in streamed.pieces] == [b'"to"', b'"day"']


def test_an_end_with_an_error_ignores_memory_addresses() -> None:
    """Two processes put objects at different places; that is no other outcome."""
    maker = StepMaker("a", 1)
    one, other, third = (
        maker.ended(EndOutcome.ERROR, None, ("builtins.ValueError", text))
        for text in ("<X object at 0x7f00aa10>", "<X object at 0x55d0bb20>", "<Y object at 0x55d0bb20>")
    )
    assert one.key == other.key != third.key


def test_repeated_events_count_once() -> None:
    """A log that gives an event twice gives the same steps."""
    events = history("run start; a open; a tool f(1) = 1; a state k = 1; a end; run end")
    doubled = [event for event in events for _ in range(2)]
    assert steps_of(doubled, inline) == steps_of(events, inline)


def test_streams_may_come_one_after_the_other() -> None:
    """Only a stream's own order matters."""
    events = history("run start; a open; a tool f(1) = 1; b open in a; b state k = 1; a end; b end; run end")
    by_stream = sorted(events, key=lambda event: (event.meta.agent_id, event.meta.seq))
    assert steps_of(by_stream, inline) == steps_of(events, inline)


def test_a_missing_body_comes_out_with_its_event() -> None:
    """What cannot be read is named, not left out."""

    def missing(body: Body, event_id: str) -> bytes:
        raise MissingBody(body.digest.hex(), event_id)

    with pytest.raises(MissingBody, match=r"r1/a#1\.2"):
        steps_of(history("run start; a open; a tool f(1) = 1"), missing)
