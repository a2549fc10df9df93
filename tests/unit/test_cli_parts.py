"""The small parts behind the commands: settings, short ids, services, progress, previews."""

from __future__ import annotations

import io
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tachograph.control._errors import AmbiguousRun, ServiceUnavailable
from tachograph.control._fork import render_fork
from tachograph.control._homes import short_ids
from tachograph.control._preview import shown
from tachograph.control._progress import progress, silent
from tachograph.control._screen import Screen
from tachograph.control._services import NAMES, load
from tachograph.control._settings import settings_of
from tachograph.core.canonical import encode_body
from tachograph.core.ports import ForkResult
from tachograph.core.replay import Verdict, VerdictStatus


@pytest.mark.parametrize(
    ("option", "environment", "home"),
    [
        (None, {}, ".tacho"),
        (None, {"TACHO_HOME": "/from/env"}, "/from/env"),
        (None, {"TACHO_HOME": ""}, ".tacho"),
        ("/from/option", {"TACHO_HOME": "/from/env"}, "/from/option"),
    ],
)
def test_the_home_is_option_then_variable_then_default(
    option: str | None, environment: dict[str, str], home: str
) -> None:
    """`--home` wins over TACHO_HOME, which wins over `./.tacho`; an empty variable is none."""
    assert settings_of(option, environment, json=False, debug=False, terminal=False).home == Path(home)


@pytest.mark.parametrize(
    ("terminal", "environment", "colour"),
    [(True, {}, True), (False, {}, False), (True, {"NO_COLOR": "1"}, False), (True, {"NO_COLOR": ""}, True)],
)
def test_colour_only_on_a_terminal_that_wants_it(terminal: bool, environment: dict[str, str], colour: bool) -> None:
    """No colours into files and pipes, none where NO_COLOR says so."""
    assert settings_of(None, environment, json=False, debug=False, terminal=terminal).colour is colour


@given(st.sets(st.text("abc0", min_size=1, max_size=20), min_size=1))
def test_short_ids_name_one_run_each(run_ids: set[str]) -> None:
    """A shown beginning is enough to name its run, unless another run's whole id begins with it."""
    for run_id, short in short_ids(sorted(run_ids)).items():
        assert run_id.startswith(short)
        others = [other for other in run_ids if other != run_id and other.startswith(short)]
        assert not others or short == run_id


def test_a_service_that_is_not_there_names_the_remedy() -> None:
    """An unknown service: which one, and what to install."""
    with pytest.raises(ServiceUnavailable, match=r"'nothing' is not available.*pip install"):
        load("nothing")


@pytest.mark.parametrize("name", NAMES)
def test_every_service_loads(name: str) -> None:
    """Each service that a command uses is offered by this distribution and can be called."""
    assert callable(load(name))


def test_progress_is_silent_without_a_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    """In CI and pipes nothing is drawn."""
    with progress("x") as shown_progress:
        shown_progress(1, 2, "half")
    assert shown_progress is silent
    assert capsys.readouterr() == ("", "")


def test_progress_draws_on_a_terminal(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """On a terminal a bar is drawn on standard error, what it says is escaped, and it is gone afterwards."""
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    with progress("x") as shown_progress:
        shown_progress(1, 2, "[red]half\x1b]0;title\x07")
        shown_progress(2, 0, "")
    out, err = capsys.readouterr()
    assert out == ""
    assert "\x1b]0;" not in err


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ({"args": [1, "a"], "kwargs": {"b": None}}, '(1, "a", b=null)'),
        ({"args": [], "kwargs": {}}, "()"),
        ({"args": [1], "kwargs": {}, "more": 1}, '{"args": [1], "kwargs": {}, "more": 1}'),
        ([1.0, "ü"], '[1.0, "ü"]'),
        (None, "null"),
    ],
)
def test_bodies_read_like_calls_and_json(value: object, text: str) -> None:
    """Call arguments are shown as in a call, everything else as JSON on one line."""
    assert shown(encode_body(value)) == text


def test_an_ambiguous_run_lists_a_few() -> None:
    """Not a screenful: three ids and how many there are."""
    error = AmbiguousRun("r", [f"r{number}" for number in range(50)])
    assert str(error) == "'r' begins 50 runs: r0, r1, r2, …. Give more characters."


@pytest.mark.parametrize(
    ("status", "said"), [("reproduced", "The fork did"), ("limited", "As far as it came, the fork did")]
)
def test_a_fork_that_was_stopped_claims_no_more_than_it_showed(status: str, said: str) -> None:
    """Without a divergence a whole fork equals its parent, a stopped one only as far as it came."""
    verdict = Verdict(VerdictStatus(status), "reproduced", "reproduced", "reproduced", None)
    out = io.StringIO()
    render_fork(Screen(out), ForkResult("fork", "parent", verdict, "OK", 0.1), {})
    assert said in out.getvalue()
