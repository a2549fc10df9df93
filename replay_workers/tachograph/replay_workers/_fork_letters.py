"""Which message of which agent answered each recorded `receive`, and which one of a fork stands for it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping

from tachograph.replay_workers._fork_change import CallKey, Letter, Sent
from tachograph.replay_workers._fork_draft import Draft
from tachograph.replay_workers._places import StreamKey
from tachograph.schemas import Event, MessageReceived, MessageSent

Pair = tuple[str, str]
"""(sender, receiver)."""


def letters_of(events: Iterable[Event]) -> dict[CallKey, Letter]:
    """For each recorded `receive` whose sender was recorded: its message."""
    numbers: dict[tuple[StreamKey, int], int] = {}
    counts: defaultdict[Pair, int] = defaultdict(int)
    receptions: list[MessageReceived] = []
    for event in sorted(events, key=lambda event: event.meta.hlc):
        meta = event.meta
        if isinstance(event, MessageSent):
            pair = (meta.agent_id, event.to_agent_id)
            numbers[(meta.agent_id, meta.incarnation), meta.seq] = counts[pair]
            counts[pair] += 1
        elif isinstance(event, MessageReceived):
            receptions.append(event)
    found: dict[CallKey, Letter] = {}
    for event in receptions:
        for cause in event.meta.causes:
            sender = (cause.agent_id, cause.incarnation)
            number = numbers.get((sender, cause.seq))
            if number is not None:
                key = (event.meta.agent_id, event.meta.incarnation, event.call_id)
                found[key] = Letter(sender, cause.seq, number)
    return found


def sent_by(own: StreamKey, drafts: Iterable[Draft]) -> list[Sent]:
    """The messages that a unit sent in the fork; `own` is its own stream, whose first event is no draft."""
    seqs: defaultdict[StreamKey, int] = defaultdict(int, {own: 1})
    counts: defaultdict[Pair, int] = defaultdict(int)
    found: list[Sent] = []
    for draft in drafts:
        seqs[draft.stream] += 1
        body = draft.bodies.get("body")
        if draft.type == "MessageSent" and body is not None:
            pair = (draft.stream[0], str(draft.fields["to_agent_id"]))
            message_id = str(draft.fields["message_id"])
            place = (draft.stream, seqs[draft.stream])
            found.append(Sent(*pair, counts[pair], message_id, body.data, body.redacted, *place, draft.origin))
            counts[pair] += 1
    return found


def others(letters: Mapping[CallKey, Letter], sent: Iterable[Sent]) -> dict[CallKey, Sent]:
    """For each recorded `receive` the fork's message, where it is another one than the recorded."""
    by_number = {(one.from_agent_id, one.to_agent_id, one.number): one for one in sent}
    found: dict[CallKey, Sent] = {}
    for key, letter in letters.items():
        one = by_number.get((letter.sender[0], key[0], letter.number))
        if one is not None and (one.stream, one.origin) != (letter.sender, letter.seq):
            found[key] = one
    return found
