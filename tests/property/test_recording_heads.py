"""An event encoded in two parts, as the recorder does, has the bytes of the event encoded as a whole."""

from __future__ import annotations

from typing import cast

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from schemas_support import CURRENT, any_record
from tachograph.schemas import Cause, HeadEncoder, SchemaMismatch, encode_record, encode_rest
from tachograph.schemas._registry import SchemaEntry


@pytest.mark.parametrize("entry", CURRENT, ids=lambda entry: entry.tag)
@given(data=st.data())
@settings(max_examples=15, print_blob=True, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_head_and_rest_make_the_whole(entry: SchemaEntry, data: st.DataObject) -> None:
    """Whatever a stream's meta and an event's fields hold."""
    fields = data.draw(any_record(entry))
    meta = cast("dict[str, object]", fields["meta"])
    causes = tuple(Cause(**cause) for cause in cast("list[dict[str, object]]", meta["causes"]))  # type: ignore[arg-type]
    encoder = HeadEncoder(meta["agent_id"], meta["incarnation"], meta["run_id"], meta["tenant"])  # type: ignore[arg-type]
    head = encoder.encode(
        meta["seq"], meta["hlc"], causes, meta["recorded_at_us"], meta["logical_time_us"], meta["trace"],  # type: ignore[arg-type]
    )  # fmt: skip
    rest = encode_rest(entry.type, {name: value for name, value in fields.items() if name != "meta"})
    assert cast("bytes", meta["hash"]) + head + rest == encode_record(entry.type, fields | {"meta": meta})


def test_fields_that_do_not_fit_are_refused() -> None:
    """As where an event is encoded as a whole: by name."""
    with pytest.raises(SchemaMismatch, match="number"):
        encode_rest("TimerFired", {"delay_us": 1, "gap": 0})
    with pytest.raises(SchemaMismatch, match="event types"):
        encode_rest("Nonsense", {})
