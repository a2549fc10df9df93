"""Control logic that sets state, in three agents."""

from __future__ import annotations

from tachograph.core.boundary import Run


def set_all(run: Run, writes: list[tuple[str, str, object]]) -> None:
    """Set every value in the agent that is named."""
    with run.agent("a") as a, run.agent("b") as b, b.agent("c") as c:
        agents = {"a": a, "b": b, "b/c": c}
        for name, key, value in writes:
            agents[name].set_state(key, value)
