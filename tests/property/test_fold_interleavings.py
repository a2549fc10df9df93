"""In whichever causal order a run's streams are folded, they add up to the same bytes."""

from __future__ import annotations

import os
from collections.abc import Sequence

from hypothesis import given, settings
from hypothesis import strategies as st

from any_histories import orders
from histories import RUN_ID
from tachograph.core.state import empty, fold, signatures, state_bytes, state_from_bytes
from tachograph.schemas import Event

EXAMPLES = 2_000 if os.environ.get("TACHO_NIGHTLY") == "1" else 100
SEEDED = settings(print_blob=True, max_examples=EXAMPLES, deadline=None)


def folded(events: Sequence[Event]) -> bytes:
    """The bytes of what events add up to."""
    state = empty(RUN_ID)
    for event in events:
        fold(state, event)
    return state_bytes(state)


@SEEDED
@given(orders())
def test_every_causal_order_adds_up_to_the_same(both: tuple[list[Event], list[Event]]) -> None:
    """State and signatures are those of the run, not of the order in which it was read."""
    events, order = both
    one, other = folded(events), folded(order)
    assert one == other
    assert signatures(state_from_bytes(one)) == signatures(state_from_bytes(other))


@SEEDED
@given(orders(), st.data())
def test_duplicates_do_not_matter(both: tuple[list[Event], list[Event]], data: st.DataObject) -> None:
    """Any event may come again, any time after it came first."""
    events, order = both
    repeated: list[Event] = []
    for index, event in enumerate(order):
        repeated.append(event)
        repeated += [order[again] for again in data.draw(st.lists(st.integers(0, index), max_size=2))]
    assert folded(repeated) == folded(events)


@SEEDED
@given(orders(), st.data())
def test_folding_on_from_bytes(both: tuple[list[Event], list[Event]], data: st.DataObject) -> None:
    """A state that was put down and taken up again adds up to the same."""
    events, order = both
    cut = data.draw(st.integers(0, len(order)))
    state = state_from_bytes(folded(order[:cut]))
    for event in order[cut:]:
        fold(state, event)
    assert state_bytes(state) == folded(events)
