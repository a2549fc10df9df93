"""Messages that a unit sends to itself: whoever waits for one goes on right behind its sending, as it did."""

from __future__ import annotations

from collections.abc import Sequence

from tachograph.core.replay import Step, StreamSteps
from tachograph.replay_workers._places import END, Order, Place, StreamKey, came_when_cancelled


def message_id(sender: StreamKey, number: int) -> str:
    """The id of a stream's n-th message, from 1."""
    return f"{sender[0]}#{sender[1]}/{number}"


def find_mail(order: Order, streams: Sequence[StreamSteps]) -> None:
    """Find the results that are messages of the unit itself and had to be waited for."""
    unheard: list[tuple[Step, Place]] = []
    for stream in streams:
        for step, fixture in zip(stream.steps, stream.fixtures, strict=True):
            if fixture is None or step.kind != "messages":
                continue
            place = order.arrivals.get((_key(stream), step.number, END))
            if place is not None and fixture.message_id is not None:
                order.mail[fixture.message_id] = [place]
            elif place is not None and came_when_cancelled(fixture.yields):
                unheard.append((step, place))
    if not order.mail and not unheard:
        return
    sends = sorted(send for stream in streams for send in _sends(stream))
    for step, place in sorted(unheard, key=lambda one: one[1].index):
        _find_sender(order, step, place, sends)
    for _, _, sent in sends:
        for place in order.mail.get(sent, ()):
            place.mailed = True


def _sends(stream: StreamSteps) -> list[tuple[int, str, str]]:
    """Clock, receiver and id of every message that a stream sends."""
    sends = [step for step in stream.steps if step.kind == "send"]
    return [(step.hlc, step.name, message_id(_key(stream), number)) for number, step in enumerate(sends, 1)]


def _find_sender(order: Order, step: Step, place: Place, sends: Sequence[tuple[int, str, str]]) -> None:
    """The first message to an agent that waits for one is what came; whoever waits next may have got it then."""
    until = order.hlc[place.index]
    for at, to, sent in sends:
        takers = order.mail.get(sent, [])
        if step.hlc < at < until and to == step.agent_id and (not takers or takers[-1].index > place.index):
            order.mail[sent] = sorted([*takers, place], key=lambda taker: taker.index)
            place.given_back = sent
            return


def _key(stream: StreamSteps) -> StreamKey:
    return stream.agent_id, stream.incarnation
