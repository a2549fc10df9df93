"""Any histories, and any orders in which their events may come."""

from __future__ import annotations

from hypothesis import strategies as st

from histories import history
from tachograph.schemas import Event

AGENTS = ("a", "b", "c")
KEYS = ("k1", "k2", "-")
ENDS = ("EXECUTING", "CONFIRMED", "RECEIPTED", "FAILED", "UNKNOWN", "REFUSED")


@st.composite
def plain(draw: st.DrawFn) -> str:
    """Something that an agent does by itself."""
    number = draw(st.integers(0, 1))
    statements = [
        f"tool f({draw(st.integers(0, 1))}) = {number}",
        f"state {draw(st.sampled_from('xy'))} = {number}",
        "unrecorded g(1) socket",
        f"approve {draw(st.sampled_from('xy'))} {draw(st.sampled_from(['yes', 'no', 'yes until 9']))}",
        f"retrieve rules v{number}",
        f"versioned g(1) v{number}",
    ]
    return draw(st.sampled_from(statements))


@st.composite
def histories(draw: st.DrawFn) -> list[Event]:
    """A random run of up to three agents."""
    statements = ["run start", *(f"{agent} open" for agent in AGENTS)]
    sent = 0
    received = 0
    unknown = False
    for _ in range(draw(st.integers(0, 25))):
        agent = draw(st.sampled_from(AGENTS))
        match draw(st.sampled_from(["plain", "plain", "plain", "send", "receive", "effect", "decide"])):
            case "send":
                sent += 1
                statements.append(f"{agent} send {draw(st.sampled_from(AGENTS))} {sent}")
            case "receive" if received < sent:
                received += 1
                statements.append(f"{agent} receive {received}")
            case "effect":
                end = draw(st.sampled_from(ENDS))
                unknown = unknown or end != "REFUSED"
                permitted = draw(st.sampled_from(["effect", "permitted x", "permitted y"]))
                statements.append(f"{agent} {permitted} mail(1) {draw(st.sampled_from(KEYS))} {end}")
            case "decide" if unknown:
                statements.append(f"reconciler decide mail {draw(st.sampled_from(['happened', 'not']))}")
            case _:
                statements.append(f"{agent} {draw(plain())}")
    statements += [f"{agent} end" for agent in draw(st.lists(st.sampled_from(AGENTS), unique=True))]
    if draw(st.booleans()):
        statements.append("run end")
    return history(";".join(statements))


@st.composite
def orders(draw: st.DrawFn) -> tuple[list[Event], list[Event]]:
    """A run, and another order of its events: streams in order, causes first."""
    events = draw(histories())
    waiting = list(events)
    done: set[tuple[str, int, int]] = set()
    order: list[Event] = []
    while waiting:
        ready = [event for event in waiting if is_ready(event, done)]
        event = ready[draw(st.integers(0, len(ready) - 1))]
        waiting.remove(event)
        done.add((event.meta.agent_id, event.meta.incarnation, event.meta.seq))
        order.append(event)
    return events, order


def is_ready(event: Event, done: set[tuple[str, int, int]]) -> bool:
    """Whether everything before an event has come."""
    meta = event.meta
    before = {(meta.agent_id, meta.incarnation, meta.seq - 1)} if meta.seq > 1 else set[tuple[str, int, int]]()
    before |= {(cause.agent_id, cause.incarnation, cause.seq) for cause in meta.causes}
    return before <= done
