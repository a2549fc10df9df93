"""Whatever a run carries, its report is data: no markup, no script, no style, no control of page or terminal."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import unicodedata
from html.parser import HTMLParser
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from report_fleet import record, replayed
from tachograph.core.ports import ReplayResult
from tachograph.core.replay import (
    Candidate,
    Divergence,
    DivergenceKind,
    FieldChange,
    Step,
    UnrecordedInput,
    Verdict,
    VerdictStatus,
)
from tachograph.replay_workers import report
from tachograph.replay_workers._report_plain import payload_block, payload_text, plain

HOSTILE = {
    "script": "<script>alert(1)</script>",
    "closing": "</code></pre></style></title></svg><script src=//evil.example></script>",
    "handler": '" onmouseover="alert(1)" x="',
    "handler, other quotes": "' onload='alert(1)' x='",
    "image": "<img src=x onerror=alert(1)>",
    "style": "}</style><style>*{display:none}body{background:url(//evil.example)}",
    "style attribute": '" style="position:fixed;inset:0;background:red',
    "link": '<a href="javascript:alert(1)">click</a><base href="//evil.example"><meta http-equiv="refresh" content="0">',
    "template": "{{ 7 * 7 }}{% for x in ().__class__.__base__.__subclasses__() %}{% endfor %}",
    "comment": "<!--<svg><foreignObject><iframe srcdoc='<script>alert(1)</script>'>",
    "terminal": "\x1b[2J\x1b]0;owned\x07\x1b[31mred\x9b31m",
    "bidirectional": "abc\u202etxt.exe\u202c\u2066\u2069\u200f",
    "invisible": "a\u200bb\u2060c\ufeffd\u00ade\U000e0041",
    "null": "a\x00b\x00",
    "line breaks": "a\r\nb\u2028c\u2029d\x85e",
    "long": "A" * 400_000,
    "wide": "漢" * 5_000,
    "marks": "e" + "\u0301" * 500,
}

_VOID = {"meta", "br", "hr", "img", "input", "link", "base"}
_HTML = {
    "html",
    "head",
    "meta",
    "title",
    "style",
    "body",
    "header",
    "main",
    "footer",
    "nav",
    "section",
    "article",
    "figure",
}
_HTML |= {
    "figcaption",
    "p",
    "h1",
    "h2",
    "h3",
    "ul",
    "ol",
    "li",
    "dl",
    "dt",
    "dd",
    "div",
    "table",
    "thead",
    "tbody",
    "tr",
}
_HTML |= {"th", "td", "pre", "code", "b", "i", "mark", "small", "span", "strong", "a", "details", "summary"}
_SVG = {"svg", "defs", "marker", "path", "rect", "circle", "g", "text", "tspan", "title"}
_ATTRIBUTES = {
    "lang",
    "charset",
    "http-equiv",
    "content",
    "name",
    "class",
    "id",
    "href",
    "title",
    "aria-label",
    "scope",
}
_ATTRIBUTES |= {
    "aria-hidden",
    "role",
    "tabindex",
    "data-side",
    "xmlns",
    "width",
    "height",
    "viewbox",
    "d",
    "x",
    "y",
    "rx",
}
_ATTRIBUTES |= {"cx", "cy", "r", "refx", "refy", "markerwidth", "markerheight", "orient", "marker-end", "transform"}


class Page(HTMLParser):
    """What a page is made of."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.styles: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in _VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] == "style":
            self.styles.append(data)

    def handle_comment(self, data: str) -> None:
        raise AssertionError(data)


def check_page(text: str) -> None:
    """Only what the templates are made of, well nested; nothing loads, runs or leads anywhere."""
    page = Page(text)
    assert page.open == []
    assert {tag for tag, _ in page.elements} <= _HTML | _SVG
    for tag, attributes in page.elements:
        assert attributes.keys() <= _ATTRIBUTES, (tag, attributes)
        assert (attributes.get("href") or "#").startswith("#")
    policies = [each["content"] for _, each in page.elements if each.get("http-equiv") == "Content-Security-Policy"]
    assert [each["http-equiv"] for _, each in page.elements if "http-equiv" in each] == ["Content-Security-Policy"]
    (style,) = page.styles
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    assert policies == [f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"]
    assert not re.search(r"url\(|@import|expression", style)


def check_characters(text: str) -> None:
    """Nothing but line breaks steers anything."""
    bad = {char for char in set(text) - {"\n"} if unicodedata.category(char) in ("Cc", "Cf", "Cs", "Zl", "Zp")}
    assert bad == set()


TOGETHER = " ".join(payload for name, payload in HOSTILE.items() if name not in ("long", "wide", "marks"))


@pytest.mark.parametrize("payload", [TOGETHER, *(HOSTILE[name] for name in ("long", "wide", "marks"))])
def test_a_hostile_run(tmp_path: Path, payload: str) -> None:
    """Arguments, results, messages, state, roles and ends that attack the page: it stays what it is, and small."""
    home = tmp_path / "home"
    result = replayed(home, record(home, payload))
    assert result.verdict.status is VerdictStatus.REPRODUCED
    check_files(report(home, result, tmp_path / "report"))


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """A home with a harmless run."""
    home = tmp_path_factory.mktemp("recorded") / "home"
    return home, record(home)


@pytest.mark.parametrize("payload", HOSTILE.values(), ids=HOSTILE.keys())
def test_a_hostile_verdict(tmp_path: Path, recorded: tuple[Path, str], payload: str) -> None:
    """Both sides, changes, candidates, reads and sentences that attack the page."""
    home, run_id = recorded
    check_files(report(home, ReplayResult(run_id, payload, hostile(payload), 1.0, payload), tmp_path / "report"))


def hostile(text: str) -> Verdict:
    """A verdict full of it."""
    body = json.dumps({text: [text]}).encode()
    step = Step("clerk", 1, 1, "tool", text, b"k" * 32, body, text, 2, 2, None, body, text, text)
    changes = (FieldChange(text, text, text + "x"), FieldChange(text, "", text))
    read = UnrecordedInput(text, "clock", text, 1, text, text, 1)
    divergence = Divergence(
        DivergenceKind.ARGUMENT_CHANGED, "clerk", 1, 1, text, 2, step, step, changes, (Candidate(step, changes),), read,
        sentence=text,
    )  # fmt: skip
    other = Divergence(DivergenceKind.OUTCOME_CHANGED, text, 1, 1, text, 2, step, None, sentence=text)
    return Verdict(
        VerdictStatus.DIVERGED, "diverged", "diverged", "diverged", divergence, (divergence, other), text,
        (text,), (text,), {text: 1}, {text: 1}, (read,), 1, 1, 1, text, text,
    )  # fmt: skip


def check_files(files: object) -> None:
    """All three files."""
    assert isinstance(files, dict)
    html, text, document = (files[kind].read_text() for kind in ("html", "txt", "json"))
    check_page(html)
    for shown in (html, text, document):
        check_characters(shown)
        assert len(shown) < 4_000_000
    assert document.isascii()
    json.loads(document)


@given(st.text(st.characters(), max_size=60))
def test_any_text_becomes_plain(text: str) -> None:
    """Plain text is printable whatever it was made of, surrogates included, and making it plain again changes nothing."""
    made = plain(text)
    assert made.isprintable()
    made.encode()
    assert plain(made) == made
    assert made == text or any(not char.isprintable() or unicodedata.combining(char) for char in text)


@given(st.binary(max_size=60))
def test_any_bytes_can_be_shown(data: bytes) -> None:
    """A body that is no JSON is shown, too."""
    assert payload_text(data, 40).isprintable()
    assert len(payload_text(data, 40)) <= 40
    check_characters(payload_block(data, 40))
