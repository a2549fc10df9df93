"""What a home has imported already."""

from __future__ import annotations

import hashlib

import orjson

from tachograph.core.canonical import decode_body
from tachograph.producers.importers._files import Row
from tachograph.producers.importers._rows import maybe_mapping
from tachograph.schemas import RunFinished, RunImported, decode, prefix_of
from tachograph.stores import Home

_HEAD_EVENTS = 4
"""RunImported stands right behind RunStarted."""


def import_id_of(kind: str, row: Row) -> str:
    """The same for the same row, whatever file it stands in; the run's id is not derived from it."""
    return hashlib.sha256(kind.encode() + b"\0" + orjson.dumps(row, option=orjson.OPT_SORT_KEYS)).hexdigest()[:32]


def imported_before(home: Home) -> dict[str, str]:
    """Import id to run id, of every run that was imported to its end: what a crash left half is imported anew."""
    found: dict[str, str] = {}
    for run_id in home.log.run_ids():
        import_id = _import_id_of_run(home, run_id)
        if import_id is not None:
            found[import_id] = run_id
    return found


def _import_id_of_run(home: Home, run_id: str) -> str | None:
    import_id: str | None = None
    imported, finished = prefix_of(RunImported.__name__), prefix_of(RunFinished.__name__)
    for number, stored in enumerate(home.log.read_run(run_id)):
        if stored.payload.startswith(imported):
            event = decode(stored.payload)
            import_id = _import_id_in(home, event) if isinstance(event, RunImported) else None
        elif stored.payload.startswith(finished):
            return import_id
        elif import_id is None and number >= _HEAD_EVENTS:
            return None
    return None


def _import_id_in(home: Home, event: RunImported) -> str | None:
    if event.details is None:
        return None
    details = decode_body(home.body(event.details, f"{event.meta.run_id}/{event.meta.agent_id}"))
    import_id = maybe_mapping(details).get("import_id")
    return import_id if isinstance(import_id, str) else None
