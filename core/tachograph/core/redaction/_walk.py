"""Redaction of the JSON of a body: names, typed tags, JSON within strings, and running text."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable
from typing import cast

from tachograph.core.canonical import JsonValue, tagged_text
from tachograph.core.redaction._card import is_card
from tachograph.core.redaction._keys import is_secret_header, is_secret_key
from tachograph.core.redaction._text import SHORT, redact_running
from tachograph.core.redaction._tokens import TOKEN, Minter

_NESTING_MAX = 6
"""JSON within strings within JSON …: deeper levels are redacted as running text."""

_SCHEMA_TYPES = frozenset({"string", "number", "integer", "boolean", "object", "array", "null"})
_SCHEMA_WORDS = frozenset(
    {
        *("type", "title", "description", "format", "pattern", "nullable", "writeOnly", "readOnly", "deprecated"),
        *("minLength", "maxLength", "minimum", "maximum", "minItems", "maxItems", "items", "properties", "required"),
        *("additionalProperties", "anyOf", "oneOf", "allOf", "$ref"),
    }
)
_ITEMS = ("$tuple", "$set", "$frozenset")
_OPAQUE = ("$decimal", "$uuid", "$datetime", "$date", "$time", "$timedelta", "$float")


class Walk:
    """Redacts one payload."""

    __slots__ = ("_minter", "_nesting")

    def __init__(self, minter: Minter) -> None:
        self._minter = minter
        self._nesting = 0

    def value(self, value: JsonValue) -> JsonValue:
        """A redacted copy."""
        if type(value) is str:
            return self.text(value)
        if type(value) is dict:
            return self._object(value)
        if type(value) is list:
            return self._list(value)
        if type(value) is int:
            return self._minter.token("card", str(value)) if is_card(str(value)) else value
        return value

    def text(self, text: str) -> str:
        """A redacted text; JSON in it is redacted as JSON."""
        if len(text) < SHORT and text.isidentifier():
            return text
        if text.lstrip()[:1] in ("{", "[") and self._nesting < _NESTING_MAX:
            inner = self._json(text)
            if inner is not None:
                return inner
        return redact_running(text, self._minter)

    def _json(self, text: str) -> str | None:
        try:
            value = cast("JsonValue", json.loads(text))
        except (ValueError, RecursionError):
            return None
        before = self._minter.count
        self._nesting += 1
        try:
            redacted = self.value(value)
        finally:
            self._nesting -= 1
        return text if self._minter.count == before else _written_like(text, value, redacted)

    def _list(self, values: list[JsonValue]) -> list[JsonValue]:
        if len(values) == 2 and type(values[0]) is str and is_secret_header(values[0]):
            return [values[0], self._secret(values[1])]
        return [self.value(item) for item in values]

    def _object(self, value: dict[str, JsonValue]) -> JsonValue:
        if len(value) == 1:
            tag, content = next(iter(value.items()))
            if tag[:1] == "$":
                return self._tagged(tag, content)
        named = _named_secret(value)
        return {
            self.text(key): self._secret(item) if key == named else self._member(key, item, value)
            for key, item in value.items()
        }

    def _member(self, key: str, item: JsonValue, siblings: Iterable[str] = ()) -> JsonValue:
        if not is_secret_key(key) or (key == "token" and "logprob" in siblings):
            return self.value(item)
        if type(item) is dict and _is_schema(item):
            return self.value(item)
        return self._secret(item)

    def _secret(self, value: JsonValue) -> JsonValue:
        """What stands under a secret's name: every text and number in it is one."""
        if value is None or type(value) is bool or value == "":
            return value
        if type(value) is list:
            return [self._secret(item) for item in value]
        if type(value) is dict:
            return self._secret_object(value)
        if type(value) is str:
            return value if TOKEN.fullmatch(value) else self._minter.token("secret", value)
        return self._minter.token("secret", str(value))

    def _secret_object(self, value: dict[str, JsonValue]) -> JsonValue:
        if len(value) == 1:
            tag, content = next(iter(value.items()))
            if tag in _ITEMS:
                return {tag: self._secret(content)}
            if tag == "$dict":
                pairs = cast("list[list[JsonValue]]", content)
                return {tag: [[self.value(key), self._secret(item)] for key, item in pairs]}
            if tag == "$object":
                name, plain = cast("list[JsonValue]", content)
                return {tag: [name, self._secret(plain)]}
            if tag[:1] == "$":
                return self._minter.token("secret", str(content))
        return {self.text(key): self._secret(item) for key, item in value.items()}

    def _tagged(self, tag: str, content: JsonValue) -> JsonValue:
        if tag in _OPAQUE:
            return {tag: content}
        if tag in ("$str", "$bytes", "$bytearray", "$int"):
            return self._scalar(tag, content)
        if tag == "$dict":
            return {tag: [self._pair(pair) for pair in cast("list[list[JsonValue]]", content)]}
        if tag == "$object":
            name, plain = cast("list[JsonValue]", content)
            return {tag: [name, self.value(plain)]}
        return {tag: self.value(content)}

    def _scalar(self, tag: str, content: JsonValue) -> JsonValue:
        if tag == "$str":
            return self._escaped(content)
        return self._integer(content) if tag == "$int" else self._bytes(tag, content)

    def _pair(self, pair: list[JsonValue]) -> list[JsonValue]:
        key, item = pair
        plain = _plain_key(key)
        return [self.value(key), self.value(item) if plain is None else self._member(plain, item)]

    def _escaped(self, content: JsonValue) -> JsonValue:
        text = str(content).encode("ascii", "replace").decode("unicode_escape")
        return tagged_text(self.text(text))

    def _bytes(self, tag: str, content: JsonValue) -> JsonValue:
        """Bytes that are text are redacted as text."""
        try:
            text = base64.b64decode(str(content), validate=True).decode()
        except ValueError:
            return {tag: content}
        redacted = self.text(text)
        return {tag: content if redacted == text else base64.b64encode(redacted.encode()).decode("ascii")}

    def _integer(self, content: JsonValue) -> JsonValue:
        return self._minter.token("card", str(content)) if is_card(str(content)) else {"$int": content}


def _plain_key(key: JsonValue) -> str | None:
    if type(key) is str:
        return key
    if type(key) is dict and type(content := key.get("$str")) is str:
        return content
    return None


def _named_secret(value: dict[str, JsonValue]) -> str | None:
    """The key `value` of `{"name": "Authorization", "value": …}`."""
    if "value" not in value:
        return None
    names = [value.get(key) for key in ("name", "key", "header")]
    return "value" if any(type(name) is str and is_secret_key(name) for name in names) else None


def _is_schema(value: dict[str, JsonValue]) -> bool:
    """Whether this describes a value (JSON Schema) instead of holding one."""
    kind = value.get("type")
    kinds = kind if type(kind) is list else [kind]
    return all(type(item) is str and item in _SCHEMA_TYPES for item in kinds) and _SCHEMA_WORDS.issuperset(value)


def _written_like(text: str, value: JsonValue, redacted: JsonValue) -> str:
    """JSON in the style that the original was written in."""
    for separators in ((", ", ": "), (",", ":")):
        for escaped in (True, False):
            if json.dumps(value, separators=separators, ensure_ascii=escaped) == text:
                return json.dumps(redacted, separators=separators, ensure_ascii=escaped)
    indent = 2 if "\n" in text else None
    return json.dumps(redacted, indent=indent, ensure_ascii=False)
