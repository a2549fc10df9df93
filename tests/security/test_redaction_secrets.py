"""No planted secret survives, wherever it stands; what only looks like one stays."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from decimal import Decimal

import pytest

from tachograph.core.canonical import Digester, decode_body, encode_body
from tachograph.core.errors import InvalidSetting
from tachograph.core.redaction import DEFAULT_POLICY, NO_REDACTION, policy_of

DIGESTER = Digester(b"d" * 32)

JWT = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9PlFUP0THsR8U"
PEM = "-----BEGIN RSA PRIVATE KEY-----\nMIIEpAIBAAKCAQEA7bq6\nq3Zs9x\n-----END RSA PRIVATE KEY-----"

SHAPES = {
    "openai": "sk-proj-4f9a8b7c6d5e4f3a2b1c0d9e8f7a6b5c",
    "anthropic": "sk-ant-api03-AbCdEf0123456789_-xyz",
    "stripe": "sk_" + "live_51H8abcdefGHIJKL",
    "aws": "AKIA" + "IOSFODNN7EXAMPLE",
    "github": "ghp_" + "16C7e42F292c6912E7710c838347Ae178B4a",
    "github fine": "github_pat_" + "11ABCDEFG0abcdefghijkl_mnopqrstuv",
    "gitlab": "glpat-" + "abcdefghij0123456789",
    "slack": "xoxb-" + "123456789012-abcdefghijkl",
    "google": "AIza" + "SyA1234567890abcdefghijklmnopqrstuv",
    "hugging face": "hf_" + "abcdefghijklmnopqrstuvwxyz012345",
    "sendgrid": "SG." + "abcdefghijklmnop.qrstuvwxyz0123456789",
    "jwt": JWT,
    "pem": PEM,
    "email": "jane.doe+claims@mail.example.co.uk",
    "email, foreign": "j\u00fcrgen@b\u00fccher.example",
    "email in a URL": "jane%40example.com",
    "card": "4111 1111 1111 1111",
    "card, dashes": "5500-0055-5555-5559",
    "card, bare": "378282246310005",
    "phone, international": "+49 (0)30 1234567",
    "phone, bare": "+14155550123",
    "phone, American": "(415) 555-0123",
    "phone, dotted": "415.555.0123",
    "phone, with one": "1-800-555-0199",
    "phone, German": "030/1234567",
    "phone, mobile": "0171 1234567",
    "phone, British": "020 7946 0958",
    "phone, French": "06 12 34 56 78",
    "phone, Swiss": "079 123 45 67",
    "phone, Dutch": "06-12345678",
}

NAMES = [
    "authorization",
    "Authorization",
    "Proxy-Authorization",
    "cookie",
    "Set-Cookie",
    "api_key",
    "apikey",
    "apiKey",
    "X-Api-Key",
    "OPENAI_API_KEY",
    "token",
    "access_token",
    "accessToken",
    "refresh_token",
    "id_token",
    "secret",
    "client_secret",
    "password",
    "dbPassword",
    "passwd",
    "passphrase",
    "private_key",
    "aws_secret_access_key",
    "session",
    "credentials",
    "cvv",
]

STAYS = [
    "input_tokens: 120, max_tokens=4096, token_count: 7",
    "order 123-456, invoice 2024-0012345, ticket 20240115103000",
    "2024-01-15 10:30:00.123456+00:00 and 2024-01-15T10:30:00+10:00",
    "Waterford, CT 06385-3823",
    "15.01.2024, 01/15/2024 and 2024/01/15",
    "costs $1,234.56 or 1.234,56 EUR, 1000000 units at 0.123456789",
    "550e8400-e29b-41d4-a716-446655440000",
    "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
    "call_abc123def456ghi789jkl012 chatcmpl-9aBcDeFgHiJkLmNoPqRsTuVwXyZ0",
    "the risk-free desk-booking task-management-system of the ask-me-anything-forum",
    "the secretary keeps the tokenizer, the cookiecutter and the password manager",
    "enter your password: it must be at least eight characters",
    "a basic understanding, the bearer of this letter",
    "lodash@4.17.21, @app.route, user@localhost, pytest@fixture",
    "192.168.178.201:8080, 10.0.0.1, v1.22.333.4444, 978-0-306-40615-7",
    "1700000000 1700000000000 1700000000000000 1700000000000000000",
    "4111 1111 1111 1112 and 1234567890123456",
    "git commit 4f9a8b7c6d5e4f3a2b1c0d9e8f7a6b5c4d3e2f1a",
    "https://example.com/a/b?page=2&limit=100#part",
    "def get_token(self): return self.token",
    "token = get_token() if x else None; password=None",
    "flight HAT001 on 2024-05-20, reservation 4WQ150, certificate_7504069, 3 of 500",
    "12 + 34567890 = 34567902; 5+10000000",
    "-----BEGIN CERTIFICATE----- is public",
]


def redacted(value: object) -> tuple[str, bool]:
    """What is written of a value."""
    data, hit = DEFAULT_POLICY.redact(encode_body(value), DIGESTER)
    return data.decode(), hit


def survives(secret: str, written: str) -> bool:
    """Whether a secret can be read in what was written, escaped or in base64 as well."""
    texts = {secret, json.dumps(secret)[1:-1], json.dumps(json.dumps(secret)[1:-1])[1:-1]}
    texts.add(json.dumps(secret, ensure_ascii=False)[1:-1])
    texts.add(base64.b64encode(secret.encode()).decode().rstrip("=")[:-2])
    return any(text in written for text in texts)


def _packed(value: object, levels: int) -> str:
    return json.dumps(value) if levels == 1 else json.dumps({"inner": _packed(value, levels - 1)})


NESTINGS: dict[str, Callable[[str], object]] = {
    "alone": lambda s: s,
    "in prose": lambda s: f"please use {s} for this, thanks",
    "at the end of a sentence": lambda s: f"It is {s}.",
    "in quotes": lambda s: f'he said "{s}" and left',
    "in brackets": lambda s: f"the value ({s}) or [{s}] or <{s}>",
    "on a line": lambda s: f"first\n{s}\nlast",
    "in a tuple": lambda s: (1, (s,)),
    "in a list of lists": lambda s: [[[[s]]]],
    "in a dict": lambda s: {"a": {"b": [{"c": s}]}},
    "as a key": lambda s: {s: 1},
    "as a key beside odd keys": lambda s: {s: 1, 2: s},
    "in a set": lambda s: {s, "other"},
    "in bytes": lambda s: f"raw {s} bytes".encode(),
    "beside a string that is not normal": lambda s: f"e\u0301 {s}",
    "beside half of a surrogate pair": lambda s: f"\ud83d {s}",
    "in JSON in a string": lambda s: json.dumps({"to": [s], "n": 1}),
    "in JSON in JSON": lambda s: json.dumps({"arguments": json.dumps({"to": s})}),
    "in JSON in a tool call": lambda s: {"function": {"arguments": json.dumps({"to": s})}},
    "in Python text": lambda s: repr({"to": s, "n": (1, None)}),
    "in a traceback": lambda s: f"ValueError: cannot use {s!r} here",
    "in CSV": lambda s: f"12,{s},12/27\nx,{s},",
    "behind a colon": lambda s: f"x:{s};y",
    "in JSON five levels deep": lambda s: _packed({"to": s}, 5),
    "in a dict with a dollar": lambda s: {"$ref": s},
}


@pytest.mark.parametrize("nesting", NESTINGS)
@pytest.mark.parametrize("shape", SHAPES)
def test_secrets_are_known_by_their_shape_in_any_nesting(shape: str, nesting: str) -> None:
    """Keys, tokens, addresses and numbers are replaced wherever they stand."""
    secret = SHAPES[shape]
    written, hit = redacted(NESTINGS[nesting](secret))
    assert hit, written
    assert not survives(secret, written)


@pytest.mark.parametrize("name", NAMES)
def test_secrets_are_known_by_their_name(name: str) -> None:
    """Whatever stands under the name, in structures, in JSON in strings, in text and in headers."""
    secret = "correct-Horse 9 battery"
    word = "correctHorse9battery"
    values: list[object] = [
        {name: secret},
        {"a": [{name: [secret, {"x": secret}]}]},
        {name: (secret,)},
        {name: secret, 1: 2},
        {name: {1: secret}},
        {name: secret.encode()},
        {name: Decimal("81924.75"), "x": 1},
        {name: "e\u0301" + secret},
        json.dumps({name: secret}),
        json.dumps({"arguments": json.dumps({name: {"x": secret}})}),
        f"headers: {{'{name}': '{secret}'}}",
        f'{{"truncated": 1, "{name}": "{secret}", "x',
        f"{name}={word}",
        f"run --{name}={word} now",
        f"https://example.com/?a=1&{name}={word}&b=2",
        f"{name}: {word}",
        {"name": name, "value": secret},
        _packed({name: secret}, 5),
        [json.dumps(f'{name}="{secret}"')],
        {"value": secret, "name": name},
    ]
    for value in values:
        written, hit = redacted(value)
        assert hit, value
        for part in (secret, word, "81924", "correct-Horse", base64.b64encode(secret.encode()).decode()):
            assert part not in written, value


@pytest.mark.parametrize(
    "value",
    [
        "Authorization: Bearer abc\nAccept: */*",
        "cookie: sid=abc; theme=dark",
        [["authorization", "Bearer abc"], ["accept", "*/*"]],
        [("Set-Cookie", "sid=abc")],
        {"authorization": {"scheme": "x", "value": "abc"}},
        "redis://:abc@localhost:6379/0",
        "postgres://me:abc@db.internal/x",
        "Bearer abc0123456789abcdef",
        "Basic " + base64.b64encode(b"me:abc-and-more").decode(),
        b"token=abc",
    ],
    ids=repr,
)
def test_headers_and_urls(value: object) -> None:
    """Headers as text, as pairs and as dicts; passwords in URLs; schemes in prose."""
    written, hit = redacted(value)
    assert hit
    assert "abc" not in written
    assert "bWU6YWJj" not in written


def test_numbers_can_be_secrets() -> None:
    """A card number is one as a number, too, and so is a PIN under a secret's name."""
    for value in (4111111111111111, [6304000000000000], {"password": 1234}, {"n": {"cvv": 987.5}}):
        written, hit = redacted(value)
        assert hit
        assert not any(text in written for text in ("411111", "630400", "1234", "987"))


@pytest.mark.parametrize("text", STAYS)
def test_what_only_looks_like_a_secret_stays(text: str) -> None:
    """In a value, in prose, in JSON in a string; not a byte changes."""
    for value in (text, {"x": [text]}, json.dumps({"x": text}), {text: 1}):
        data = encode_body(value)
        assert DEFAULT_POLICY.redact(data, DIGESTER) == (data, False)


@pytest.mark.parametrize(
    "value",
    [
        {"usage": {"input_tokens": 12, "output_tokens": 3, "total_tokens": 15, "cache_read_input_tokens": 0}},
        {"max_tokens": 1024, "token_count": 5, "next_page_token": "abc", "stop_token": "</s>", "author": "jane"},
        {"logprobs": [{"token": "Hello", "logprob": -0.25, "bytes": [72]}]},
        {"password": {"type": "string", "description": "chosen by the user"}, "required": ["password", "email"]},
        {"password": None, "secret": "", "session": True, "token": []},
        {"id": 1234567890123456, "created": 1700000000, "amount": 4111.11},
        [["token", "x"], ["a", "b"]],
    ],
    ids=repr,
)
def test_structures_that_only_look_like_secrets_stay(value: object) -> None:
    """Counts of tokens, log probabilities, schemas, empty values, ids."""
    data = encode_body(value)
    assert DEFAULT_POLICY.redact(data, DIGESTER) == (data, False)


def test_a_token_says_what_it_stands_for_and_is_stable() -> None:
    """Same value, same token, wherever it stands, under one key; under another key another one."""
    value = {"a": "mail bob@example.com", "b": ["bob@example.com", "eve@example.com"], "password": "sesame"}
    data, _ = DEFAULT_POLICY.redact(encode_body(value), DIGESTER)
    out = decode_body(data)
    assert isinstance(out, dict)
    assert out["a"] == f"mail {out['b'][0]}"
    assert out["b"][0] != out["b"][1]
    assert out["b"][0].startswith("[email:")
    assert out["password"].startswith("[secret:")
    assert DEFAULT_POLICY.redact(encode_body(value), DIGESTER)[0] == data
    assert DEFAULT_POLICY.redact(encode_body(value), Digester(b"e" * 32))[0] != data


def test_a_token_does_not_give_its_value_away() -> None:
    """It is keyed: without the key nobody can try values."""
    plain, _ = redacted("bob@example.com")
    assert plain != DEFAULT_POLICY.redact(encode_body("bob@example.com"), Digester(bytes(32)))[0].decode()


def test_json_in_a_string_keeps_its_style() -> None:
    """A tool call's arguments change only where something is replaced."""
    for style in ({}, {"separators": (",", ":")}, {"ensure_ascii": False}):
        text = json.dumps({"to": "bob@example.com", "body": "caf\u00e9", "n": 1.50}, **style)
        out = decode_body(redacted({"arguments": text})[0].encode())
        assert isinstance(out, dict)
        token = json.loads(out["arguments"])["to"]
        assert out["arguments"] == text.replace("bob@example.com", token)


def test_the_order_of_dicts_and_their_types_survive_redaction() -> None:
    """What is not secret comes back as it was; sorted bodies stay sorted."""
    value = {"z": (1, 2.0), "a": "bob@example.com", "m": {3: b"x"}}
    out = decode_body(redacted(value)[0].encode())
    assert isinstance(out, dict)
    assert list(out) == ["z", "a", "m"]
    assert out["z"] == (1, 2.0)
    assert out["m"] == {3: b"x"}
    data, _ = DEFAULT_POLICY.redact(encode_body({"b": 1, "zoe@example.com": 2}, ordered=False), DIGESTER)
    assert data.startswith(b'{"[email:')


def test_exception_messages_and_names() -> None:
    """Running text is redacted by the same rules, also where it holds what no encoding takes."""
    text = DEFAULT_POLICY.redact_text("login of bob@example.com failed: password=sesame9 \ud83d", DIGESTER)
    assert "bob@" not in text
    assert "sesame9" not in text
    assert text.startswith("login of [email:")
    assert DEFAULT_POLICY.redact_text("lookup failed: no row 12", DIGESTER) == "lookup failed: no row 12"
    assert DEFAULT_POLICY.redact_text('{"to": "bob\\u0040example.com"}', DIGESTER) != '{"to": "bob\\u0040example.com"}'


def test_escapes_in_json_in_strings_hide_nothing() -> None:
    """An escaped at sign is one once decoded, and a name can be spelt with escapes."""
    for text in ('{"to": "bob\\u0040example.com"}', '{"p\\u0061ssword": "sesame"}', '["\\u002b14155550123"]'):
        written, hit = redacted({"arguments": text})
        assert hit
        assert "bob" not in written
        assert "sesame" not in written
        assert "14155550123" not in written


def test_the_deepest_payload_is_redacted() -> None:
    """64 levels, each of the kind that takes most room."""
    value: object = "bob@example.com"
    for level in range(64):
        value = {level: value} if level % 2 else (value,)
    written, hit = redacted(value)
    assert hit
    assert "bob" not in written


def test_no_redaction_and_unknown_versions() -> None:
    """Policies are found by the version that a run was recorded under."""
    data = encode_body({"password": "sesame"})
    assert NO_REDACTION.redact(data, DIGESTER) == (data, False)
    assert NO_REDACTION.redact_text("password=sesame", DIGESTER) == "password=sesame"
    assert policy_of("default/1") is DEFAULT_POLICY
    assert policy_of("none/1") is NO_REDACTION
    with pytest.raises(InvalidSetting, match="'default/9': known are default/1, none/1"):
        policy_of("default/9")
