"""Canonical JSON is RFC 8785's, and strings are in NFC first."""

from __future__ import annotations

import struct

import pytest

from tachograph.core.canonical import JsonValue, canonical
from tachograph.core.errors import UnserialisableValue

NUMBERS = [
    ("0000000000000000", "0"),
    ("8000000000000000", "0"),
    ("0000000000000001", "5e-324"),
    ("8000000000000001", "-5e-324"),
    ("7fefffffffffffff", "1.7976931348623157e+308"),
    ("ffefffffffffffff", "-1.7976931348623157e+308"),
    ("4340000000000000", "9007199254740992"),
    ("c340000000000000", "-9007199254740992"),
    ("4430000000000000", "295147905179352830000"),
    ("44b52d02c7e14af5", "9.999999999999997e+22"),
    ("44b52d02c7e14af6", "1e+23"),
    ("44b52d02c7e14af7", "1.0000000000000001e+23"),
    ("444b1ae4d6e2ef4e", "999999999999999700000"),
    ("444b1ae4d6e2ef4f", "999999999999999900000"),
    ("444b1ae4d6e2ef50", "1e+21"),
    ("3eb0c6f7a0b5ed8c", "9.999999999999997e-7"),
    ("3eb0c6f7a0b5ed8d", "0.000001"),
    ("41b3de4355555553", "333333333.3333332"),
    ("41b3de4355555554", "333333333.33333325"),
    ("41b3de4355555555", "333333333.3333333"),
    ("41b3de4355555556", "333333333.3333334"),
    ("41b3de4355555557", "333333333.33333343"),
    ("becbf647612f3696", "-0.0000033333333333333333"),
    ("43143ff3c1cb0959", "1424953923781206.2"),
]
"""RFC 8785, appendix B: the bits of a double and its text."""

SORTING: dict[str, JsonValue] = {
    "\u20ac": "Euro Sign",
    "\r": "Carriage Return",
    "\ufb33": "Hebrew Letter Dalet With Dagesh",
    "1": "One",
    "\U0001f600": "Emoji: Grinning Face",
    "\u0080": "Control",
    "\u00f6": "Latin Small Letter O With Diaeresis",
}


@pytest.mark.parametrize(("bits", "text"), NUMBERS)
def test_numbers_are_written_as_appendix_b_says(bits: str, text: str) -> None:
    """Each double of the table has the table's text."""
    (value,) = struct.unpack(">d", bytes.fromhex(bits))
    assert canonical(value) == text.encode()


@pytest.mark.parametrize("bits", ["7fffffffffffffff", "7ff0000000000000", "fff0000000000000"])
def test_numbers_that_json_has_not_are_refused(bits: str) -> None:
    """NaN and the infinities are errors, wherever they stand."""
    (value,) = struct.unpack(">d", bytes.fromhex(bits))
    with pytest.raises(UnserialisableValue, match=r"at \$\.a\[1\] of type 'float'.*neither NaN nor infinity"):
        canonical({"a": [1, value]})


def test_the_example_of_section_3_2_2() -> None:
    """The RFC's sample object has the RFC's canonical form."""
    value: JsonValue = {
        "numbers": [333333333.33333329, 1e30, 4.50, 2e-3, 0.000000000000000000000000001],
        "string": "\u20ac$\u000f\u000aA'\u0042\u0022\u005c\\\"/",
        "literals": [None, True, False],
    }
    expected = (
        '{"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],'
        '"string":"€$\\u000f\\nA\'B\\"\\\\\\\\\\"/"}'
    )
    assert canonical(value) == expected.encode()


def _order(data: bytes, values: list[str]) -> list[str]:
    text = data.decode()
    return sorted(values, key=lambda value: text.index(f'"{value}"'))


def test_keys_are_sorted_by_utf_16_code_units() -> None:
    """A key beyond U+FFFF sorts before one from U+E000 on, as section 3.2.3 shows.

    U+FB33 of the RFC's example is not in NFC; U+FB20 stands in its place here.
    """
    value = {("\ufb20" if key == "\ufb33" else key): item for key, item in SORTING.items()}
    assert _order(canonical(value), [str(item) for item in SORTING.values()]) == [
        "Carriage Return",
        "One",
        "Control",
        "Latin Small Letter O With Diaeresis",
        "Euro Sign",
        "Emoji: Grinning Face",
        "Hebrew Letter Dalet With Dagesh",
    ]


def test_keys_are_sorted_after_they_are_normalised() -> None:
    """The RFC's own example: U+FB33 becomes U+05D3 U+05BC, and so stands before the Euro sign."""
    data = canonical(SORTING)
    assert "\u05d3\u05bc".encode() in data
    order = _order(data, [str(item) for item in SORTING.values()])
    assert order.index("Hebrew Letter Dalet With Dagesh") == order.index("Euro Sign") - 1


def test_weird_characters() -> None:
    """Line ends, a script tag, DEL and C1 controls: only what JSON must escape is escaped."""
    value: JsonValue = {
        "\u20ac": "Euro Sign",
        "\r": "Carriage Return",
        "\n": "Newline",
        "1": "One",
        "\u0080": "Control\u007f",
        "\U0001f602": "Smiley",
        "\u00f6": "Latin Small Letter O With Diaeresis",
        "\ufb20": "Hebrew Letter Alternative Ayin",
        "</script>": "Browser Challenge",
    }
    expected = (
        '{"\\n":"Newline","\\r":"Carriage Return","1":"One","</script>":"Browser Challenge",'
        '"\u0080":"Control\u007f","\u00f6":"Latin Small Letter O With Diaeresis","\u20ac":"Euro Sign",'
        '"\U0001f602":"Smiley","\ufb20":"Hebrew Letter Alternative Ayin"}'
    )
    assert canonical(value) == expected.encode()


def test_every_control_character_is_escaped_the_short_way_where_there_is_one() -> None:
    """Below U+0020: the five short forms, else four lower-case hexadecimal digits."""
    short = {8: "\\b", 9: "\\t", 10: "\\n", 12: "\\f", 13: "\\r"}
    for code in range(32):
        expected = short.get(code, f"\\u{code:04x}")
        assert canonical(chr(code)) == f'"{expected}"'.encode()


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ({"a": {"b c": (1,)}}, r"\$\.a\['b c'\] of type 'tuple'"),
        ({1: 2}, r"\$ of type 'int': a key of JSON is a string"),
        ([2**53], r"\$\[0\] of type 'int': an integer of JSON"),
        (["\ud800"], r"\$\[0\] of type 'str': it holds half of a surrogate pair"),
        ({"e\u0301": 1, "\u00e9": 2}, r"two keys are the same"),
    ],
)
def test_what_is_not_json_is_refused_with_its_place(value: JsonValue, message: str) -> None:
    """The error names the path, the type and the reason."""
    with pytest.raises(UnserialisableValue, match=message):
        canonical(value)


def test_a_value_that_contains_itself_is_refused() -> None:
    """A cycle is an error, not the end of the stack."""
    value: list[JsonValue] = []
    value.append(value)
    with pytest.raises(UnserialisableValue, match="more than 64 levels deep, or contains itself"):
        canonical(value)
