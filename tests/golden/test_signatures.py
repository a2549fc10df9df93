"""Every signature, with a history that shows it and histories that nearly do."""

from __future__ import annotations

import pytest

from histories import RUN_ID, history
from tachograph.core.state import FailureClass, Severity, SignatureHit, empty, fold, signatures


def shown(text: str, *, over: bool | None = None) -> tuple[SignatureHit, ...]:
    """The signatures of a history."""
    state = empty(RUN_ID)
    for event in history(text):
        fold(state, event)
    return signatures(state, over=over)


def names(text: str, *, over: bool | None = None) -> list[str]:
    """Their names."""
    return [hit.name for hit in shown(text, over=over)]


START = "run start; a open; "
END = "; a end; run end"

FIRES = [
    (
        "SIDE_EFFECT_UNKNOWN_RETRY_DUPLICATE",
        FailureClass.SIDE_EFFECT,
        (
            "a effect mail('ann', 'hello', '0f8fad5b-d9cb-469f-a165-70867728950e') 0f8fad5b-d9cb-469f-a165-70867728950e UNKNOWN; "
            "a effect mail('ann', 'hello', '7c9e6679-7425-40de-944b-e07fc1f90ae7') 7c9e6679-7425-40de-944b-e07fc1f90ae7 RECEIPTED"
        ),
        ("r1/a#1.2", "r1/a#1.6"),
    ),
    (
        "SIDE_EFFECT_UNKNOWN_RETRY_DUPLICATE",
        FailureClass.SIDE_EFFECT,
        "a effect mail('ann') k1 UNKNOWN; a effect mail('ann') k2 RECEIPTED",
        ("r1/a#1.2", "r1/a#1.6"),
    ),
    (
        "SIDE_EFFECT_UNKNOWN_RETRY_DUPLICATE",
        FailureClass.SIDE_EFFECT,
        "a effect mail('ann', 'try-1') try-1 UNKNOWN; a effect mail('ann', 'try-2') try-2 RECEIPTED",
        ("r1/a#1.2", "r1/a#1.6"),
    ),
    (
        "SIDE_EFFECT_UNKNOWN_RETRY_DUPLICATE",
        FailureClass.SIDE_EFFECT,
        "a effect mail('ann', attempt=1) ticket-7:1 UNKNOWN; a effect mail('ann', attempt=2) ticket-7:2 RECEIPTED",
        ("r1/a#1.2", "r1/a#1.6"),
    ),
    (
        "SIDE_EFFECT_UNKNOWN",
        FailureClass.SIDE_EFFECT,
        "a effect mail('ann') k1 UNKNOWN",
        ("r1/a#1.2",),
    ),
    (
        "SIDE_EFFECT_UNKNOWN",
        FailureClass.SIDE_EFFECT,
        "a effect mail('ann') k1 EXECUTING",
        ("r1/a#1.2",),
    ),
    (
        "SIDE_EFFECT_DUPLICATE",
        FailureClass.SIDE_EFFECT,
        "a effect mail('ann') - RECEIPTED; a effect mail('ann') - RECEIPTED",
        ("r1/a#1.2", "r1/a#1.6"),
    ),
    (
        "EFFECT_WITHOUT_RECEIPT",
        FailureClass.SIDE_EFFECT,
        "a effect mail('ann') k1 CONFIRMED",
        ("r1/a#1.2",),
    ),
    (
        "TOOL_LOOP",
        FailureClass.TOOL,
        "; ".join(["a model chat(1) = 2; a tool look(7) = 'none'"] * 5),
        ("r1/a#1.4", "r1/a#1.20"),
    ),
    (
        "MESSAGE_LOST",
        FailureClass.CONCURRENCY,
        "b open; a send b 1; b end",
        ("r1/a#1.2",),
    ),
    (
        "AGENT_STUCK",
        FailureClass.CONCURRENCY,
        "a wait",
        ("r1/a#1.2",),
    ),
    (
        "AGENT_STUCK",
        FailureClass.INFRASTRUCTURE,
        "a begin tool look(1)",
        ("r1/a#1.2",),
    ),
    (
        "APPROVAL_MISSING",
        FailureClass.AUTHORITY,
        "a permitted refund refund(7) k1 RECEIPTED",
        ("r1/a#1.2",),
    ),
    (
        "APPROVAL_DENIED",
        FailureClass.AUTHORITY,
        "a approve refund yes; a approve refund no; a permitted refund refund(7) k1 RECEIPTED",
        ("r1/a#1.5", "r1/a#1.6"),
    ),
    (
        "APPROVAL_EXPIRED",
        FailureClass.APPROVAL,
        "a approve refund yes until 5; a permitted refund refund(7) k1 RECEIPTED",
        ("r1/a#1.3", "r1/a#1.4"),
    ),
    (
        "APPROVAL_EXPIRED",
        FailureClass.APPROVAL,
        "a approve refund yes until -9000000000000000; a permitted refund refund(7) k1 RECEIPTED",
        ("r1/a#1.3", "r1/a#1.4"),
    ),
    (
        "APPROVAL_FOR_ANOTHER_ACTION",
        FailureClass.APPROVAL,
        "a approve refund-1 yes; a permitted refund-2 refund(2) k1 UNKNOWN",
        ("r1/a#1.3", "r1/a#1.4"),
    ),
    (
        "SCHEMA_DRIFT",
        FailureClass.DATA,
        "a versioned look(1) v1; a versioned look(2) v1; b open; b versioned look(1) v2; b end",
        ("r1/a#1.2", "r1/b#1.2"),
    ),
    (
        "WAIT_CYCLE",
        FailureClass.CONCURRENCY,
        "b open; c open; b send c 1; c receive 1; b wait; c wait",
        ("r1/b#1.3", "r1/c#1.4"),
    ),
]

ON_A_SNAPSHOT = "run start on {'rules': 'v2'}; a open; "

NEARLY = [
    (
        "SIDE_EFFECT_DUPLICATE",
        "orders are told apart by UUIDs",
        (
            "a effect refund('0f8fad5b-d9cb-469f-a165-70867728950e', 42) refund:0f8fad5b-d9cb-469f-a165-70867728950e RECEIPTED; "
            "a effect refund('7c9e6679-7425-40de-944b-e07fc1f90ae7', 42) refund:7c9e6679-7425-40de-944b-e07fc1f90ae7 RECEIPTED"
        ),
    ),
    (
        "SIDE_EFFECT_UNKNOWN_RETRY_DUPLICATE",
        "orders are told apart by UUIDs, after UNKNOWN too",
        (
            "a effect refund('0f8fad5b-d9cb-469f-a165-70867728950e', 42) refund:0f8fad5b-d9cb-469f-a165-70867728950e UNKNOWN; "
            "a effect refund('7c9e6679-7425-40de-944b-e07fc1f90ae7', 42) refund:7c9e6679-7425-40de-944b-e07fc1f90ae7 RECEIPTED"
        ),
    ),
    (
        "SIDE_EFFECT_DUPLICATE",
        "a number that is the key is what the effect is about",
        "a effect do(1000) 1000 RECEIPTED; a effect do(2000) 2000 RECEIPTED",
    ),
    (
        "SIDE_EFFECT_UNKNOWN_RETRY_DUPLICATE",
        "a number that is the key is what the effect is about, after UNKNOWN too",
        "a effect do(7) order:7 UNKNOWN; a effect do(8) order:8 RECEIPTED",
    ),
    (
        "SIDE_EFFECT_UNKNOWN_RETRY_DUPLICATE",
        "another ticket under its own number is another effect",
        "a effect refund('T-1', 42) T-1 UNKNOWN; a effect refund('T-2', 42) T-2 RECEIPTED",
    ),
    (
        "SIDE_EFFECT_UNKNOWN_RETRY_DUPLICATE",
        "the first is known to have failed",
        "a effect mail('ann') k1 FAILED; a effect mail('ann') k2 RECEIPTED",
    ),
    (
        "SIDE_EFFECT_UNKNOWN_RETRY_DUPLICATE",
        "the ledger refused the retry",
        "a effect mail('ann') k1 UNKNOWN; a effect mail('ann') k1 REFUSED",
    ),
    (
        "SIDE_EFFECT_UNKNOWN_RETRY_DUPLICATE",
        "the retry failed",
        "a effect mail('ann') k1 UNKNOWN; a effect mail('ann') k2 FAILED",
    ),
    (
        "SIDE_EFFECT_UNKNOWN_RETRY_DUPLICATE",
        "somebody found out first",
        "a effect mail('ann') k1 UNKNOWN; b open; b decide mail not; b end; a effect mail('ann') k1 RECEIPTED",
    ),
    (
        "SIDE_EFFECT_UNKNOWN_RETRY_DUPLICATE",
        "it goes to somebody else",
        "a effect mail('ann') k1 UNKNOWN; a effect mail('bob') k2 RECEIPTED",
    ),
    (
        "SIDE_EFFECT_UNKNOWN_RETRY_DUPLICATE",
        "a field of the key is another thing",
        "a effect mail('ann') mail:ann UNKNOWN; a effect mail('bob') mail:bob RECEIPTED",
    ),
    (
        "SIDE_EFFECT_UNKNOWN_RETRY_DUPLICATE",
        "another tool",
        "a effect mail('ann') k1 UNKNOWN; a effect letter('ann') k1 RECEIPTED",
    ),
    (
        "SIDE_EFFECT_UNKNOWN_RETRY_DUPLICATE",
        "the confirmed one came first",
        "a effect mail('ann') - RECEIPTED; a effect mail('ann') - UNKNOWN",
    ),
    (
        "SIDE_EFFECT_UNKNOWN",
        "it is reconciled",
        "a effect mail('ann') k1 UNKNOWN; b open; b decide mail happened; b end",
    ),
    ("SIDE_EFFECT_UNKNOWN", "it is known", "a effect mail('ann') k1 RECEIPTED; a effect mail('bob') k2 FAILED"),
    (
        "SIDE_EFFECT_DUPLICATE",
        "two different effects",
        "a effect mail('ann') - RECEIPTED; a effect mail('bob') - RECEIPTED",
    ),
    ("SIDE_EFFECT_DUPLICATE", "the first failed", "a effect mail('ann') - FAILED; a effect mail('ann') - RECEIPTED"),
    ("EFFECT_WITHOUT_RECEIPT", "there is one", "a effect mail('ann') k1 RECEIPTED"),
    ("EFFECT_WITHOUT_RECEIPT", "nothing was confirmed", "a effect mail('ann') k1 FAILED"),
    ("TOOL_LOOP", "one time fewer", "; ".join(["a tool look(7) = 'none'"] * 4)),
    ("TOOL_LOOP", "the answer changes", "; ".join(f"a tool poll(7) = {number}" for number in range(9))),
    ("TOOL_LOOP", "the arguments change", "; ".join(f"a tool look({number}) = 'none'" for number in range(9))),
    ("TOOL_LOOP", "something else between", "; ".join(["a tool look(7) = 1; a tool other(7) = 1"] * 5)),
    ("MESSAGE_LOST", "it arrived", "b open; a send b 1; b receive 1; b end"),
    ("AGENT_STUCK", "the message came", "b open; a wait; b send a 1; a receive 1; b end"),
    ("AGENT_STUCK", "the wait was cancelled", "a tool look(1) ~"),
    ("APPROVAL_MISSING", "it needs none", "a effect refund(7) k1 RECEIPTED"),
    ("APPROVAL_MISSING", "it never left", "a permitted refund refund(7) k1 REFUSED"),
    (
        "APPROVAL_MISSING",
        "another agent asked",
        "b open; b approve refund yes; a permitted refund refund(7) k1 RECEIPTED; b end",
    ),
    (
        "APPROVAL_DENIED",
        "it was granted in the end",
        "a approve refund no; a approve refund yes; a permitted refund refund(7) k1 RECEIPTED",
    ),
    (
        "APPROVAL_DENIED",
        "the refusal came later",
        "a approve refund yes; a permitted refund refund(7) k1 RECEIPTED; a approve refund no",
    ),
    ("APPROVAL_EXPIRED", "it had time left", "a approve refund yes until 6; a permitted refund refund(7) k1 RECEIPTED"),
    (
        "APPROVAL_EXPIRED",
        "it was asked for again",
        "a approve refund yes until 5; a approve refund yes until 99; a permitted refund refund(7) k1 RECEIPTED",
    ),
    (
        "APPROVAL_FOR_ANOTHER_ACTION",
        "both were approved",
        "a approve refund-1 yes; a approve refund-2 yes; a permitted refund-2 refund(2) k1 RECEIPTED",
    ),
    (
        "APPROVAL_FOR_ANOTHER_ACTION",
        "the other was refused",
        "a approve refund-1 no; a permitted refund-2 refund(2) k1 RECEIPTED",
    ),
    ("SCHEMA_DRIFT", "another tool", "a versioned look(1) v1; a versioned find(1) v2"),
    ("WAIT_CYCLE", "one of them ended", "b open; b send a 1; a receive 1; a wait; b end"),
    ("WAIT_CYCLE", "a third could still send", "b open; c open; b wait; a wait; c begin tool look(1)"),
    ("WAIT_CYCLE", "a message is on its way", "b open; a send b 1; b wait; a wait"),
]


@pytest.mark.parametrize(("name", "failure_class", "text", "event_ids"), FIRES)
def test_a_history_that_shows_it(name: str, failure_class: FailureClass, text: str, event_ids: tuple[str, ...]) -> None:
    """The signature is found, in its class, by the events that make it."""
    hits = [hit for hit in shown(START + text + END) if hit.name == name]
    assert [(hit.failure_class, hit.event_ids) for hit in hits] == [(failure_class, event_ids)]
    assert hits[0].sentence.endswith(".")


@pytest.mark.parametrize(("name", "why", "text"), NEARLY)
def test_a_history_that_nearly_shows_it(name: str, why: str, text: str) -> None:
    """It is not found where that one thing is otherwise."""
    assert name not in names(START + text + END), why


def test_an_index_that_is_not_the_snapshots() -> None:
    """Found where the input snapshot names another version of the index; an index that it does not name is free."""
    hits = shown(ON_A_SNAPSHOT + "a retrieve rules v2; a retrieve rules v1; a retrieve other v1" + END)
    assert [(hit.name, hit.failure_class, hit.event_ids) for hit in hits] == [
        ("RETRIEVAL_FROM_WITHDRAWN_INDEX", FailureClass.RETRIEVAL, ("r1/a#1.4",))
    ]
    assert names(ON_A_SNAPSHOT + "a retrieve rules v2; a retrieve other v1" + END) == []
    assert names(START + "a retrieve rules v1" + END) == []


def test_a_circle_is_told_once() -> None:
    """Agents that wait for each other are not each told to be stuck as well."""
    found = names(START + "b open; b send a 1; a receive 1; b wait; a wait; run end")
    assert "WAIT_CYCLE" in found
    assert "AGENT_STUCK" not in found


def test_every_signature_has_both() -> None:
    """No rule is without its history and its near miss."""
    alone = {"STREAM_TRUNCATED"}
    assert {name for name, *_ in FIRES} == {name for name, *_ in NEARLY}
    assert not alone & {name for name, *_ in FIRES}


def test_a_stream_that_breaks_off() -> None:
    """Found when no more events can come; a stream with its end, and a reconciler's, do not show it."""
    broken = [hit for hit in shown(START + "a tool look(1) = 1; run end") if hit.name == "STREAM_TRUNCATED"]
    assert [(hit.agent_id, hit.event_ids) for hit in broken] == [("a", ("r1/a#1.3",))]
    assert "STREAM_TRUNCATED" not in names(START + "a tool look(1) = 1" + END)
    reconciled = START + "a effect mail('ann') k1 UNKNOWN" + END + "; reconciler decide mail happened"
    assert "STREAM_TRUNCATED" not in names(reconciled)


def test_a_run_that_goes_on_is_not_judged_by_what_is_open() -> None:
    """A message under way, an open call and an executing effect mean nothing while the run goes on."""
    going_on = START + "b open; a send b 1; a begin tool look(1); b effect mail('ann') k1 EXECUTING"
    assert names(going_on) == []
    assert set(names(going_on, over=True)) == {
        "SIDE_EFFECT_UNKNOWN",
        "MESSAGE_LOST",
        "AGENT_STUCK",
        "STREAM_TRUNCATED",
    }


def test_the_gravest_comes_first() -> None:
    """What is only worth knowing comes last."""
    text = "a effect mail('ann') k1 UNKNOWN; a effect mail('ann') k2 CONFIRMED"
    hits = shown(START + text + END)
    assert [hit.name for hit in hits] == [
        "SIDE_EFFECT_UNKNOWN_RETRY_DUPLICATE",
        "SIDE_EFFECT_UNKNOWN",
        "EFFECT_WITHOUT_RECEIPT",
    ]
    assert [hit.severity for hit in hits] == [Severity.FAILURE, Severity.FAILURE, Severity.INFO]


def test_a_quiet_run_shows_nothing() -> None:
    """No signature without a reason."""
    assert names(START + "a model chat(1) = 2; a tool look(1) = 2; a effect mail('ann') k1 RECEIPTED" + END) == []


def test_many_effects_of_one_tool_cost_no_more_each() -> None:
    """Each effect is held against its equals only: a thousand different ones compare a thousand times, not a million."""
    text = "; ".join(f"a effect mail('c{number}') k{number} UNKNOWN" for number in range(1000))
    assert names(START + text + END).count("SIDE_EFFECT_UNKNOWN") == 1000
