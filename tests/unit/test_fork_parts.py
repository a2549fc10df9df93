"""The parts of a fork by themselves: recorded parts, answers, mail, the order of events, and what goes over the pipe."""

from __future__ import annotations

import asyncio

from tachograph.core.canonical import decode_body, encode_body
from tachograph.core.replay import Fixture, Piece, Step, StreamSteps, payload_key
from tachograph.replay_workers._fork_answers import made, overridden, stub
from tachograph.replay_workers._fork_change import Change, Decision, Letter, Sent, change_json, change_of
from tachograph.replay_workers._fork_draft import Draft, DraftLog, Failure, Payload, draft_json, draft_of
from tachograph.replay_workers._fork_ends import lost_ends
from tachograph.replay_workers._fork_letters import others, sent_by
from tachograph.replay_workers._fork_mail import Mail
from tachograph.replay_workers._fork_order import UnitEvents, in_order
from tachograph.replay_workers._fork_parts import Parts
from tachograph.replay_workers._unit import Unit
from tachograph.schemas import AgentStarted, CallOutcome, Cause, EffectState, EventMeta, MessageReceived, RunStarted
from tachograph.schemas import Body as EventBody

CHANGE = Change(
    changed=True,
    from_hlc=7,
    miss="stub",
    overrides={("a", 1, 3): b'{"x":1}'},
    letters={("b", 1, 2): Letter(("a", 1), 5, 0)},
    arrivals={("b", 1, 4): Sent("c", "b", 1, "c#1/2", b'"hi"', True, ("c", 1), 9, None)},
    decisions=(Decision(8, "run/a#1.3", "pay", None, EffectState.RECONCILED),),
)


def step(number: int, name: str = "look", argument: int = 0) -> Step:
    """A recorded tool call."""
    arguments = encode_body({"args": [argument], "kwargs": {}})
    return Step("a", 1, number, "tool", name, payload_key(arguments), arguments, seq=number * 2)


def parts(*steps: Step) -> Parts:
    """The parts of a stream of calls that came back with their number."""
    fixtures = tuple(Fixture(CallOutcome.OK, encode_body(one.number)) for one in steps)
    return Parts(StreamSteps("run", "a", 1, steps, fixtures))


def test_a_recorded_part_is_used_once_and_in_order() -> None:
    """The same question asked twice gets both recorded answers; a third time, none."""
    recorded = parts(step(1), step(2), step(3, argument=9))
    found = [recorded.equal(step(number)) for number in range(1, 4)]
    assert [one[0].number if one is not None else None for one in found] == [1, 2, None]
    assert recorded.equal(step(4, "other")) is None


def test_a_part_that_was_taken_in_its_place_is_used() -> None:
    """Strict matching and the search for equal parts share what is used."""
    recorded = parts(step(1), step(2))
    recorded.use(step(1))
    found = recorded.equal(step(1))
    assert found is not None
    assert found[0].number == 2


def test_an_override_answers_a_call_of_its_name_with_other_arguments() -> None:
    """But only one that has an override, and once."""
    recorded = parts(step(1), step(2))
    asked = step(1, argument=5)
    assert recorded.overridden(asked, {}) is None
    found = recorded.overridden(asked, {("a", 1, 4): b"1"})
    assert found is not None
    assert found[0].number == 2
    assert recorded.overridden(asked, {("a", 1, 4): b"1"}) is None


def test_a_stream_that_was_not_recorded_has_no_parts() -> None:
    """An agent that is new in the fork."""
    assert Parts(None).equal(step(1)) is None


def test_an_override_arrives_where_the_recorded_answer_did() -> None:
    """Unless control logic had ended the call itself, or it never came back."""
    recorded = Fixture(CallOutcome.UNKNOWN, None, yields=-1, gap=3, seq=4, receipt=b"1", redacted=True)
    found = overridden(recorded, b"1")
    assert (found.outcome, found.result, found.yields, found.gap, found.receipt) == (CallOutcome.OK, b"1", -1, 3, None)
    assert overridden(Fixture(CallOutcome.CANCELLED, yields=-2), b"1").yields == -1
    assert overridden(Fixture(None, yields=-1), b"1").yields == 0


def test_an_override_of_a_streamed_answer_is_its_pieces() -> None:
    """A list gives one piece for each item, anything else one piece."""
    recorded = Fixture(CallOutcome.OK, None, pieces=(Piece(b"1", 0, 0, 5, 6),))
    assert [piece.data for piece in overridden(recorded, b"[7,8]").pieces] == [b"7", b"8"]
    assert [piece.data for piece in overridden(recorded, b'"one"').pieces] == [b'"one"']


def test_stubs_say_nothing_and_grant_nothing() -> None:
    """What control logic makes of nothing is its own affair."""
    assert stub("tool").result == b"null"
    granted = decode_body(stub("approval").result or b"")
    assert isinstance(granted, dict)
    assert granted["granted"] is False


def test_clock_and_chance_of_a_fork_are_the_same_in_every_fork() -> None:
    """They follow from the parent, the agent and the step."""
    assert made("clock", step(3), "run", 5).result == b"5"
    first, again, other = (made("random", step(number), "run", 5).result for number in (3, 3, 4))
    assert first == again != other
    assert isinstance(decode_body(made("id", step(3), "run", 5).result or b""), str)


def test_a_change_travels_whole() -> None:
    """As JSON, to the replaying process."""
    assert change_of(change_json(CHANGE)) == CHANGE


def test_a_draft_travels_whole() -> None:
    """As JSON, from the replaying process; the fields keep their types."""
    draft = Draft(
        ("a", 1), "CallStarted", 1.5, 7, {"details": ("tachograph.ApprovalRequest", {"action_digest": b"\x00\xff"})},
        {"arguments": Payload(b'{"k":"\xc3\xa4"}', redacted=True), "result": None},
        Failure("builtins.ValueError", ("builtins.Exception",), "no", Payload(b"[1]")), 3, 4, (("b", 2), 6),
    )  # fmt: skip
    assert draft_of(draft_json(draft)) == draft


def test_a_log_numbers_its_drafts_and_sends_them_in_batches() -> None:
    """The unit's own stream has its first event already."""
    sent: list[object] = []
    log = DraftLog(("a", 1), lambda frame: sent.extend(frame["events"]))  # type: ignore[arg-type]
    seqs = [log.append(Draft((agent, 1), "StateChanged", 0, None, {}, {})) for agent in "aab"]
    assert (seqs, sent) == ([2, 3, 1], [])
    log.flush()
    assert len(sent) == 3


def test_mail_reaches_who_waits_for_it() -> None:
    """The first message of a sender stands for the first recorded one of that sender."""

    async def talk() -> list[object]:
        mail = Mail(Change(changed=True, letters={("b", 1, 2): Letter(("a", 1), 5, 0)}))
        recorded = Step("b", 1, 1, "messages", "receive", b"", b"null", seq=2)
        waiting = asyncio.create_task(mail.arrival("b", recorded))
        await asyncio.sleep(0)
        mail.post(_sent("c", 0))
        mail.post(_sent("a", 0))
        return [await waiting, mail.ready("b", None), mail.ready("b", None)]

    first, second, none = asyncio.run(talk())
    assert (first, second, none) == (_sent("a", 0), _sent("c", 0), None)


def test_who_waits_in_vain_gets_what_there_is() -> None:
    """When nothing else can happen: any message, else nothing, so that the recorded one is given."""

    async def talk() -> list[object]:
        mail = Mail(
            Change(changed=True, letters={("b", 1, 2): Letter(("a", 1), 5, 0), ("c", 1, 2): Letter(("a", 1), 6, 0)})
        )
        tasks = [
            asyncio.create_task(mail.arrival(agent, Step(agent, 1, 1, "messages", "receive", b"", b"null", seq=2)))
            for agent in "bc"
        ]
        await asyncio.sleep(0)
        mail.post(_sent("x", 1, to="c"))
        assert [mail.relieve(), mail.relieve(), mail.relieve()] == [True, True, False]
        return list(await asyncio.gather(*tasks))

    assert asyncio.run(talk()) == [None, _sent("x", 1, to="c")]


def test_a_unit_that_only_replays_gets_its_mail_as_recorded() -> None:
    """Nobody in it waits for what is sent."""
    mail = Mail(Change(letters={("b", 1, 2): Letter(("a", 1), 5, 0)}))
    assert not mail.is_awaited(Step("b", 1, 1, "messages", "receive", b"", b"null", seq=2))


def test_only_messages_that_differ_are_delivered_to_other_units() -> None:
    """The one that equals the recorded one is there already."""
    drafts = [
        Draft(("a", 1), "MessageSent", 0, None, {"message_id": "a#1/1", "to_agent_id": "b"}, {"body": Payload(b"1")}, None, None, 5),
        Draft(("a", 1), "MessageSent", 0, None, {"message_id": "a#1/2", "to_agent_id": "b"}, {"body": Payload(b"2")}),
    ]  # fmt: skip
    letters = {
        ("b", 1, 2): Letter(("a", 1), 5, 0),
        ("b", 1, 4): Letter(("a", 1), 7, 1),
        ("b", 1, 6): Letter(("a", 1), 9, 2),
    }
    found = others(letters, sent_by(("a", 1), drafts))
    assert {key: (one.body, one.seq) for key, one in found.items()} == {("b", 1, 4): (b"2", 3)}


def test_a_cause_comes_before_what_it_causes() -> None:
    """Whatever the clocks of two units say; and a message that was received first is named."""
    root = UnitEvents(_run_started(), 0, [Draft(("run", 1), "MessageSent", 5.0, None, {}, {}, origin=2)])
    reception = Draft(("b", 1), "MessageReceived", 1.0, None, {}, {}, source=3, origin=3)
    joined = UnitEvents(_joined(), 1, [reception, Draft(("b", 1), "StateChanged", 1.1, None, {}, {})])
    recorded = {(("b", 1), 3): _received(seq=2)}
    ordered, orphans = in_order([root, joined], recorded)  # type: ignore[arg-type]
    assert [(entry.stream[0], entry.seq) for entry in ordered] == [("run", 1), ("b", 1), ("run", 2), ("b", 2), ("b", 3)]
    assert (orphans, ordered[3].needs) == ([], [(("run", 1), 2)])
    recorded = {(("b", 1), 3): _received(seq=9)}
    ordered, orphans = in_order([root, joined], recorded)  # type: ignore[arg-type]
    assert [entry.seq for entry in orphans] == [2]


def test_two_units_that_wait_for_each_other_are_written_all_the_same() -> None:
    """Each was given the recorded message before the other one sent it: one of the two is named."""

    def unit(start: RunStarted | AgentStarted, agent: str) -> UnitEvents:
        taken = Draft((agent, 1), "MessageReceived", 1.0, None, {}, {}, source=3, origin=3)
        return UnitEvents(start, 0, [taken, Draft((agent, 1), "MessageSent", 2.0, None, {}, {}, origin=4)])

    recorded = {(("run", 1), 3): _received("b", seq=4), (("b", 1), 3): _received("run", seq=4)}
    ordered, orphans = in_order([unit(_run_started(), "run"), unit(_joined(), "b")], recorded)  # type: ignore[arg-type]
    assert len(ordered) == 6
    assert len(orphans) == 1


def test_a_lost_process_leaves_no_stream_open() -> None:
    """The ends of those that it had opened and not ended; the unit's own last."""
    unit = Unit("run", ("run", 1), "run", "m:f", b"", False, "none/1", (), {})
    drafts = [
        Draft((agent, 1), kind, 2.0, None, {}, {})
        for agent, kind in (("a", "AgentStarted"), ("b", "AgentStarted"), ("a", "AgentFinished"))
    ]
    ends = lost_ends(unit, drafts, "it died")
    assert [(end.stream[0], end.type) for end in ends] == [("b", "AgentFinished"), ("run", "RunFinished")]


def _sent(sender: str, number: int, to: str = "b") -> Sent:
    return Sent(sender, to, number, f"{sender}#1/{number + 1}", b'"hi"', False, (sender, 1), 3, None)


def _meta(agent_id: str, seq: int, *causes: Cause) -> EventMeta:
    return EventMeta(bytes(32), seq, seq, agent_id, 1, "run", "default", causes, 0, None, None)


_NO_BODY = EventBody(bytes(32), 4, False, b"null", ())


def _run_started() -> RunStarted:
    return RunStarted(_meta("run", 1), "n", "m:f", _NO_BODY, _NO_BODY, None, None, "", "none/1")


def _joined() -> AgentStarted:
    cause = Cause("run", "run", 1, 1, bytes(32))
    return AgentStarted(_meta("b", 1, cause), "", "run", "m:g", _NO_BODY, _NO_BODY, "none/1")


def _received(sender: str = "run", *, seq: int) -> MessageReceived:
    cause = Cause("run", sender, 1, seq, bytes(32))
    return MessageReceived(_meta("b", 3, cause), 2, f"{sender}#1/1", sender, 0, 0, _NO_BODY)
