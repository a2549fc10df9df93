"""Schema ids of a real registry: registered once, exchanged both ways, kept through an outage, refused when wrong."""

from __future__ import annotations

import json
import logging
import urllib.error
import urllib.request
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from services import Own, own, registry
from tachograph.core.errors import InvalidSetting
from tachograph.schemas import OPTIONAL_ID_MIN, entries, schema_of
from tachograph.stores.backend import RegistrySettings
from tachograph.stores.registry import (
    IncompatibleSchema,
    RegistryReplaced,
    RegistryUnavailable,
    SchemaRegistry,
    UnknownSchemaId,
)

NOBODY = RegistrySettings("http://127.0.0.1:1")


MADE: list[SchemaRegistry] = []


@pytest.fixture(autouse=True)
def _closed() -> Iterator[None]:
    yield
    while MADE:
        MADE.pop().close()


def made(settings: RegistrySettings, directory: Path, topic: str) -> SchemaRegistry:
    """A registry client with its cache; closed with the test."""
    MADE.append(SchemaRegistry(settings, directory / "cache" / "ids.json", topic=topic))
    return MADE[-1]


def payload(schema_id: int) -> bytes:
    """Something that starts as an event of a schema."""
    return b"\0" + schema_id.to_bytes(4, "big") + b"content"


def post(settings: RegistrySettings, subject: str, schema: object) -> int:
    """What another client registers; its id."""
    url = f"{settings.url}/subjects/{subject}/versions"
    body = json.dumps({"schema": json.dumps(schema)}).encode()
    asked = urllib.request.Request(url, body, {"Content-Type": "application/vnd.schemaregistry.v1+json"})
    with urllib.request.urlopen(asked) as answer:
        return int(json.load(answer)["id"])


def test_every_schema_is_registered_and_ids_go_both_ways(tmp_path: Path) -> None:
    """Past versions and all; a second client, with no cache yet, gets the same ids."""
    first, second = (made(registry(), tmp_path / name, "both.ways") for name in ("a", "b"))
    first.register_all()
    second.register_all()
    for entry in entries().values():
        value = first.to_wire(payload(entry.id))
        assert value[5:] == b"content"
        assert second.to_wire(payload(entry.id)) == value
        assert second.from_wire(value) == payload(entry.id)


def test_subjects_are_held_fully_compatible(tmp_path: Path) -> None:
    """A schema without a default for its new field is refused by the registry, whoever registers it."""
    made(registry(), tmp_path, "held").register_all()
    schema = dict(schema_of(entries()[18]))  # type: ignore[arg-type]  # a record
    schema["fields"] = [*schema["fields"], {"name": "more", "type": "long"}]  # type: ignore[misc]  # a list
    with pytest.raises(urllib.error.HTTPError, match="409") as refused:
        post(registry(), f"held-tachograph.{entries()[18].type}", schema)
    refused.value.close()


def test_a_reader_learns_ids_by_asking(tmp_path: Path) -> None:
    """It registers nothing; and knows by itself what it once asked, after a restart and an outage, too."""
    writer = made(registry(), tmp_path / "writer", "asking")
    writer.register_all()
    value = writer.to_wire(payload(5))
    assert made(registry(), tmp_path / "reader", "asking").from_wire(value) == payload(5)
    with pytest.raises(UnknownSchemaId, match="could not be asked"):
        made(NOBODY, tmp_path / "reader", "asking").from_wire(value)
    assert made(registry(), tmp_path / "reader", "asking").from_wire(value) == payload(5)


def test_an_outage_stops_nobody_who_knows_the_ids(tmp_path: Path) -> None:
    """Writers and readers go on from the cache; who knows nothing yet is told so."""
    with own("registry", tmp_path / "server") as server:
        settings = RegistrySettings(server.address)
        before = made(settings, tmp_path, "outage")
        before.register_all()
        values = [before.to_wire(payload(each)) for each in entries()]
        server.servers[0].kill()
        after = made(settings, tmp_path, "outage")
        after.register_all()
        assert [after.from_wire(value) for value in values] == [payload(each) for each in entries()]
        with pytest.raises(RegistryUnavailable):
            made(settings, tmp_path / "new", "outage").register_all()


def test_a_registry_made_anew_is_refused(tmp_path: Path) -> None:
    """It gives other ids: records under the old ones would be misread."""
    with own("registry", tmp_path / "server") as server:
        settings = RegistrySettings(server.address)
        made(settings, tmp_path, "anew").register_all()
        lose_everything(server)
        post(settings, "somebody-else", "string")
        post(settings, "somebody-elses", "int")
        with pytest.raises(RegistryReplaced, match="made anew"):
            made(settings, tmp_path, "anew").register_all()


def lose_everything(server: Own) -> None:
    """The registry of the tests keeps its schemas in memory."""
    server.servers[0].restart()


def test_a_foreign_schema_is_unknown(tmp_path: Path) -> None:
    """Ids that are not there, schemas that are no event's, and ones that only say so."""
    client = made(registry(), tmp_path, "foreign")
    client.register_all()
    stranger = post(registry(), "strange", {"type": "record", "name": "Strange", "fields": []})
    with pytest.raises(UnknownSchemaId, match="no event's"):
        client.from_wire(payload(stranger))
    liar = post(registry(), "liar", {"type": "record", "name": "Liar", "fields": [], "tachograph-id": 5})
    with pytest.raises(UnknownSchemaId, match="differs"):
        client.from_wire(payload(liar))
    with pytest.raises(UnknownSchemaId, match="no such schema"):
        client.from_wire(payload(2_000_000_000))
    with pytest.raises(UnknownSchemaId, match="wire format"):
        client.from_wire(b"{}")
    with pytest.raises(UnknownSchemaId, match="not registered"):
        client.to_wire(payload(60_000))


def test_a_newer_releases_schema_is_told_by_its_own_id(tmp_path: Path) -> None:
    """So that a reader can skip an optional event that it does not know."""
    ours = OPTIONAL_ID_MIN + 7
    schema = {"type": "record", "name": "Novelty", "namespace": "tachograph", "fields": [], "tachograph-id": ours}
    theirs = post(registry(), "newer-tachograph.Novelty", schema)
    assert made(registry(), tmp_path, "newer").from_wire(payload(theirs)) == payload(ours)


def test_a_refused_schema_is_named(tmp_path: Path) -> None:
    """Somebody else's schema stands under our subject."""
    entry = next(entry for entry in entries().values() if entry.type == "BodyErased")
    post(registry(), "taken-tachograph.BodyErased", {"type": "record", "name": "Other", "fields": []})
    with pytest.raises(IncompatibleSchema, match=entry.tag):
        made(registry(), tmp_path, "taken").register_all()


def test_without_a_registry_records_carry_our_ids(tmp_path: Path) -> None:
    """An id that this release does not have is unknown, unless it may be skipped."""
    client = SchemaRegistry(None, tmp_path / "ids.json", topic="t")
    client.register_all()
    assert client.to_wire(payload(5)) == payload(5) == client.from_wire(payload(5))
    assert client.from_wire(payload(OPTIONAL_ID_MIN + 9)) == payload(OPTIONAL_ID_MIN + 9)
    with pytest.raises(UnknownSchemaId, match="60000"):
        client.from_wire(payload(60_000))


def test_a_password_in_the_url_is_never_shown(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Not in an error of the connection, nor of the settings, nor in what the HTTP client logs."""
    host = registry().url.removeprefix("http://")
    with caplog.at_level(logging.DEBUG):
        made(RegistrySettings(f"http://user:hunter2@{host}"), tmp_path, "login").register_all()
    assert "/subjects/login-tachograph" in caplog.text
    assert "hunter2" not in caplog.text
    secret = replace(NOBODY, url="http://user:hunter2@127.0.0.1:1")
    with pytest.raises(RegistryUnavailable) as caught:
        made(secret, tmp_path, "t").register_all()
    assert "hunter2" not in str(caught.value)
    with pytest.raises(InvalidSetting) as wrong:
        made(replace(NOBODY, url="ftp://user:hunter2@host"), tmp_path, "t")
    assert "hunter2" not in str(wrong.value)
