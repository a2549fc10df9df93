"""Finding out whether a value that is too deep contains itself, and where."""

from __future__ import annotations

from collections.abc import Iterator
from typing import cast

from tachograph.core.canonical._refusal import Refusal, TooDeep, member


def explained(refusal: TooDeep, value: object) -> Refusal:
    """The refusal itself, or one that names the place where the value contains itself."""
    try:
        _walk(value, set(), set())
    except Refusal as cycle:
        return cycle
    except RecursionError:
        pass
    return refusal


def _walk(value: object, above: set[int], done: set[int]) -> None:
    if type(value) not in (dict, list, tuple) or id(value) in done:
        return
    if id(value) in above:
        raise Refusal(value, "it contains itself")
    above.add(id(value))
    for part, item in _parts(cast("dict[object, object] | list[object] | tuple[object, ...]", value)):
        try:
            _walk(item, above, done)
        except Refusal as refusal:
            raise refusal.under(part) from None
    above.discard(id(value))
    done.add(id(value))


def _parts(value: dict[object, object] | list[object] | tuple[object, ...]) -> Iterator[tuple[str, object]]:
    if isinstance(value, dict):
        return ((member(key), item) for key, item in value.items())
    return ((f"[{index}]", item) for index, item in enumerate(value))
