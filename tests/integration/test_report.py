"""A report says what a replay or a fork showed, in three files that agree, and never takes one for the other."""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from report_fleet import CODE, record, replayed
from tachograph.core.errors import InvalidSetting
from tachograph.core.ports import ForkOptions, ForkResult, Override, ReplayResult
from tachograph.core.replay import VerdictStatus, verdict
from tachograph.replay_workers import fork, report
from tachograph.replay_workers._report_files import ReportUnwritable


def read(files: Mapping[str, Path]) -> tuple[str, Any, str]:
    """The three files."""
    assert {kind: path.name for kind, path in files.items()} == {
        "html": "report.html", "json": "report.json", "txt": "report.txt",
    }  # fmt: skip
    return files["html"].read_text(), json.loads(files["json"].read_text()), files["txt"].read_text()


def changed_code(tmp_path: Path) -> Path:
    """The same fleet, which charges 19 per cent more."""
    code = tmp_path / "changed"
    code.mkdir()
    text = (CODE / "report_fleet.py").read_text()
    (code / "report_fleet.py").write_text(text.replace('"amount": found["price"]', '"amount": found["price"] * 1.19'))
    return code


def test_a_reproduced_run(tmp_path: Path) -> None:
    """The incident in the title, nothing sent out, the effect in doubt, each agent's state, all three levels."""
    run_id = record(tmp_path / "home")
    html, document, text = read(report(tmp_path / "home", replayed(tmp_path / "home", run_id), tmp_path / "report"))
    assert document["kind"] == "replay"
    assert document["title"] == "main: nobody knows whether an effect happened"
    assert document["run"]["run_id"] == run_id
    assert document["verdict"]["status"] == "reproduced"
    assert [effect["state"] for effect in document["run"]["effects"]] == ["UNKNOWN"]
    assert [hit["name"] for hit in document["run"]["signatures"]] == ["SIDE_EFFECT_UNKNOWN"]
    assert {"name": "price", "text": '{"item": "teapot", "price": 20}'} in document["run"]["agents"][1]["state"]
    assert document["run"]["replayability"] == {"grade": "COMPLETE", "missing": []}
    assert document["timeline"]["rows_total"] == len(document["timeline"]["rows"])
    assert {"unknown", "back", "send", "receive", "fact"} <= {row["kind"] for row in document["timeline"]["rows"]}
    for shown in (html, text):
        assert "nobody knows whether an effect happened" in shown
        assert "reproduced" in shown
        assert run_id in shown
    assert text.startswith("REPLAY REPORT\n")
    assert "<strong>Replay</strong>" in html
    assert "Fork" not in html


def test_a_divergence_is_understood_at_once(tmp_path: Path) -> None:
    """The sentence, both values with what differs marked, the file and line, and the place in the time line."""
    home = tmp_path / "home"
    code = changed_code(tmp_path)
    run_id = record(home)
    html, document, text = read(report(home, replayed(home, run_id, code), tmp_path / "report"))
    first = document["verdict"]["first_divergence"]
    assert first["kind"] == "ARGUMENT_CHANGED"
    (row,) = [row for row in document["timeline"]["rows"] if row["diverges"]]
    assert (row["event_id"], row["diverges"]) == (first["event"], "ARGUMENT_CHANGED")
    line = next(
        number for number, line in enumerate((code / "report_fleet.py").read_text().splitlines(), 1) if "1.19" in line
    )
    for shown in (html, text):
        assert f"{code / 'report_fleet.py'}:{line}" in shown
        assert "$.amount" in shown
    assert '<mark class="old">20</mark>' in html
    assert '<mark class="new">23.799999999999997</mark>' in html
    assert "first divergence: ARGUMENT_CHANGED" in html
    assert "Other code than recorded" in html


def test_a_fork_is_no_replay(tmp_path: Path) -> None:
    """A fork is named as one everywhere, shows what was changed and ran, and keeps its parent's effects apart."""
    home = tmp_path / "home"
    run_id = record(home)
    called = f"{run_id}/clerk#1.2"
    options = ForkOptions(
        from_event=called, overrides=(Override("result", called, {"item": "teapot", "price": 30}),), code=str(CODE)
    )
    result = fork(home, run_id, options)
    html, document, text = read(report(home, result, tmp_path / "report"))
    assert (document["kind"], document["run"]["parent_run_id"]) == ("fork", run_id)
    assert (document["run"]["run_id"], document["parent"]["run_id"]) == (result.run_id, run_id)
    assert document["title"].startswith("Fork of main: ended")
    assert f"result at {called}" in [change["name"] for change in document["changes"]]
    assert document["timeline"]["run_id"] == result.run_id
    assert "It did not happen" in html
    assert "Effects and receipts of the parent" in html
    assert "<strong>Replay</strong>" not in html
    assert text.startswith("FORK REPORT\n")
    assert "CHANGED AGAINST THE PARENT" in text


def test_a_run_that_cannot_be_read(tmp_path: Path) -> None:
    """Without a log there is still a report, and it says so."""
    home = tmp_path / "home"
    record(home)
    gone = ReplayResult("run-gone", "gone", verdict([], missing=["nothing is there"]), 0.1, error="no run 'run-gone'")
    html, document, text = read(report(home, gone, tmp_path / "report"))
    assert document["run"] is None
    assert document["verdict"]["status"] == VerdictStatus.LIMITED.value
    assert "its log cannot be read" in html
    assert "no run 'run-gone'" in text
    lost = ForkResult("run-new", "run-gone", verdict([]), "nothing could be driven", 0.1)
    assert read(report(home, lost, tmp_path / "fork"))[1]["parent"] is None


def test_the_log_stays_as_it_is(tmp_path: Path) -> None:
    """Writing a report reads the log; its bytes are the same before and after, and a second report says the same."""
    home = tmp_path / "home"
    result = replayed(home, record(home))
    before = digest(home)
    first = read(report(home, result, tmp_path / "one"))
    assert read(report(home, result, tmp_path / "two")) == first
    assert digest(home) == before


def digest(home: Path) -> str:
    """Of everything in the log."""
    made = hashlib.sha256()
    for path in sorted((home / "log").rglob("*")):
        if path.is_file():
            made.update(path.read_bytes())
    return made.hexdigest()


def test_without_jinja_nothing_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The missing package is named with the command that brings it."""
    home = tmp_path / "home"
    result = replayed(home, record(home))
    monkeypatch.setitem(sys.modules, "jinja2", None)
    with pytest.raises(InvalidSetting, match=r"pip install 'tachograph\[workers\]'"):
        report(home, result, tmp_path / "report")
    assert not (tmp_path / "report").exists()


def test_a_directory_that_cannot_be(tmp_path: Path) -> None:
    """A file in the way is named, with what to do."""
    home = tmp_path / "home"
    result = replayed(home, record(home))
    (tmp_path / "file").write_text("")
    with pytest.raises(ReportUnwritable, match=r"--report DIR"):
        report(home, result, tmp_path / "file" / "report")
    assert (tmp_path / "file").read_text() == ""


def test_a_link_is_replaced_and_not_followed(tmp_path: Path) -> None:
    """What a link in the directory points to stays as it is."""
    home = tmp_path / "home"
    result = replayed(home, record(home))
    (tmp_path / "precious").write_text("precious")
    (tmp_path / "report").mkdir()
    (tmp_path / "report" / "report.html").symlink_to(tmp_path / "precious")
    report(home, result, tmp_path / "report")
    assert (tmp_path / "precious").read_text() == "precious"
    assert sorted(path.name for path in (tmp_path / "report").iterdir()) == ["report.html", "report.json", "report.txt"]
