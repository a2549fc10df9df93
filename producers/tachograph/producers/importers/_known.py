"""What a home has imported already."""

from __future__ import annotations

import hashlib
import itertools

import orjson

from tachograph.core.canonical import decode_body
from tachograph.producers.importers._files import Row
from tachograph.schemas import RunImported, decode, prefix_of
from tachograph.stores import Home

_HEAD_EVENTS = 4
"""RunImported stands right behind RunStarted."""


def import_id_of(kind: str, row: Row) -> str:
    """The same for the same row, whatever file it stands in; the run's id is not derived from it."""
    return hashlib.sha256(kind.encode() + b"\0" + orjson.dumps(row, option=orjson.OPT_SORT_KEYS)).hexdigest()[:32]


def imported_before(home: Home) -> dict[str, str]:
    """Import id to run id, of every imported run of a home."""
    prefix = prefix_of(RunImported.__name__)
    found: dict[str, str] = {}
    for run_id in home.log.run_ids():
        for stored in itertools.islice(home.log.read_run(run_id), _HEAD_EVENTS):
            event = decode(stored.payload) if stored.payload.startswith(prefix) else None
            import_id = _import_id_in(home, event) if isinstance(event, RunImported) else None
            if import_id is not None:
                found[import_id] = run_id
    return found


def _import_id_in(home: Home, event: RunImported) -> str | None:
    if event.details is None:
        return None
    details = decode_body(home.body(event.details, f"{event.meta.run_id}/{event.meta.agent_id}"))
    import_id = details.get("import_id") if isinstance(details, dict) else None
    return import_id if isinstance(import_id, str) else None
