"""A divergence in words: which side is the recording, and what differs."""

from __future__ import annotations

from dataclasses import replace

import pytest

from recorded_steps import AGENT, Call, recording, replaying
from tachograph.core.canonical import encode_body
from tachograph.core.replay import (
    Divergence,
    Matcher,
    Mismatch,
    Sides,
    Step,
    StepMaker,
    StreamSteps,
    compare,
    explain,
    field_changes,
    sentence,
)
from tachograph.schemas import EndOutcome


def steps(*made: tuple[str, str, object]) -> list[Step]:
    """Steps of any kind with any payload."""
    maker = StepMaker(AGENT, 1)
    found: list[Step] = []
    for kind, name, value in made:
        payload = encode_body(value)
        match kind:
            case "send":
                found.append(maker.send(name, payload))
            case "state":
                found.append(maker.state(name, payload))
            case "agent":
                found.append(maker.opened(name, str(value)))
            case "error":
                found.append(maker.ended(EndOutcome.ERROR, None, (name, str(value))))
            case "end":
                found.append(maker.ended(EndOutcome.OK, payload))
            case "model":
                found.append(maker.call("model", name, payload))
            case _:
                found.append(maker.call("tool", name, payload))
    return [replace(step, seq=2 * step.number, hlc=step.number) for step in found]


def args(*positional: object, **named: object) -> dict[str, object]:
    """A call's arguments as they are recorded."""
    return {"args": list(positional), "kwargs": named}


MAIL = ("tool", "send_mail", args("ann@example.org", subject="Refund"))
OTHER_MAIL = ("tool", "send_mail", args("bob@example.org", subject="Refund"))
LOOK = ("tool", "lookup", args(7))
END = ("end", "", None)


def told(recorded: list[tuple[str, str, object]], replayed: list[tuple[str, str, object]]) -> str:
    """The sentence for two lists of steps."""
    found = compare(steps(*recorded), steps(*replayed), run_id="r1")
    assert found is not None
    assert found.sentence == sentence(found)
    return found.sentence


@pytest.mark.parametrize(
    ("recorded", "replayed", "text"),
    [
        (
            [MAIL, END],
            [OTHER_MAIL, END],
            (
                "At step 1 of agent 'billing' the recording calls send_mail with "
                '$.args[0] = "ann@example.org", the replay with "bob@example.org".'
            ),
        ),
        (
            [LOOK, END],
            [LOOK, MAIL, END],
            (
                "At step 2 of agent 'billing' the replay calls "
                'send_mail("ann@example.org", subject="Refund"), which the recording does not; '
                "the recording ends without a result."
            ),
        ),
        (
            [LOOK, MAIL, END],
            [MAIL, END],
            (
                "At step 1 of agent 'billing' the recording calls lookup(7); the replay leaves it out and calls "
                'send_mail("ann@example.org", subject="Refund").'
            ),
        ),
        (
            [LOOK, MAIL, END],
            [MAIL, LOOK, END],
            (
                "At step 1 of agent 'billing' the recording first calls lookup(7), the replay first calls "
                'send_mail("ann@example.org", subject="Refund"); the steps are the same, their order is not.'
            ),
        ),
        (
            [LOOK, END],
            [LOOK, LOOK, END],
            (
                "At step 2 of agent 'billing' the replay calls lookup(7) twice, the recording once: "
                "the recorded answers are used up."
            ),
        ),
        (
            [LOOK, MAIL, END],
            [LOOK, ("error", "builtins.ValueError", "no such ticket")],
            (
                "At step 2 of agent 'billing' the recording calls "
                'send_mail("ann@example.org", subject="Refund"); the replay leaves it out and ends with '
                "ValueError: no such ticket."
            ),
        ),
        (
            [("state", "total", 12), END],
            [("state", "total", 13), END],
            (
                "At step 1 of agent 'billing' the recording sets the state 'total' to 12, "
                "the replay sets the state 'total' to 13."
            ),
        ),
        (
            [("state", "order", {"n": 1, "m": 1}), END],
            [("state", "order", {"n": 2, "m": 1}), END],
            "At step 1 of agent 'billing' the recording sets the state 'order' with $.n = 1, the replay with 2.",
        ),
        (
            [("send", "mailer", {"n": 1}), END],
            [("send", "mailer", {}), END],
            "At step 1 of agent 'billing' the recording sends to 'mailer' with $.n = 1, the replay has none.",
        ),
        (
            [("end", "", {"sent": 1})],
            [("end", "", {"sent": 2})],
            (
                "At step 1 of agent 'billing' the recording ends with the result {\"sent\": 1}, "
                'the replay ends with the result {"sent": 2}.'
            ),
        ),
        (
            [("agent", "checker", "strict"), END],
            [END],
            (
                "At step 1 of agent 'billing' the recording opens the agent 'checker'; "
                "the replay leaves it out and ends without a result."
            ),
        ),
    ],
)
def test_the_sentence(
    recorded: list[tuple[str, str, object]], replayed: list[tuple[str, str, object]], text: str
) -> None:
    """One sentence for each kind of divergence; it always says which side is the recording."""
    assert told(recorded, replayed) == text


def test_more_than_one_field() -> None:
    """The first field is shown, the rest counted."""
    changed = ("tool", "send_mail", args("bob@example.org", subject="Sorry", cc="eve@example.org"))
    assert told([MAIL, END], [changed, END]).endswith("(and 2 more fields).")


def test_a_field_that_is_new() -> None:
    """A field that the recording does not have is told as such."""
    changed = ("tool", "send_mail", args("ann@example.org", subject="Refund", cc="eve@example.org"))
    assert "no $.kwargs.cc in the recording" in told([MAIL, END], [changed, END])


def test_both_sides_and_the_fields_in_full() -> None:
    """The lines hold both sides with their arguments, the event, and the differing field on either side."""
    found = compare(steps(MAIL, END), steps(OTHER_MAIL, END), run_id="r1")
    assert found is not None
    assert explain(found) == [
        f"ARGUMENT_CHANGED: {found.sentence}",
        '  recording  calls send_mail("ann@example.org", subject="Refund")   [r1/billing#1.2]',
        '  replay     calls send_mail("bob@example.org", subject="Refund")',
        "  $.args[0]",
        '    - "ann@example.org"   (recording)',
        '    + "bob@example.org"   (replay)',
    ]


def test_a_long_payload_is_shown_below_its_side() -> None:
    """What does not fit beside the name stands in the next line, its middle left out."""
    one, other = (("tool", "note", args("word " * 200 + end)) for end in ("here", "there"))
    found = compare(steps(one, END), steps(other, END), run_id="r1")
    assert found is not None
    lines = explain(found)
    assert lines[2].startswith('             {"args": ["word word')
    assert "…" in lines[2]
    assert lines[2].endswith('word here"], "kwargs": {}}')


def test_an_end_with_an_error_instead_of_a_result() -> None:
    """Both sides say it; there are no fields to compare."""
    found = compare(steps(("end", "", 12)), steps(("error", "builtins.ValueError", "no")))
    assert found is not None
    assert found.changes == ()
    assert explain(found)[1:] == [
        "  recording  ends with the result 12   [/billing#1.2]",
        "  replay     ends with ValueError: no",
    ]


def test_candidates_are_told() -> None:
    """An extra call shows the recorded ones it may have meant, and by how much they differ."""
    found = compare(steps(MAIL, LOOK, END), steps(MAIL, OTHER_MAIL, LOOK, END))
    assert found is not None
    lines = explain(found)
    assert any(
        "nearest    step 1 of the recording calls send_mail" in line and "1 field differs" in line for line in lines
    )


def test_a_sentence_stays_short() -> None:
    """A conversation of a hundred thousand characters does not become a sentence."""
    one = ("model", "chat", args(messages=[{"role": "user", "content": "word " * 20_000}]))
    other = (
        "model",
        "chat",
        args(messages=[{"role": "user", "content": "word " * 10_000 + "other " + "word " * 9_999}]),
    )
    found = compare(steps(one, END), steps(other, END))
    assert found is not None
    assert len(found.sentence) < 800
    assert "other" in found.sentence
    assert max(map(len, explain(found))) < 900


def test_control_characters_are_written_out() -> None:
    """Values are JSON, so that an escape sequence in a payload stays text."""
    found = compare(steps(("tool", "say", args("\x1b[2J")), END), steps(("tool", "say", args("\x07")), END))
    assert found is not None
    assert not any(character < " " for line in explain(found) for character in line)


def change(recorded: object, replayed: object) -> list[tuple[str, str, str]]:
    """The field changes between two values."""
    found = field_changes(encode_body(recorded), encode_body(replayed))
    return [(one.path, one.recorded, one.replayed) for one in found]


@pytest.mark.parametrize(
    ("recorded", "replayed", "expected"),
    [
        ({"a": 1}, {"a": 1}, []),
        ({"a": 1}, {"a": 2}, [("$.a", "1", "2")]),
        ({"a": 1}, {}, [("$.a", "1", "")]),
        ({}, {"a b": None}, [('$["a b"]', "", "null")]),
        ([1, 2, 3], [0, 1, 2, 3], [("$[0]", "", "0")]),
        ([1, 2, 3], [1, 3], [("$[1]", "2", "")]),
        ([{"x": 1}, {"x": 2}], [{"x": 1}, {"x": 3}], [("$[1].x", "2", "3")]),
        ({"a": [1]}, {"a": {"b": 1}}, [("$.a", "[1]", '{"b": 1}')]),
        ((1, 2), (1, 3), [("$[1]", "2", "3")]),
        (1, True, [("$", "1", "true")]),
        (1, 1.5, [("$", "1", "1.5")]),
        ("a", "b", [("$", '"a"', '"b"')]),
    ],
)
def test_the_fields_that_differ(recorded: object, replayed: object, expected: list[tuple[str, str, str]]) -> None:
    """Paths as people write them; what is inserted in a list does not shift what follows."""
    assert change(recorded, replayed) == expected


def test_values_that_only_differ_in_type() -> None:
    """3 and 3.0, a list and a tuple: shown with their tags, for else there would be nothing to see."""
    assert change(3, 3.0)
    assert change([1], (1,))


def test_the_number_of_changes_is_limited() -> None:
    """Forty fields that differ give as many as asked for."""
    one, other = ({str(number): number + more for number in range(40)} for more in (0, 1))
    assert len(field_changes(encode_body(one), encode_body(other), limit=5)) == 5


def test_payloads_that_are_no_json() -> None:
    """Even then there is something to see."""
    assert [item.path for item in field_changes(b"\xff", b"{")] == ["$"]


def test_the_place_of_a_replayed_step_is_told() -> None:
    """Where control logic made the changed call: file and line."""
    stream = recording([Call("tool", "f", 1)])
    assert isinstance(stream, StreamSteps)
    matcher = Matcher(stream)
    first = replace(replaying([Call("tool", "f", 2)])[0], where="desk.py:42")
    while not isinstance(matcher.take(first), Mismatch):
        pass
    found: Divergence | None = matcher.divergence()
    assert found is not None
    assert any("[desk.py:42]" in line for line in explain(found))


@pytest.mark.parametrize(
    "replayed", [[OTHER_MAIL, END], [END], [MAIL, LOOK, END], [MAIL, MAIL, END], [MAIL, ("error", "ValueError", "x")]]
)
def test_sides_can_be_called_otherwise(replayed: list[tuple[str, str, object]]) -> None:
    """Where two recordings are compared, neither is called the recording or the replay."""
    found = compare(steps(MAIL, END), steps(*replayed), run_id="r1")
    assert found is not None
    sides = Sides("run A", "run B")
    found = replace(found, sentence=sentence(found, sides))
    text = "\n".join(explain(found, sides))
    assert "run A" in found.sentence
    assert "run B" in found.sentence
    assert "replay" not in text
    assert "recording" not in text
