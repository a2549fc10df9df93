"""The application state that a run's streams have set, as the writer sees it: only digests, kept for RunFinished."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import cast

from tachograph.core.state import values_digest
from tachograph.producers._entry import Extra, Stream

Note = Callable[[Stream, "dict[str, object]", "Extra | None"], None]
"""Takes in an event whose fields are as the codec takes them."""


def _changed(stream: Stream, fields: dict[str, object], extra: Extra | None) -> None:
    del extra
    value = cast("Mapping[str, bytes]", fields["value"])
    if stream.values is None:
        stream.values = {}
    stream.values[cast("str", fields["key"])] = value["digest"]


def _finished(stream: Stream, fields: dict[str, object], extra: Extra | None) -> None:
    closed = [stream]
    if extra is not None:
        closed += [source for source in extra.causes if isinstance(source, Stream)]
    fields["state_digest"] = values_digest((one.agent_id, one.incarnation, one.values or {}) for one in closed)


NOTES: Mapping[str, Note] = {"StateChanged": _changed, "RunFinished": _finished}
"""By event type: what the writer has to do with an event before it is encoded."""
