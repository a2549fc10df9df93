"""Writes the golden file of each version of an event type that has none yet; what exists is never touched.

Run it from the repository: `python tests/golden/events/write_new.py`.
"""

from __future__ import annotations

import hashlib
import json
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1]))

from schemas_support import CURRENT, EXAMPLES, past_examples, reference_write  # noqa: E402  # found by the line above
from tachograph.schemas import fields_of  # noqa: E402
from tachograph.schemas._container import bare_json  # noqa: E402
from tachograph.schemas._registry import schema_of  # noqa: E402


def as_json(value: object) -> object:
    """Fields as JSON: bytes in hexadecimal, a named branch as a list."""
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, dict):
        return {name: as_json(part) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [as_json(part) for part in value]
    return value


def write_missing(folder: Path) -> list[Path]:
    """The files that were written."""
    types = {entry.type: entry for entry in CURRENT}
    newest = [(types[type(event).__name__], fields_of(event)) for event in EXAMPLES]
    written: list[Path] = []
    for entry, fields in (*newest, *past_examples()):
        path = folder / f"{entry.type}.{entry.version}.json"
        golden = {
            "schema": entry.tag,
            "fingerprint": hashlib.sha256(bare_json(schema_of(entry)).encode()).hexdigest(),
            "payload": (entry.prefix + reference_write(entry, fields)).hex(),
            "fields": as_json(fields),
        }
        try:
            with path.open("x") as file:
                file.write(json.dumps(golden, indent=1) + "\n")
        except FileExistsError:
            continue
        written.append(path)
    return written


if __name__ == "__main__":
    for made in write_missing(HERE):
        print(f"written: {made.name}")
