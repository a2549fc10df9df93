"""The parts of a report: which rows are shown, how they are drawn, what differs within a value."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from histories import history
from history_parts import inline
from tachograph.core.replay import Divergence, DivergenceKind, FieldChange, Step, Verdict, VerdictStatus, verdict
from tachograph.core.state import empty, fold
from tachograph.replay_workers._report_bodies import Bodies
from tachograph.replay_workers._report_diagram import LANES_MAX, diagram_of
from tachograph.replay_workers._report_divergence import Excerpt, shown_divergence
from tachograph.replay_workers._report_plain import payload_text, plain
from tachograph.replay_workers._report_rows import marks_of
from tachograph.replay_workers._report_run import EFFECTS_MAX, Recorded, run_facts
from tachograph.replay_workers._report_timeline import timeline_of
from tachograph.replay_workers._report_values import Timeline
from tachograph.replay_workers._report_window import ROWS_MAX, Anchor, gaps, window
from tachograph.schemas import Event

BODIES = Bodies(inline)


def recorded(text: str) -> Recorded:
    """A run told in one line."""
    events: list[Event] = history(text)
    state = empty("r1")
    for event in events:
        state = fold(state, event)
    return Recorded(events, state, ())


def timeline(text: str, found: Verdict | None = None, named: Sequence[str] = (), *, is_fork: bool = False) -> Timeline:
    """The time line of a run told in one line."""
    return timeline_of(recorded(text), found or verdict([]), named, BODIES, is_fork=is_fork)


def diverging(agent: str, step: int, seq: int) -> Verdict:
    """A verdict that names one place."""
    recorded_step = Step(agent, 1, step, "tool", "look", b"k", b"null", seq=seq)
    first = Divergence(DivergenceKind.CALL_EXTRA, agent, 1, step, f"r1/{agent}#1.{seq}", 1, recorded_step, None)
    return Verdict(VerdictStatus.DIVERGED, "diverged", "diverged", "diverged", first, (first,))


# -- rows


def test_a_call_is_one_row_unless_something_happened_in_it() -> None:
    """Its answer stands beside it; a call that overlaps another comes back in a row of its own, which names it."""
    shown = timeline(
        'run start; a open; a tool look(1) = "x"; a begin tool slow(2); a tool look(3) = "y"; a back slow = 4; run end'
    )
    rows = [(row.kind, row.text, row.outcome) for row in shown.rows if row.agent_id == "a"]
    assert rows == [
        ("start", "starts", ""),
        ("call", "tool look(1)", '"x"'),
        ("call", "tool slow(2)", "…"),
        ("call", "tool look(3)", '"y"'),
        ("back", "tool slow came back", "4"),
    ]
    (bar,) = diagram_of(shown).bars
    assert bar.height > 0


def test_what_is_in_doubt_stands_out() -> None:
    """UNKNOWN effects, calls that never came back and messages that never came are one kind; failures another."""
    shown = timeline(
        "run start; a open; a effect pay(1) K UNKNOWN; a tool look() ! OSError; a wait; a begin tool lost(); run end"
    )
    kinds = {row.text: row.kind for row in shown.rows}
    assert kinds["tool pay(1)"] == "unknown"
    assert kinds["effect pay is UNKNOWN"] == "unknown"
    assert kinds["waits for a message"] == "unknown"
    assert kinds["tool lost()"] == "unknown"
    assert kinds["tool look()"] == "failed"


def test_a_message_is_an_arrow() -> None:
    """From the sender's lane to the receiver's, downwards; a stub where the other end is not there."""
    both = 'run start; a open; b open; a send b "x"; b receive 1; a send b "lost"; run end'
    arrows = diagram_of(timeline(both)).arrows
    (whole,) = [arrow for arrow in arrows if not arrow.is_stub]
    assert whole.x2 > whole.x1
    assert whole.y2 > whole.y1
    assert sum(arrow.is_stub for arrow in arrows) == 1


def test_a_conversation_is_shown_by_its_last_message() -> None:
    """The first says the same in every call."""
    data = b'{"args":[],"kwargs":{"messages":[{"role":"system","content":"long"},{"role":"user","content":"hi"}]}}'
    assert payload_text(data, 400) == '(messages=[2 messages, last "user": "hi"])'


# -- where it diverges


def test_a_divergence_is_marked_in_the_recording() -> None:
    """At the row of the recorded event, and nowhere else."""
    shown = timeline("run start; a open; a tool look(1); a tool look(2); run end", diverging("a", 2, 4))
    assert [row.text for row in shown.rows if row.is_first_divergence] == ["tool look(2)"]


def test_a_received_message_diverges_where_it_arrives() -> None:
    """The call that waits for it has no row of its own."""
    text = 'run start; a open; b open; a send b "x"; b receive 1; run end'
    waiting = next(event.meta.seq for event in history(text) if type(event).__name__ == "CallStarted")
    shown = timeline(text, diverging("b", 1, waiting))
    assert [row.kind for row in shown.rows if row.is_first_divergence] == ["receive"]


def test_in_a_fork_the_step_counts() -> None:
    """The event that a fork's divergence names is its parent's; its own is found by the number of the step."""
    shown = timeline("run start; a open; a tool look(1); a tool other(2); run end", diverging("a", 2, 99), is_fork=True)
    assert [row.text for row in shown.rows if row.is_first_divergence] == ["tool other(2)"]


# -- bounds


def test_a_long_run_is_shown_around_what_matters() -> None:
    """Of thousands of rows those around the divergence, the effects and both ends; the diagram says what is left out."""
    calls = "; ".join(f"a tool look({number})" for number in range(4_000))
    text = f"run start; a open; {calls}; a effect pay(1) K UNKNOWN; {calls}; run end"
    shown = timeline(text, diverging("a", 1_000, 2_001))
    assert len(shown.rows) <= ROWS_MAX
    assert shown.rows_total > 8_000
    assert shown.around == "divergences and UNKNOWN effects"
    numbers = {row.number for row in shown.rows}
    (place,) = [row.number for row in shown.rows if row.is_first_divergence]
    assert set(range(place - 20, place + 20)) <= numbers
    assert any(row.kind == "unknown" for row in shown.rows)
    assert {0, shown.rows_total - 1} <= numbers
    drawn = diagram_of(shown)
    assert len(drawn.gaps) == len(gaps(sorted(numbers), shown.rows_total))
    assert drawn.height < 12_000


@given(st.integers(0, 2_000), st.lists(st.tuples(st.integers(0, 1_999), st.integers(0, 4)), max_size=600))
def test_a_window_is_bounded_and_keeps_the_most_important(total: int, places: list[tuple[int, int]]) -> None:
    """Never more rows than allowed, all where they fit, and no anchor is left out while a lesser one is in."""
    anchors = [Anchor(number, weight) for number, weight in places if number < total]
    shown = window(total, anchors)
    assert shown == sorted(set(shown))
    assert len(shown) == total if total <= ROWS_MAX else 0 < len(shown) <= ROWS_MAX
    assert sum(count for _, count in gaps(shown, total)) + len(shown) == total
    left_out = [anchor.weight for anchor in anchors if anchor.number not in set(shown)]
    if left_out:
        assert len(shown) == ROWS_MAX


def test_many_agents_share_the_last_lane() -> None:
    """A diagram has a bounded number of lanes, and says how many share one."""
    opened = "; ".join(f"a{number} open; a{number} tool look()" for number in range(40))
    drawn = diagram_of(timeline(f"run start; {opened}; run end"))
    assert len(drawn.lanes) == LANES_MAX
    assert drawn.agents_in_last_lane == 41 - LANES_MAX + 1
    assert max(line.x for line in drawn.lines) < drawn.text_x


def test_of_many_effects_the_open_ones_are_kept() -> None:
    """A report lists a bounded number of effects; what is in doubt is among them, and the order is that of the run."""
    sure = "; ".join(f"a effect pay{number}(1) K{number} RECEIPTED" for number in range(EFFECTS_MAX + 50))
    facts = run_facts(recorded(f"run start; a open; {sure}; a effect last(1) K UNKNOWN; run end"), BODIES)
    assert len(facts.effects) == EFFECTS_MAX
    assert facts.effects_left_out == 51
    assert [effect.name for effect in facts.effects][-1] == "last"
    assert facts.effects[0].receipt == '"R-1"'


def test_every_row_fits_its_line() -> None:
    """Text and outcome share the columns, wide characters counting twice."""
    value = "漢" * 300
    for line in diagram_of(timeline(f'run start; a open; a tool look("{value}") = "{value}"; run end')).lines:
        assert sum(2 if ord(char) > 0x2E80 else 1 for char in line.text + line.outcome) <= 108


# -- words


def test_what_differs_is_shown_apart() -> None:
    """The same beginning and end are not marked; where only one side has a value, all of it is."""
    changes = (FieldChange("$.a", '"amount 20 EUR"', '"amount 25 EUR"'), FieldChange("$.b", "", "1"))
    shown = shown_divergence(
        Divergence(DivergenceKind.ARGUMENT_CHANGED, "a", 1, 1, None, 1, None, None, changes), "replay"
    )
    assert shown.changes[0].recorded == Excerpt('"amount 2', "0", ' EUR"')
    assert shown.changes[0].replayed == Excerpt('"amount 2', "5", ' EUR"')
    assert (shown.changes[1].recorded, shown.changes[1].replayed) == (None, Excerpt("", "1", ""))


@given(st.text(max_size=40), st.text(max_size=40))
def test_an_excerpt_adds_up_to_its_value(recorded_text: str, replayed_text: str) -> None:
    """Nothing is lost between the parts."""
    change = FieldChange("$", recorded_text, replayed_text)
    found = Divergence(DivergenceKind.STATE_CHANGED, "a", 1, 1, None, 1, None, None, (change,))
    (shown,) = shown_divergence(found, "replay").changes
    for excerpt, text in ((shown.recorded, recorded_text), (shown.replayed, replayed_text)):
        parts = "" if excerpt is None else excerpt.before + excerpt.different + excerpt.after
        assert parts == plain(text)


def test_sides_are_named_after_what_they_are() -> None:
    """A replay is held against a recording, a fork against its parent."""
    found = Divergence(DivergenceKind.CALL_EXTRA, "a", 1, 1, None, 1, None, None)
    assert [side.label for side in shown_divergence(found, "replay").sides] == ["Recording", "Replay"]
    assert [side.label for side in shown_divergence(found, "fork").sides] == ["Parent", "Fork"]


def test_timers_and_empty_runs_have_rows() -> None:
    """A run without events has none."""
    assert marks_of([]) == []
    assert diagram_of(Timeline("r1")).lines == ()
