"""The recorded order of a unit in a frame's header: whoever has the whole recording makes it, the child gets it ready."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from typing import cast

from tachograph.replay_workers._places import FiredTimer, Order, Place
from tachograph.replay_workers._wire import Frame, Json

_PLAIN = tuple(field.name for field in fields(Place) if field.name not in ("signal", "timer"))
"""Fields of a place that say what was recorded, but for its timer."""


def order_json(order: Order, timers: Sequence[FiredTimer]) -> Frame:
    """An order that nothing has happened in yet."""
    agents = {agent_id: number for number, agent_id in enumerate(dict.fromkeys(order.agents))}
    numbers = {timer: number for number, timer in enumerate(timers)}
    places = [place for place in order.places if place is not None]
    return {
        "begins": [[*key, cast("Json", indexes)] for key, indexes in order.begins.items()],
        "names": list(agents),
        "agents": [agents[agent_id] for agent_id in order.agents],
        "hlc": cast("Json", order.hlc),
        "at": cast("Json", order.at),
        "places": [[getattr(place, name) for name in _PLAIN] for place in places],
        "timers": [[place.index, numbers[place.timer]] for place in places if place.timer is not None],
        "arrivals": [[*key, number, piece, place.index] for (key, number, piece), place in order.arrivals.items()],
        "mail": [[message_id, [place.index for place in receivers]] for message_id, receivers in order.mail.items()],
    }


def order_from(header: Frame, timers: Sequence[FiredTimer]) -> Order:
    """The inverse of `order_json`."""
    raw = cast("dict[str, list[list[object]]]", header)
    names, hlc, at = cast("list[str]", header["names"]), cast("list[int]", header["hlc"]), header["at"]
    places: list[Place | None] = [None] * len(hlc)
    for row in raw["places"]:
        place = Place(**dict(zip(_PLAIN, row, strict=True)))  # type: ignore[arg-type]  # our own frame
        places[place.index] = place
    for index, number in cast("list[tuple[int, int]]", raw["timers"]):
        _there(places, index).timer = timers[number]
    order = Order(
        places, {}, [names[number] for number in cast("list[int]", header["agents"])], hlc, cast("list[float]", at)
    )
    for agent_id, incarnation, indexes in cast("list[tuple[str, int, list[int]]]", raw["begins"]):
        order.begins[agent_id, incarnation] = indexes
    for agent_id, incarnation, number, piece, index in cast("list[tuple[str, int, int, int, int]]", raw["arrivals"]):
        order.arrivals[(agent_id, incarnation), number, piece] = _there(places, index)
    for message_id, receivers in cast("list[tuple[str, list[int]]]", raw["mail"]):
        order.mail[message_id] = [_there(places, index) for index in receivers]
    return order


def _there(places: Sequence[Place | None], index: int) -> Place:
    place = places[index]
    assert place is not None
    return place
