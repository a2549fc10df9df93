"""Whose an event is, is read from its first bytes as decoding tells it, whatever streams take turns."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tachograph.core.errors import CorruptPayload
from tachograph.producers.shipper._route import Router
from tachograph.schemas import CONTENT_OFFSET, HeadEncoder, decode_meta, prefix_of

ids = st.text(st.characters(codec="utf-8", min_codepoint=1), min_size=1, max_size=90)
streams = st.tuples(ids, st.integers(1, 300), ids, ids)
clocks = st.one_of(st.integers(0, (1 << 63) - 1), st.integers(1_790_000_000_000 << 16, 1_790_000_000_040 << 16))


@given(
    st.lists(streams, min_size=1, max_size=5), st.lists(st.tuples(st.integers(0, 4), st.integers(1, 1 << 40), clocks))
)
def test_a_route_is_what_the_meta_says(
    known: list[tuple[str, int, str, str]], events: list[tuple[int, int, int]]
) -> None:
    """Run, tenant and milliseconds of events of several streams in any order."""
    router = Router()
    for index, seq, hlc in events:
        agent_id, incarnation, run_id, tenant = known[index % len(known)]
        head = HeadEncoder(agent_id, incarnation, run_id, tenant).encode(seq, hlc, (), 0, None)
        who, time_ms = router.route(prefix_of("TimerFired") + bytes(32) + head)
        assert (who.run_id, who.tenant, time_ms) == (run_id.encode(), tenant.encode(), hlc >> 16)
    assert router.tenants == {known[index % len(known)][3].encode() for index, _, _ in events}


@given(st.binary(max_size=CONTENT_OFFSET + 30))
def test_what_is_no_event_is_refused(data: bytes) -> None:
    """With the error that the shipper leaves it out for, never another one."""
    try:
        Router().route(data)
    except CorruptPayload:
        return
    assert len(data) > CONTENT_OFFSET


def test_a_meta_that_is_cut_off_is_refused() -> None:
    """At each of its bytes."""
    head = HeadEncoder("agent", 1, "run", "tenant").encode(1, 1 << 60, (), 0, None)
    payload = prefix_of("TimerFired") + bytes(32) + head
    whole = payload.index(b"tenant") + len(b"tenant")
    for end in range(whole):
        with pytest.raises(CorruptPayload):
            Router().route(payload[:end])
    assert Router().route(payload[:whole])[0].tenant == b"tenant"
    assert decode_meta(payload).tenant == "tenant"
