"""The space-time diagram: who does what, in causal order, with every effect and message visible."""

from __future__ import annotations

import io
from dataclasses import replace
from random import Random

from hypothesis import given
from hypothesis import strategies as st

from tachograph.control._diagram import LANES_MAX, draw
from tachograph.control._screen import Screen
from tachograph.control._timeline import Row, Timeline, timeline_of
from tachograph.schemas import (
    AgentFinished,
    AgentStarted,
    Body,
    CallFinished,
    CallOutcome,
    CallStarted,
    EffectState,
    EffectTransitioned,
    EndOutcome,
    Error,
    Event,
    EventMeta,
    MessageReceived,
    MessageSent,
    RunFinished,
    RunStarted,
    StateChanged,
)

BODY = Body(bytes(32), 2, redacted=False, inline=b"{}", chunks=())


class History:
    """Builds events in the order of their making."""

    def __init__(self) -> None:
        self.events: list[Event] = []
        self._seqs: dict[str, int] = {}

    def meta(self, agent: str) -> EventMeta:
        """The next event's meta."""
        seq = self._seqs[agent] = self._seqs.get(agent, 0) + 1
        hlc = (1_000_000 + len(self.events)) << 16
        return EventMeta(bytes(32), seq, hlc, agent, 1, "r1", "t", (), 0, None, None)

    def add(self, event: Event) -> Event:
        """Keep an event."""
        self.events.append(event)
        return event

    def run(self) -> None:
        """The run starts."""
        self.add(RunStarted(self.meta("run"), "desk", "m:f", BODY, BODY, None, None, "standard", "default/1"))

    def agent(self, name: str, role: str = "") -> None:
        """An agent starts."""
        self.add(AgentStarted(self.meta(name), role, "run", None, None, None, "default/1"))

    def call(self, agent: str, name: str, *, kind: str = "tool", effect: str = "none") -> int:
        """A call starts; its id."""
        meta = self.meta(agent)
        self.add(CallStarted(meta, kind, name, None, effect, None, 1, None, BODY))  # type: ignore[arg-type]
        return meta.seq

    def back(self, agent: str, call_id: int, outcome: CallOutcome = CallOutcome.OK, error: str = "") -> None:
        """A call comes back."""
        failure = Error("builtins.TimeoutError", (), error, None) if error else None
        result = None if error else BODY
        self.add(CallFinished(self.meta(agent), call_id, outcome, 0, 0, 0, None, None, None, failure, None, result))


def preview(body: Body, event_id: str) -> str:
    """A body, for these tests."""
    assert body is BODY
    assert event_id.startswith("r1/")
    return "{}"


def incident() -> list[Event]:
    """Two agents, a message, an effect that ends UNKNOWN, and a retry."""
    history = History()
    history.run()
    history.agent("triage", "classifier")
    history.agent("mailer")
    history.back("triage", history.call("triage", "now", kind="clock"))
    history.add(MessageSent(history.meta("triage"), "m1", "mailer", BODY))
    waiting = history.call("mailer", "receive", kind="messages")
    history.add(MessageReceived(history.meta("mailer"), waiting, "m1", "triage", 0, 0, BODY))
    first = history.call("mailer", "send_mail", effect="write")
    history.back("mailer", first, CallOutcome.UNKNOWN, "dropped")
    history.add(
        EffectTransitioned(
            history.meta("mailer"), f"r1/mailer#1.{first}", "send_mail", "k", EffectState.EXECUTING,
            EffectState.UNKNOWN, "connection dropped", "recorder", None,
        )
    )  # fmt: skip
    history.back("mailer", history.call("mailer", "send_mail", effect="write"))
    history.add(StateChanged(history.meta("mailer"), "sent", BODY))
    history.add(AgentFinished(history.meta("mailer"), EndOutcome.OK, None, None))
    history.add(RunFinished(history.meta("run"), EndOutcome.ERROR, None, Error("x.Boom", (), "no", None), None))
    return history.events


def rows(events: list[Event]) -> list[tuple[str, str, str]]:
    """Agent, kind and text of every row."""
    found = timeline_of(events, preview).rows
    return [(row.agent_id, row.kind, row.text + (f" → {row.outcome}" if row.outcome else "")) for row in found]


def test_the_incident_reads_as_it_happened() -> None:
    """Each call is one row with its outcome; effects, UNKNOWN, messages and ends are told apart."""
    assert rows(incident()) == [
        ("run", "start", "run desk starts"),
        ("triage", "start", "starts: classifier"),
        ("mailer", "start", "starts"),
        ("triage", "read", "clock now({}) → {}"),
        ("triage", "send", "sends to mailer: {}"),
        ("mailer", "receive", "receives from triage: {}"),
        ("mailer", "unknown", "tool send_mail({}) → UNKNOWN TimeoutError: dropped"),
        ("mailer", "unknown", "effect send_mail is UNKNOWN (by recorder): connection dropped"),
        ("mailer", "effect", "tool send_mail({}) → {}"),
        ("mailer", "fact", "sets sent = {}"),
        ("mailer", "end", "ends → OK"),
        ("run", "failed", "run ends → ERROR Boom: no"),
    ]


@given(st.randoms(use_true_random=False))
def test_the_order_of_reading_does_not_matter(chance: Random) -> None:
    """However the events come out of the log, the diagram is the same: causal order alone counts."""
    shuffled = incident()
    chance.shuffle(shuffled)
    assert timeline_of(shuffled, preview) == timeline_of(incident(), preview)


def test_calls_that_overlap_show_both_ends() -> None:
    """Two calls of one agent at the same time: where each starts and where each comes back."""
    history = History()
    one, two = history.call("a", "one"), history.call("a", "two")
    history.back("a", two)
    history.back("a", one)
    assert [text for _, _, text in rows(history.events)] == [
        "tool one({}) → …",
        "tool two({}) → {}",
        "tool one came back → {}",
    ]


def test_what_never_came_back_is_shown() -> None:
    """A call without an end and a receive without a message are not left out."""
    history = History()
    history.call("a", "lost", effect="write")
    history.call("a", "receive", kind="messages")
    assert rows(history.events) == [
        ("a", "unknown", "tool lost({}) → never came back"),
        ("a", "unknown", "waits for a message: none comes"),
    ]


def drawn(timeline: Timeline, columns: int = 100) -> list[str]:
    """The diagram's lines."""
    out = io.StringIO()
    draw(timeline, Screen(out, columns=columns))
    return out.getvalue().splitlines()


def test_the_diagram_is_drawn_with_lanes_and_arrows() -> None:
    """A staircase names the lanes; a message is an arrow from sender to receiver."""
    lines = drawn(timeline_of(incident(), preview))
    assert lines[0].split() == ["┌", "run"]
    assert lines[1].strip() == "│ ┌ triage (classifier)"
    assert lines[2].strip() == "│ │ ┌ mailer"
    (sent,) = [line for line in lines if "sends to mailer" in line]
    assert "│ ●─▶" in sent
    backwards = Timeline(
        timeline_of(incident(), preview).lanes, (Row("r1/mailer#1.9", 1, "mailer", "send", "answers", "run"),)
    )
    assert "◀───●" in drawn(backwards)[3]


def test_a_hostile_payload_stays_on_its_line() -> None:
    """Line breaks and escape sequences in names and texts can neither move the cursor nor fake a row."""
    timeline = timeline_of(incident(), preview)
    evil = "x\n\x1b[2J\u202e"
    hostile = replace(timeline, rows=tuple(replace(row, text=evil) for row in timeline.rows))
    lines = drawn(hostile)
    assert len(lines) == len(drawn(timeline))
    assert all(line.isprintable() for line in lines)


def test_lines_fit_the_screen() -> None:
    """Long payloads are clipped at the edge of the screen."""
    timeline = timeline_of(incident(), preview)
    long = replace(
        timeline, rows=tuple(replace(row, text="long " * 100, outcome="back " * 99) for row in timeline.rows)
    )
    lines = drawn(long, 80)[3:-1]
    assert max(map(len, lines)) <= 80
    assert all("long" in line and "→ back" in line for line in lines)


def test_very_large_fleets_stay_readable() -> None:
    """Beyond the widest diagram the last lane is shared, and that is said."""
    history = History()
    for number in range(LANES_MAX + 5):
        history.agent(f"a{number}")
    lines = drawn(timeline_of(history.events, preview))
    assert any("5 more agents share the last lane" in line for line in lines)
