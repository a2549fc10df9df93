"""The `.avsc` files and the event classes are one contract, written twice: they say the same."""

from __future__ import annotations

import ast
import dataclasses
import itertools
import json
import subprocess
import sys
import typing
from enum import StrEnum
from importlib.resources import files
from pathlib import Path

import pytest

from schemas_support import CURRENT, EXAMPLES
from tachograph import schemas
from tachograph.schemas import Event, _details, _events, _parts
from tachograph.schemas._classes import class_named
from tachograph.schemas._registry import OPTIONAL_ID_MIN, SchemaEntry, current, entries
from tachograph.schemas._upcast import UPCASTS

AVRO = files("tachograph.schemas").joinpath("avro")
FILES = {path.name.removesuffix(".avsc"): json.loads(path.read_text()) for path in AVRO.iterdir() if path.is_file()}
RECORDS = {name: schema for name, schema in FILES.items() if name != "ids.json" and schema["type"] == "record"}
ENUMS = {name: schema for name, schema in FILES.items() if name != "ids.json" and schema["type"] == "enum"}
LITERALS = {"CallKind": schemas.CallKind, "EffectClass": schemas.EffectClass}
SCALARS = {str: "string", int: "long", bool: "boolean", float: "double"}


def avro_types(hint: object) -> list[object]:
    """The Avro types that a class's field may have: bytes are of a fixed size where they are a digest."""
    arguments = typing.get_args(hint)
    names = [name for name, literal in LITERALS.items() if literal == hint]
    if names:
        return [names[0]]
    if hint is bytes:
        return ["bytes", "Digest", "Hash"]
    if typing.get_origin(hint) is tuple:
        return [{"type": "array", "items": items} for items in avro_types(arguments[0])]
    if arguments:
        branches = [avro_types(argument) for argument in arguments if argument is not type(None)]
        assert all(len(branch) == 1 for branch in branches[1:])
        return [["null", first, *(branch[0] for branch in branches[1:])] for first in branches[0]]
    assert isinstance(hint, type)
    return [SCALARS.get(hint, hint.__name__)]


@pytest.mark.parametrize("name", RECORDS)
def test_every_record_is_its_class(name: str) -> None:
    """Same fields, same order, same types; what may be absent is null by default."""
    cls = class_named(name)
    hints = typing.get_type_hints(cls)
    fields = RECORDS[name]["fields"]
    assert [field["name"] for field in fields] == [field.name for field in dataclasses.fields(cls)]
    for field in fields:
        assert field["type"] in avro_types(hints[field["name"]]), field
        assert ("default" in field and field["default"] is None) == isinstance(field["type"], list), field


@pytest.mark.parametrize("name", ENUMS)
def test_every_enum_is_its_type(name: str) -> None:
    """Same symbols in the same order: an enum's symbol is written as its place."""
    cls = class_named(name)
    is_class = isinstance(cls, type) and issubclass(cls, StrEnum)
    assert ENUMS[name]["symbols"] == ([member.value for member in cls] if is_class else list(typing.get_args(cls)))


def test_every_class_has_a_file() -> None:
    """And every file a class, but the fixed ones."""
    classes = {
        name
        for module in (_details, _events, _parts)
        for name, cls in vars(module).items()
        if dataclasses.is_dataclass(cls)
    }
    assert classes == set(RECORDS)
    assert {name for name, schema in FILES.items() if name != "ids.json" and schema["type"] == "fixed"} == {
        "Digest",
        "Hash",
    }
    assert all(schema["namespace"] == "tachograph" and schema["doc"] for schema in (*RECORDS.values(), *ENUMS.values()))
    assert all(schema["name"] == name for name, schema in FILES.items() if name != "ids.json")


def test_every_event_type_has_a_schema_id() -> None:
    """Each type of event is registered, starts with the meta, and has an example."""
    types = {cls.__name__ for cls in typing.get_args(Event)}
    assert types == {entry.type for entry in CURRENT} == {type(event).__name__ for event in EXAMPLES}
    assert all(RECORDS[name]["fields"][0] == {"name": "meta", "type": "EventMeta"} for name in types)
    assert RECORDS["EventMeta"]["fields"][0]["name"] == "hash"


def test_schema_ids_are_never_reused() -> None:
    """Each id stands once, ids go up, versions of a type are counted from 1, and the flag agrees with the id."""
    rows = FILES["ids.json"]
    assert [row["id"] for row in rows] == sorted({row["id"] for row in rows})
    assert len(entries()) == len(rows)
    for name in {row["type"] for row in rows}:
        versions = [row["version"] for row in rows if row["type"] == name]
        assert versions == list(range(1, len(versions) + 1))
    assert all(entry.optional == (entry.id >= OPTIONAL_ID_MIN) for entry in entries().values())
    assert all(isinstance(entry, SchemaEntry) and type(entry.optional) is bool for entry in entries().values())


def test_every_past_version_can_be_brought_up_to_date() -> None:
    """For each there is its schema and a step to the next."""
    past = {entry.tag for entry in entries().values() if entry.version != current()[entry.type].version}
    assert past == set(UPCASTS)
    assert {path.name.removesuffix(".avsc").replace(".", "/") for path in AVRO.joinpath("past").iterdir()} == past


def test_the_public_names_are_sorted() -> None:
    """The list is in order, whole, and what it names exists."""
    source = ast.parse(files("tachograph.schemas").joinpath("__init__.py").read_text())
    imported = [name.name for node in source.body if isinstance(node, ast.ImportFrom) for name in node.names]
    names = [name for name in schemas.__all__ if name.isupper()]
    classes = [name for name in schemas.__all__ if name[0].isupper() and not name.isupper()]
    functions = [name for name in schemas.__all__ if name[0].islower()]
    assert schemas.__all__ == sorted(names) + sorted(classes) + sorted(functions)
    assert sorted(schemas.__all__) == sorted(imported)


def test_importing_reads_no_schema() -> None:
    """An import neither loads the Avro library nor compiles a codec."""
    code = (
        "import sys, tachograph.schemas as s; from tachograph.schemas import _codec, _registry;"
        "assert not _codec._plans and not _registry.entries.cache_info().currsize;"
        "assert not [name for name in sys.modules if name.startswith('fastavro')]"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def documented() -> dict[tuple[str, str], str]:
    """What the classes say about themselves (under an empty field name) and about their fields."""
    said: dict[tuple[str, str], str] = {}
    for module in (_details, _events, _parts):
        for node in ast.parse(Path(str(module.__file__)).read_text()).body:
            if isinstance(node, ast.ClassDef):
                said[node.name, ""] = plain(ast.get_docstring(node) or "")
                for field, text in itertools.pairwise(node.body):
                    if isinstance(field, ast.AnnAssign) and isinstance(text, ast.Expr):
                        said[node.name, ast.unparse(field.target)] = plain(str(ast.literal_eval(text.value)))
    return said


def plain(text: str) -> str:
    """Documentation as one line without markup."""
    return " ".join(text.replace("`", "").split())


def test_files_and_classes_are_documented_alike() -> None:
    """Whoever reads events without this code is told the same."""
    said = documented()
    for name, schema in RECORDS.items():
        assert schema["doc"] == said[name, ""]
        for field in schema["fields"]:
            assert field.get("doc") == said.get((name, field["name"])), (name, field["name"])
