"""Redaction looks at few payloads closely, and misses none by that; done twice it does no more than once."""

from __future__ import annotations

import json

import orjson
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tachograph.core.canonical import Digester, JsonValue, canonical, decode_body, encode_body
from tachograph.core.redaction import DEFAULT_POLICY
from tachograph.core.redaction._card import cards_in, is_card
from tachograph.core.redaction._patterns import CARD_CANDIDATE, SHAPES
from tachograph.core.redaction._suspicion import is_suspicious, signs_in
from tachograph.core.redaction._tokens import Minter
from tachograph.core.redaction._walk import Walk

DIGESTER = Digester(b"d" * 32)
thorough = settings(print_blob=True, deadline=None, max_examples=400)

PARTS = st.one_of(
    st.sampled_from(
        [
            *("bob@example.com", "a@b.co", "@", "%40", "a%40b.co", "://", "://u:p@h", "redis://:pw@localhost"),
            *("+49 30 1234567", "+1", "4155550123", "(415) 555-0123", "415-555-0123", "0171 1234567", "06 12 34 56 78"),
            *(
                "4111111111111111",
                "4111 1111",
                " 1111 1111",
                "2024-01-15",
                " 10:30",
                "T",
                "0",
                "00",
                "1.5",
                "/",
                "-",
                " ",
            ),
            *(
                "sk-" + "a1b2" * 6,
                "sk-",
                "AKIAIOSFODNN7EXAMPLE",
                "ghp_" + "x9" * 12,
                "eyJ" + "a" * 12 + ".bbbbbb.c",
                "xoxb-",
            ),
            *("Bearer ", "bearer " + "a1" * 9, "Basic dXNlcjpwYXNzd29yZA==", "-----BEGIN PRIVATE KEY-----", "-----END"),
            *("password", "Password", "api_key", "apiKey", "token", "max_token", "secret", "cookie", "authorization"),
            *("session", "private-key", "credentials", "cvv", "AUTH", "pwd", "aws_secret_access_key", "access key"),
            *(
                "=",
                ":",
                ": ",
                " = ",
                '"',
                "'",
                "\\",
                '\\"',
                '":',
                '", ',
                "{",
                "}",
                "[",
                "]",
                ",",
                "\n",
                "\r\n",
                "\t",
                "(",
            ),
            *(
                "word",
                "hunter2",
                "None",
                "e\u0301",
                "\u00e9",
                "\U0001f600",
                "\ud83d",
                "\x00",
                "[secret:",
                "0123456789ab]",
            ),
            *("[email:0123456789ab]", "\\u0040", "\\u0061"),
        ]
    ),
    st.text(max_size=3),
    st.text(st.sampled_from("0123456789 -./()+"), max_size=22),
)
TEXTS = st.lists(PARTS, max_size=8).map("".join)
NAMES = st.one_of(
    TEXTS, st.sampled_from(["name", "value", "key", "header", "token", "logprob", "type", "$ref", "password"])
)


def _within(children: st.SearchStrategy[object]) -> st.SearchStrategy[object]:
    return st.one_of(
        st.lists(children, max_size=3),
        st.dictionaries(NAMES, children, max_size=3),
        st.lists(children, max_size=2).map(tuple),
        st.dictionaries(NAMES | st.integers(), children, max_size=3),
        st.tuples(st.sampled_from(["authorization", "Cookie", "X-Api-Key"]), children).map(list),
    )


LEAVES = st.one_of(
    TEXTS,
    TEXTS.map(lambda text: text.encode("utf-8", "surrogatepass")),
    st.integers(0, 10**19),
    st.sampled_from([4111111111111111, 6011000990139424, 1234]),
    st.none() | st.booleans() | st.floats(),
    st.dictionaries(NAMES, TEXTS, max_size=2).map(json.dumps),
    st.dictionaries(NAMES, TEXTS, max_size=2).map(json.dumps).map(lambda text: json.dumps([text, 1])),
)
VALUES = st.recursive(LEAVES, _within, max_leaves=6)


@thorough
@given(VALUES, st.booleans())
def test_the_quick_look_never_overlooks_what_the_close_look_finds(value: object, ordered: bool) -> None:
    """Whenever the walk replaces something, the bytes were suspicious."""
    data = encode_body(value, ordered=ordered)
    minter = Minter(DIGESTER)
    Walk(minter).value(orjson.loads(data))
    assert is_suspicious(data) or minter.count == 0


@thorough
@given(VALUES, st.booleans())
def test_redacting_twice_is_redacting_once(value: object, ordered: bool) -> None:
    """A replay may get tokens where the recording had values: they stay."""
    once, _ = DEFAULT_POLICY.redact(encode_body(value, ordered=ordered), DIGESTER)
    assert DEFAULT_POLICY.redact(once, DIGESTER) == (once, False)


@thorough
@given(VALUES)
def test_what_comes_out_is_a_canonical_body(value: object) -> None:
    """It decodes, and sorted bodies are what RFC 8785 makes of them."""
    sorted_body, hit = DEFAULT_POLICY.redact(encode_body(value, ordered=False), DIGESTER)
    decode_body(sorted_body)
    decode_body(DEFAULT_POLICY.redact(encode_body(value), DIGESTER)[0])
    if hit:
        parsed: JsonValue = orjson.loads(sorted_body)
        assert canonical(parsed) == sorted_body


@thorough
@given(VALUES)
def test_nothing_is_touched_where_nothing_is_replaced(value: object) -> None:
    """The very same bytes come back, and the flag says so."""
    data = encode_body(value)
    out, hit = DEFAULT_POLICY.redact(data, DIGESTER)
    assert hit == (out != data)


@thorough
@given(TEXTS)
@example("Bearer sk-" + "a1b2" * 6)
@example("password=sk-" + "a1b2" * 6 + " bob@example.com")
def test_texts_are_redacted_once_and_for_all(text: str) -> None:
    """The same for messages and names."""
    once = DEFAULT_POLICY.redact_text(text, DIGESTER)
    assert DEFAULT_POLICY.redact_text(once, DIGESTER) == once


@settings(print_blob=True, deadline=None, max_examples=200)
@given(st.integers(0, 9), st.integers(0, 14))
def test_a_wrong_digit_makes_it_no_card(digit: int, place: int) -> None:
    """Luhn's check digit catches every single wrong digit."""
    card = "4242424242424242"
    wrong = card[:place] + str(digit) + card[place + 1 :]
    assert is_card(wrong) == (wrong == card)


@thorough
@given(TEXTS)
def test_no_shape_is_in_a_text_without_its_sign(text: str) -> None:
    """A pattern that is not tried would not have matched."""
    signs = signs_in(text)
    for shape in SHAPES:
        match = shape.pattern.search(text)
        assert shape.sign in signs or match is None or not shape.confirms(match[match.lastindex or 0])
    assert "number" in signs or not any(cards_in(match[0]) for match in CARD_CANDIDATE.finditer(text))
