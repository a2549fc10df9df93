"""Sealed bytes open with their key and in their place, and with nothing else; what was taken out goes back exactly."""

from __future__ import annotations

import contextlib
import dataclasses
import itertools

import pytest
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from hypothesis import assume, given
from hypothesis import strategies as st

from tachograph.core.canonical import Digester, JsonValue, encode_body
from tachograph.core.errors import InvalidSetting, SealBroken
from tachograph.core.redaction import DEFAULT_POLICY
from tachograph.core.sealing import BOX_BYTES_MIN, RawPlace, SealedBox, Sealer, bound, derived, put_back, taken_out
from tachograph.stores._aead import aes_gcm

KEYS = st.binary(min_size=32, max_size=32)
TOKENS = Digester(bytes(32))
PLACE = RawPlace("acme", "run-1", "run-1/triage#1.3", "result", bytes(32))

SECRETS = st.sampled_from(["bob@example.org", "4111111111111111", "+49 30 1234567", "sk-ant-REDACTED", "hunter2", ""])
TEXTS = st.one_of(
    st.text(max_size=12),
    st.builds("write to {}, {} or {}".format, SECRETS, SECRETS, SECRETS),
    st.builds('{{"to": "{}"}}'.format, SECRETS),
    st.just("[email:0123456789ab]"),
    st.just('"[secret:0123456789ab]"'),
)
JSON = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), TEXTS, st.just(4111111111111111)),
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.dictionaries(st.one_of(TEXTS, st.sampled_from(["password", "api_key", "token", "note"])), inner, max_size=4),
    ),
    max_leaves=12,
)


def counted() -> Sealer:
    """A sealer under a key of zeros, whose nonces are told apart by counting."""
    numbers = itertools.count()
    return Sealer(bytes(32), aes_gcm, lambda size: next(numbers).to_bytes(size, "big"))


def sealer(key: bytes) -> Sealer:
    """A sealer with one nonce only, which is good for one box."""
    return Sealer(key, aes_gcm, bytes)


@given(key=KEYS, data=st.binary(max_size=200), associated=st.binary(max_size=40))
def test_what_was_sealed_opens(key: bytes, data: bytes, associated: bytes) -> None:
    """With the same key and the same that it is bound to; the bytes themselves are not in it."""
    box = sealer(key).seal(data, associated)
    assert sealer(key).open(box, associated) == data
    assert len(box) == BOX_BYTES_MIN + len(data)
    assert len(data) < 8 or data not in box


@given(key=KEYS, other=KEYS, data=st.binary(max_size=50))
def test_another_key_is_refused_by_its_commitment(key: bytes, other: bytes, data: bytes) -> None:
    """Before anything is decrypted."""
    assume(key != other)
    with pytest.raises(SealBroken, match="another key"):
        sealer(other).open(sealer(key).seal(data, b""), b"")


def test_a_box_opens_under_one_key_only() -> None:
    """AES-GCM alone does not commit to its key: without the commitment, one ciphertext can be made that opens under two.

    Here the ciphertext is made to be authentic under the other key, and the commitment still refuses it.
    """
    key, other = bytes(32), bytes([1]) * 32
    nonce = bytes(12)
    forged = AESGCM(derived(other, b"encrypt")).encrypt(nonce, b"pay 12", b"")
    honest = SealedBox.from_bytes(sealer(key).seal(b"pay 10", b""))
    mixed = dataclasses.replace(honest, nonce=nonce, sealed=forged).to_bytes()
    with pytest.raises(SealBroken, match="another key"):
        sealer(other).open(mixed, b"")
    with pytest.raises(SealBroken, match="was changed"):
        sealer(key).open(mixed, b"")


@given(data=st.binary(max_size=40), bit=st.integers(min_value=0), place=st.binary(max_size=8))
def test_a_flipped_bit_is_noticed(data: bytes, bit: int, place: bytes) -> None:
    """Wherever it is: version, commitment, nonce, ciphertext, tag."""
    box = bytearray(sealer(bytes(32)).seal(data, place))
    bit %= 8 * len(box)
    box[bit // 8] ^= 1 << bit % 8
    with pytest.raises(SealBroken):
        sealer(bytes(32)).open(bytes(box), place)


@given(data=st.binary(max_size=40), size=st.integers(min_value=0))
def test_a_box_cut_short_is_noticed(data: bytes, size: int) -> None:
    """Within the header or behind it."""
    box = sealer(bytes(32)).seal(data, b"")
    with pytest.raises(SealBroken):
        sealer(bytes(32)).open(box[: size % len(box)], b"")


@pytest.mark.parametrize(
    "changed",
    [
        {"tenant": "other"},
        {"run_id": "run-2"},
        {"event_id": "run-1/triage#1.4"},
        {"field": "receipt"},
        {"digest": bytes([1]) * 32},
    ],
)
def test_a_box_opens_in_its_place_only(changed: dict[str, str | bytes]) -> None:
    """Tenant, run, event, field and the redacted body beside it: all are bound."""
    box = counted().seal(b"raw", PLACE.bound())
    with pytest.raises(SealBroken, match="belongs to something else"):
        counted().open(box, dataclasses.replace(PLACE, **changed).bound())  # type: ignore[arg-type]


@given(parts=st.lists(st.text(max_size=3), max_size=4), others=st.lists(st.text(max_size=3), max_size=4))
def test_two_lists_of_parts_are_never_bound_alike(parts: list[str], others: list[str]) -> None:
    """Where one part ends and the next begins counts."""
    assert (bound(*parts) == bound(*others)) == (parts == others)


def test_names_depend_on_key_event_and_field() -> None:
    """And on nothing else, so that a body is found from its event alone."""
    names = {
        PLACE.name(TOKENS),
        PLACE.name(Digester(bytes([1]) * 32)),
        dataclasses.replace(PLACE, event_id="run-1/triage#1.4").name(TOKENS),
        dataclasses.replace(PLACE, field="receipt").name(TOKENS),
    }
    assert len(names) == 4
    assert dataclasses.replace(PLACE, digest=bytes([1]) * 32).name(TOKENS) in names


def test_a_key_that_is_none_is_refused() -> None:
    """And a sealer does not show its key."""
    with pytest.raises(InvalidSetting, match="32 bytes"):
        sealer(b"short")
    assert repr(sealer(bytes(32))) == "Sealer(key=…)"


@given(value=JSON, ordered=st.booleans())
def test_what_redaction_took_out_goes_back(value: JsonValue, ordered: bool) -> None:
    """Byte for byte, whatever was replaced: keys, texts, JSON within texts, numbers."""
    raw = encode_body(value, ordered=ordered)
    redacted, _ = DEFAULT_POLICY.redact(raw, TOKENS)
    assert put_back(redacted, taken_out(raw, redacted)) == raw


@given(raw=st.binary(max_size=80), redacted=st.binary(max_size=80))
def test_any_two_bodies_go_back(raw: bytes, redacted: bytes) -> None:
    """Even such as have nothing to do with each other."""
    taken = taken_out(raw, redacted)
    assert put_back(redacted, taken) == raw
    assert len(taken) % 64 == 0, "the length of what was taken shows"


def test_tokens_that_share_a_quote_go_back() -> None:
    """No JSON looks so, and yet nothing breaks."""
    redacted = b'"[email:0123456789ab]"[email:0123456789ab]"'
    assert put_back(redacted, taken_out(b"raw", redacted)) == b"raw"


@pytest.mark.parametrize("secret", ["bob@example.org", "a-much-longer-name.with.dots@mail.example.org"])
def test_a_long_body_costs_only_what_was_taken_out(secret: str) -> None:
    """One address in a long conversation; and the size does not tell how long the address is."""
    raw = encode_body({"messages": [secret, "words " * 20_000]})
    redacted, _ = DEFAULT_POLICY.redact(raw, TOKENS)
    assert len(taken_out(raw, redacted)) == 64


@given(taken=st.binary(max_size=60), redacted=st.binary(max_size=20))
def test_nonsense_is_refused(taken: bytes, redacted: bytes) -> None:
    """Whatever was sealed, putting it back gives bytes or says that it does not fit."""
    with contextlib.suppress(SealBroken):
        assert type(put_back(redacted, taken)) is bytes
