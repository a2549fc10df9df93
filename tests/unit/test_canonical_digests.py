"""Digests are HMAC-SHA-256; bodies share what they have in common and are checked on the way back."""

from __future__ import annotations

import hashlib
import hmac
import random
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

from tachograph.core.canonical import INLINE_BYTES_MAX, Digester, body_keys, encode_body, make_body, read_body
from tachograph.core.errors import InvalidSetting, MissingBody
from tachograph.core.testing import MemoryObjects
from tachograph.schemas import Body

DIGESTER = Digester(b"k" * 32)


@pytest.mark.parametrize("key_bytes", [16, 32, 64, 65, 200])
def test_a_digest_is_an_hmac(key_bytes: int) -> None:
    """For keys shorter and longer than SHA-256's block."""
    key = bytes(range(key_bytes))
    for data in (b"", b"x", b"y" * 1000):
        assert Digester(key).digest(data) == hmac.new(key, data, hashlib.sha256).digest()


def test_a_short_key_is_refused_and_no_key_is_ever_shown() -> None:
    """A key that can be guessed is no key; repr and errors do not show one."""
    with pytest.raises(InvalidSetting, match="at least 16 bytes") as caught:
        Digester(b"secret")
    assert "secret" not in str(caught.value)
    assert "kkk" not in repr(DIGESTER)


def test_a_digester_may_be_shared_between_threads() -> None:
    """Threads that digest at once get what one gets alone."""
    inputs = [bytes([number]) * 50_000 for number in range(64)]
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(DIGESTER.digest, inputs)) == [DIGESTER.digest(data) for data in inputs]


def _store(data: bytes, objects: MemoryObjects) -> tuple[Body, int]:
    """The body, and how many bytes were new."""
    body, puts = make_body(data, redacted=False, digester=DIGESTER)
    new = {key: chunk for key, chunk in puts if objects.get(key) is None}
    for key, chunk in puts:
        assert DIGESTER.digest(chunk) == key
        objects.put(key, chunk)
    return body, sum(len(chunk) for chunk in new.values())


def _prose(source: random.Random, size: int) -> str:
    words: list[str] = []
    while sum(map(len, words)) + len(words) < size:
        words.append("".join(source.choices("etaoinshrdlucmfw", k=source.randint(2, 9))))
        if source.random() < 0.1:
            words[-1] += "."
    return " ".join(words)


def test_small_bodies_lie_in_their_event() -> None:
    """Up to 16 KiB nothing is stored beside the event."""
    data = b'"' + b"a" * (INLINE_BYTES_MAX - 2) + b'"'
    body, puts = make_body(data, redacted=True, digester=DIGESTER)
    assert (body.inline, body.chunks, body.size, body.redacted, puts) == (data, (), len(data), True, ())
    assert read_body(body, MemoryObjects(), DIGESTER, "e") == data
    assert make_body(data + b" ", redacted=False, digester=DIGESTER)[0].inline is None


def _conversation(source: random.Random, calls: int, new_bytes: int) -> Iterator[list[dict[str, object]]]:
    messages: list[dict[str, object]] = [{"role": "system", "content": _prose(source, 3000)}]
    for call in range(calls):
        share = source.randint(1, 3) * new_bytes // 4
        messages.append({"role": "user" if call % 2 else "tool", "content": _prose(source, share)})
        messages.append({"role": "assistant", "content": _prose(source, new_bytes - share)})
        yield messages


TOOLS = [{"name": f"tool{number}", "description": "what it does, and when; " * (number + 3)} for number in range(30)]

SHAPES: dict[str, tuple[float, Callable[[list[dict[str, object]]], object]]] = {
    "as they are": (1.1, lambda messages: {"messages": messages, "model": "m"}),
    "before a long tail": (1.1, lambda messages: {"messages": messages, "model": "m", "tools": TOOLS}),
    "in parts": (1.1, lambda messages: [{"content": [{"type": "text", "text": m["content"]}]} for m in messages]),
    "as a list of texts": (1.3, lambda messages: [message["content"] for message in messages]),
    "as one text": (1.3, lambda messages: "\n".join(str(message["content"]) for message in messages)),
}
"""How a caller may hand over a conversation, and what storing it may cost relative to what is new."""


@pytest.mark.parametrize(("shape", "ordered"), [*((shape, True) for shape in SHAPES), ("as they are", False)])
def test_a_growing_conversation_is_stored_once(shape: str, ordered: bool) -> None:
    """100 calls over a conversation growing to 800 KB store little more than what is new, references included."""
    source = random.Random(7)
    bar, made = SHAPES[shape]
    objects = MemoryObjects()
    stored = 0
    data = b""
    for messages in _conversation(source, 100, 8000):
        data = encode_body(made(messages), ordered=ordered)
        body, new = _store(data, objects)
        stored += new + (len(body.inline) if body.inline is not None else 32 * len(body.chunks))
    assert read_body(body, objects, DIGESTER, "e") == data
    assert len(data) > 800_000
    assert stored / len(data) < bar


def test_an_insertion_moves_only_the_cuts_near_it() -> None:
    """A message inserted in the middle adds little more than itself."""
    source = random.Random(3)
    *_, messages = _conversation(source, 50, 8000)
    objects = MemoryObjects()
    _store(encode_body(messages), objects)
    inserted = {"role": "user", "content": _prose(source, 500)}
    _, new = _store(encode_body([*messages[:40], inserted, *messages[40:]]), objects)
    assert new < 40_000


def test_a_lost_or_damaged_object_is_named() -> None:
    """Every object of a body is needed, and every byte of it."""
    data = encode_body([_prose(random.Random(1), 1000) for _ in range(200)])
    objects = MemoryObjects()
    body, _ = _store(data, objects)
    for key in list(objects.keys()):
        original = objects.get(key)
        assert original is not None
        for damaged in (None, original + b" ", original[:-1], b"", b"x" + original[1:]):
            objects.replace(key, damaged)
            with pytest.raises(MissingBody, match=f"body {body.digest.hex()} of event r/a#1.2 .*{key.hex()}"):
                read_body(body, objects, DIGESTER, "r/a#1.2")
            objects.put(key, original)
            objects.replace(key, original)
    assert read_body(body, objects, DIGESTER, "e") == data


def test_a_body_that_lies_about_itself_is_refused() -> None:
    """Size, digest and the order of chunks are checked, inline and in chunks."""
    objects = MemoryObjects()
    for data in (b'"short"', encode_body([_prose(random.Random(1), 1000) for _ in range(40)])):
        body, _ = _store(data, objects)
        for lie in (
            replace(body, size=body.size + 1),
            replace(body, size=body.size - 1),
            replace(body, digest=bytes(32)),
            replace(body, chunks=body.chunks[::-1]) if body.inline is None else replace(body, inline=b'"SHORT"'),
        ):
            with pytest.raises(MissingBody, match="of event e "):
                read_body(lie, objects, DIGESTER, "e")


def test_every_object_of_a_body_can_be_found() -> None:
    """`body_keys` opens groups: it names the chunks, which make up the body."""
    data = encode_body([_prose(random.Random(1), 1000) for _ in range(400)])
    objects = MemoryObjects()
    body, _ = _store(data, objects)
    keys = list(body_keys(body, objects, DIGESTER, "e"))
    assert len(body.chunks) < len(keys) / 2
    assert b"".join(objects.get(key) or b"" for key in keys) == data
