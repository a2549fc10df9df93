"""Messages that a unit sends to itself: whoever waits for one goes on right behind its sending, as it did."""

from __future__ import annotations

from collections.abc import Sequence

from tachograph.core.boundary import READY_WAITED
from tachograph.core.replay import Fixture, Step, StreamSteps
from tachograph.replay_workers._places import END, Order, StreamKey


def message_id(sender: StreamKey, number: int) -> str:
    """The id of a stream's n-th message, from 1."""
    return f"{sender[0]}#{sender[1]}/{number}"


def find_mail(order: Order, streams: Sequence[StreamSteps]) -> None:
    """Find the results that are messages of the unit itself and had to be waited for."""
    unheard: list[Step] = []
    for stream in streams:
        for step, fixture in zip(stream.steps, stream.fixtures, strict=True):
            if fixture is None or step.kind != "messages":
                continue
            place = order.arrivals.get((_key(stream), step.number, END))
            if place is not None and fixture.message_id is not None:
                order.mail[fixture.message_id] = place
            elif place is not None and _is_unheard(fixture):
                unheard.append(step)
    if not order.mail and not unheard:
        return
    sends = sorted(send for stream in streams for send in _sends(stream))
    for step in unheard:
        _find_sender(order, step, sends)
    for _, _, sent in sends:
        if sent in order.mail:
            order.mail[sent].mailed = True


def _is_unheard(fixture: Fixture) -> bool:
    """Whether a message came just when nobody wanted to wait for it any more."""
    return fixture.yields <= READY_WAITED


def _sends(stream: StreamSteps) -> list[tuple[int, str, str]]:
    """Clock, receiver and id of every message that a stream sends."""
    sends = [step for step in stream.steps if step.kind == "send"]
    return [(step.hlc, step.name, message_id(_key(stream), number)) for number, step in enumerate(sends, 1)]


def _find_sender(order: Order, step: Step, sends: Sequence[tuple[int, str, str]]) -> None:
    """The first message to an agent that waits for one is what came."""
    place = order.arrivals[(step.agent_id, step.incarnation), step.number, END]
    until = order.hlc[place.index]
    fitting = (one for at, to, one in sends if step.hlc < at < until and to == step.agent_id and one not in order.mail)
    found = next(fitting, None)
    if found is not None:
        order.mail[found] = place


def _key(stream: StreamSteps) -> StreamKey:
    return stream.agent_id, stream.incarnation
