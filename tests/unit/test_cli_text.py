"""What is printed cannot steer a terminal, and lines up."""

from __future__ import annotations

import io
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tachograph.control._escape import clip, escape, width
from tachograph.control._screen import Screen, Span


@given(st.text())
def test_escaped_text_is_harmless(text: str) -> None:
    """Whatever a payload holds: no control, format, surrogate or unassigned character reaches the terminal."""
    assert escape(text).isprintable()


@given(st.text(st.characters(categories=["L", "N", "P", "S"])))
def test_plain_text_stays(text: str) -> None:
    """What is only to be read is shown as it is."""
    assert escape(text) == text


@pytest.mark.parametrize(
    ("payload", "shown"),
    [
        ("\x1b[2J\x1b[1;31mgone", "\\x1b[2J\\x1b[1;31mgone"),
        ("a\nb\tc\r", "a\\nb\\tc\\r"),
        ("\x9b31m", "\\x9b31m"),
        ("\u202egnp.exe", "\\u202egnp.exe"),
        ("\u2066x\u2069", "\\u2066x\\u2069"),
        ("zero\u200bwidth", "zero\\u200bwidth"),
        ("\udc80", "\\udc80"),
        ("no\u00a0break", "no break"),
        ("\U000e0041", "\\U000e0041"),
        ("Grüße, 世界", "Grüße, 世界"),
    ],
)
def test_steering_characters_are_spelled_out(payload: str, shown: str) -> None:
    """Colour codes, cursor moves, bidirectional overrides and invisible characters show as what they are."""
    assert escape(payload) == shown


@given(st.text(), st.integers(1, 40))
def test_clipped_text_fits(text: str, columns: int) -> None:
    """Clipped text never takes more columns than it is given; text that fits is not touched."""
    harmless = escape(text)
    clipped = clip(harmless, columns)
    assert width(clipped) <= max(columns, 1)
    assert clipped == harmless or (clipped.endswith("…") and harmless.startswith(clipped[:-1]))


def test_wide_characters_take_two_columns() -> None:
    """Chinese, Japanese and Korean text keeps tables aligned; combining marks take no room."""
    assert width("世界") == 4
    assert width(unicodedata.normalize("NFD", "é")) == 1


def screen(*, colour: bool = False, columns: int = 60) -> tuple[Screen, io.StringIO]:
    """A screen, and what is printed on it."""
    out = io.StringIO()
    return Screen(out, colour=colour, columns=columns), out


def test_every_part_of_a_line_is_escaped() -> None:
    """There is no way past the escaping: plain parts, styled parts and table cells all go through it."""
    shown, out = screen()
    shown.line("a\x1b", Span("b\x1b", "bad"))
    shown.table(["H\x1b"], [["c\x1b"], [Span("d\x1b", "good")]])
    shown.wrapped(["e\x1b", Span("f\x1b", "bold")], indent=1)
    assert "\x1b" not in out.getvalue()


def test_styles_show_only_in_colour() -> None:
    """Without a terminal there is not one escape sequence."""
    plain, out = screen()
    plain.line(Span("x", "bad"))
    assert out.getvalue() == "x\n"
    coloured, out = screen(colour=True)
    coloured.line(Span("x", "bad"))
    assert out.getvalue() == "\x1b[1;31mx\x1b[0m\n"


def test_tables_line_up() -> None:
    """Columns start below their titles; the last one is clipped at the edge."""
    shown, out = screen(columns=30)
    shown.table(["ID", "NAME", "TEXT"], [["1", "世界", "short"], ["22", "x", "y" * 40]])
    lines = out.getvalue().splitlines()
    assert lines[0] == "ID  NAME  TEXT"
    assert lines[1] == "1   世界  short"
    assert lines[2] == "22  x     " + "y" * 19 + "…"


def test_running_text_breaks_between_words() -> None:
    """Text is wrapped at the edge and indented; no word is lost."""
    shown, out = screen(columns=20)
    shown.wrapped(["one two three ", Span("four five", "bold"), " six seven"], indent=2)
    lines = out.getvalue().splitlines()
    assert " ".join(out.getvalue().split()) == "one two three four five six seven"
    assert all(line.startswith("  ") and len(line) <= 20 for line in lines)
