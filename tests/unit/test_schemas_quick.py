"""Classes that are quick to make are the frozen data classes that they were."""

from __future__ import annotations

import inspect
from dataclasses import FrozenInstanceError, dataclass, replace

import pytest

from tachograph.schemas import quick


@quick
@dataclass(frozen=True, slots=True)
class Point:
    """A point."""

    x: int
    y: int = 2
    name: str | None = None


def test_an_instance_is_made_from_the_same_arguments() -> None:
    """By position and by name, with the same defaults, and nothing else."""
    assert Point(1) == Point(x=1, y=2, name=None) == replace(Point(5), x=1)
    assert [*inspect.signature(Point).parameters] == ["x", "y", "name"]
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'x'"):
        Point()  # type: ignore[call-arg]


def test_an_instance_stays_frozen() -> None:
    """Its class, its text, its hash and its fields are a frozen data class's."""
    point = Point(1)
    assert type(point) is Point
    assert repr(point) == "Point(x=1, y=2, name=None)"
    assert hash(point) == hash(Point(1))
    with pytest.raises(FrozenInstanceError):
        point.x = 3  # type: ignore[misc]
