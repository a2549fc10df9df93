"""Settings are parsed once, and what cannot be is refused by name."""

from __future__ import annotations

from pathlib import Path

import pytest

from tachograph.core.errors import InvalidSetting
from tachograph.producers import DirectoryTransport, Recorder
from tachograph.producers._settings import Settings


def test_the_environment_sets_a_recorder() -> None:
    """Every variable lands in its setting; what is not set has its default."""
    settings = Settings.from_environment(
        {
            "TACHO_HOME": "/somewhere",
            "TACHO_TENANT": "acme",
            "TACHO_REDACTION": "none/1",
            "TACHO_MAILBOX": "/mail",
            "TACHO_ON_BROKEN_LOG": "continue",
            "TACHO_FSYNC_INTERVAL_MS": "50",
            "TACHO_RAW": "1",
            "TACHO_RAW_KEYS": "/keys",
        }
    )
    assert settings == Settings("/somewhere", "acme", "none/1", "/mail", "continue", 50, raw=True, raw_keys="/keys")
    assert Settings.from_environment({}) == Settings()


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("TACHO_ON_BROKEN_LOG", "shrug"),
        ("TACHO_RAW", "perhaps"),
        ("TACHO_FSYNC_INTERVAL_MS", "soon"),
        ("TACHO_FSYNC_INTERVAL_MS", "0"),
    ],
)
def test_a_bad_variable_is_named_with_its_value(name: str, value: str) -> None:
    """The error says which setting, what it is, and what it must be."""
    with pytest.raises(InvalidSetting, match=value):
        Settings.from_environment({name: value})


def test_bounds_must_be_positive() -> None:
    """A queue without room cannot be."""
    with pytest.raises(InvalidSetting, match="queue_events_max"):
        Settings(queue_events_max=0)
    with pytest.raises(InvalidSetting, match="on_broken_log"):
        Settings(on_broken_log="shrug")  # type: ignore[arg-type]  # what a caller without types may pass


def test_a_recorder_from_the_environment_records(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Home, tenant, policy and mailbox of `from_env` are those of the variables."""
    monkeypatch.setenv("TACHO_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("TACHO_TENANT", "acme")
    monkeypatch.setenv("TACHO_MAILBOX", str(tmp_path / "mail"))
    monkeypatch.setenv("TACHO_REDACTION", "none/1")
    with Recorder.from_env() as recorder:
        assert recorder.home.path == tmp_path / "home"
        assert repr(recorder) == f"Recorder(home='{tmp_path / 'home'}', tenant='acme')"
        assert isinstance(recorder._transport, DirectoryTransport)
    monkeypatch.setenv("TACHO_REDACTION", "default/99")
    with pytest.raises(InvalidSetting, match="default/99"):
        Recorder.from_env()
