"""What a restarted agent takes over from its earlier, dead incarnation."""

from __future__ import annotations

from tachograph.producers._directory import DirectoryTransport
from tachograph.producers._life import Life
from tachograph.schemas import MessageReceived, decode


def recover_messages(life: Life, run_id: str, agent_id: str, incarnation: int) -> int:
    """Offer the messages again that the dead process had taken and did not come to record; returns how many.

    An agent is lived by one process at a time: who joins as the next incarnation says that the one before is over.
    """
    transport = life.transport
    if incarnation == 1 or not isinstance(transport, DirectoryTransport):
        return 0
    received: set[str] = set()
    for stored in life.home.log.read_run(run_id):
        event = decode(stored.payload)
        if isinstance(event, MessageReceived) and event.meta.agent_id == agent_id:
            received.add(event.message_id)
    return transport.recover(run_id, agent_id, frozenset(received))
