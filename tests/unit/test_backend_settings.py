"""Servers are named in the environment or in a file; what cannot be is told by name, secrets are never shown."""

from __future__ import annotations

from pathlib import Path

import pytest

from tachograph.core.errors import InvalidSetting
from tachograph.stores.backend import Backend, Secret, backend_of

S3 = {
    "TACHO_S3_URL": "http://127.0.0.1:9000/",
    "TACHO_S3_BUCKET": "tacho",
    "TACHO_S3_ACCESS_KEY": "reader",
    "TACHO_S3_SECRET_KEY": "hunter2",
}


def test_nothing_named_is_a_directory() -> None:
    """Without settings there are no servers."""
    assert backend_of({}) == Backend()


def test_variables_win_over_the_file(tmp_path: Path) -> None:
    """A file holds what is the same everywhere; a variable what is not."""
    file = tmp_path / "tacho.toml"
    file.write_text('kafka_bootstrap = "a:1"\nredis_url = "redis://a/0"\n')
    backend = backend_of({"TACHO_CONFIG": str(file), "TACHO_KAFKA_BOOTSTRAP": "b:2"})
    assert backend.kafka is not None
    assert backend.kafka.bootstrap == "b:2"
    assert backend.redis is not None


def test_secrets_are_never_shown(tmp_path: Path) -> None:
    """Passwords stand in no representation."""
    properties = tmp_path / "kafka.properties"
    properties.write_text("# comment\nsasl.username = me\nsasl.password = hunter2\n")
    backend = backend_of(
        S3
        | {
            "TACHO_KAFKA_BOOTSTRAP": "a:1",
            "TACHO_KAFKA_CONFIG": str(properties),
            "TACHO_REDIS_URL": "redis://:hunter2@a/0",
        }
    )
    assert "hunter2" not in repr(backend)
    assert backend.s3 is not None
    assert (backend.s3.url, backend.s3.secret_key.text) == ("http://127.0.0.1:9000", "hunter2")
    assert backend.kafka is not None
    assert backend.kafka.properties == {"sasl.username": "me", "sasl.password": Secret("hunter2")}


@pytest.mark.parametrize(
    ("given", "named"),
    [
        ({"TACHO_S3_URL": "http://a"}, "TACHO_S3_BUCKET"),
        (S3 | {"TACHO_S3_URL": "a:9000"}, "TACHO_S3_URL"),
        ({"TACHO_REGISTRY_URL": "ftp://a"}, "TACHO_REGISTRY_URL"),
        ({"TACHO_CONFIG": "/nowhere.toml"}, "TACHO_CONFIG"),
        (S3 | {"TACHO_SPOOL_KEEP_HOURS": "soon"}, "TACHO_SPOOL_KEEP_HOURS"),
        (S3 | {"TACHO_SPOOL_KEEP_HOURS": "-1"}, "TACHO_SPOOL_KEEP_HOURS"),
        (S3 | {"TACHO_SPOOL_KEEP_HOURS": "nan"}, "TACHO_SPOOL_KEEP_HOURS"),
        (S3 | {"TACHO_SPOOL_KEEP_HOURS": "inf"}, "TACHO_SPOOL_KEEP_HOURS"),
        ({"TACHO_SPOOL_KEEP_HOURS": "24"}, "TACHO_SPOOL_KEEP_HOURS.*TACHO_S3_URL"),
        ({"TACHO_KAFKA_BOOTSTRAP": "a:1", "TACHO_KAFKA_CONFIG": "/nowhere"}, "TACHO_KAFKA_CONFIG"),
    ],
)
def test_what_cannot_be_is_named(given: dict[str, str], named: str) -> None:
    """The message names the setting."""
    with pytest.raises(InvalidSetting, match=named):
        backend_of(given)


def test_how_long_spools_stay() -> None:
    """For ever unless somebody says so; no time at all is a time."""
    assert backend_of(S3).spool_keep_hours is None
    assert backend_of(S3 | {"TACHO_SPOOL_KEEP_HOURS": "0"}).spool_keep_hours == 0
    assert backend_of(S3 | {"TACHO_SPOOL_KEEP_HOURS": "1.5"}).spool_keep_hours == 1.5


def test_a_bad_redis_url_is_not_repeated() -> None:
    """It may hold a password."""
    with pytest.raises(InvalidSetting) as caught:
        backend_of({"TACHO_REDIS_URL": "http://:hunter2@a/0"})
    assert "hunter2" not in str(caught.value)


def test_an_unknown_name_in_the_file_is_refused(tmp_path: Path) -> None:
    """A typo would otherwise mean: no such server."""
    file = tmp_path / "tacho.toml"
    file.write_text('kafka_bootstap = "a:1"\n')
    with pytest.raises(InvalidSetting, match="kafka_bootstap"):
        backend_of({"TACHO_CONFIG": str(file)})
