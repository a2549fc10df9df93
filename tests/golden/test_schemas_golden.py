"""What a release wrote stays readable for ever.

For each version of each event type there is a file in `events/`: its bytes, the fingerprint of the schema they were
written under and the fields that were in them. None of these files ever changes: a changed schema is a new version, and
`python tests/golden/events/write_new.py` adds the file that it lacks.
"""

from __future__ import annotations

import hashlib
import json
import runpy
from pathlib import Path

import pytest

from schemas_support import ALL, reference_read, reference_write
from tachograph.schemas import decode, decode_foreign, fields_of, schema_tag
from tachograph.schemas._container import bare_json
from tachograph.schemas._registry import SchemaEntry, schema_of

EVENTS = Path(__file__).parent / "events"
WRITE_NEW = runpy.run_path(str(EVENTS / "write_new.py"))

by_version = pytest.mark.parametrize("entry", ALL, ids=lambda entry: entry.tag)


def golden(entry: SchemaEntry) -> dict[str, object]:
    """The recorded file of a version."""
    path = EVENTS / f"{entry.type}.{entry.version}.json"
    assert path.exists(), f"{path.name} is missing: run `python tests/golden/events/write_new.py`"
    recorded = json.loads(path.read_text())
    assert isinstance(recorded, dict)
    return recorded


def holds(found: object, recorded: object) -> bool:
    """Whether everything that was recorded is found; a later version may have added fields."""
    if isinstance(recorded, dict):
        return isinstance(found, dict) and all(holds(found.get(name), part) for name, part in recorded.items())
    if isinstance(recorded, list):
        same_size = isinstance(found, list) and len(found) == len(recorded)
        return same_size and all(map(holds, found, recorded))
    return found == recorded


@by_version
def test_a_recorded_event_is_still_read(entry: SchemaEntry) -> None:
    """Its bytes give the fields that were recorded, as the current class and to any Avro library."""
    recorded = golden(entry)
    payload = bytes.fromhex(str(recorded["payload"]))
    assert schema_tag(payload) == recorded["schema"] == entry.tag
    as_json = WRITE_NEW["as_json"]
    assert holds(as_json(fields_of(decode(payload))), recorded["fields"])
    assert decode_foreign(payload) == decode(payload)
    assert as_json(reference_read(entry, payload[5:])) == recorded["fields"]


@by_version
def test_a_schema_never_changes(entry: SchemaEntry) -> None:
    """Its documentation may; anything else needs a new version, a step from this one and its own file."""
    fingerprint = hashlib.sha256(bare_json(schema_of(entry)).encode()).hexdigest()
    assert golden(entry)["fingerprint"] == fingerprint, f"the schema of {entry.tag} has changed: add a version instead"


@by_version
def test_the_same_event_is_still_written_the_same(entry: SchemaEntry) -> None:
    """Byte for byte: its hash depends on it."""
    payload = bytes.fromhex(str(golden(entry)["payload"]))
    assert entry.prefix + reference_write(entry, reference_read(entry, payload[5:])) == payload


def test_no_recorded_file_is_left_behind() -> None:
    """Every file belongs to a known version: no version was ever taken back."""
    assert {path.stem for path in EVENTS.glob("*.json")} == {f"{entry.type}.{entry.version}" for entry in ALL}


def test_recorded_files_are_never_overwritten(tmp_path: Path) -> None:
    """The script writes what is missing, and only that."""
    write = WRITE_NEW["write_missing"]
    assert len(write(tmp_path)) == len(ALL)
    changed = tmp_path / "CallFinished.1.json"
    changed.write_text("as it was")
    (tmp_path / "CallStarted.1.json").unlink()
    assert [path.name for path in write(tmp_path)] == ["CallStarted.1.json"]
    assert changed.read_text() == "as it was"
