"""A DBOS step with its SQLite system database."""

from __future__ import annotations

from dbos import DBOS

from bench._measure import Subject, fresh_directory, timed
from bench._payload import pairs

_PAIRS = pairs(256)


def step() -> Subject:
    """One step of a workflow: arguments and result checkpointed."""
    directory = fresh_directory()
    DBOS(
        config={
            "name": "bench",
            "system_database_url": f"sqlite:///{directory}/state.db",
            "run_admin_server": False,
            "log_level": "CRITICAL",
        }
    )
    answer: dict[str, object] = {}

    @DBOS.step()
    def tool(arguments: dict[str, object]) -> dict[str, object]:
        return answer

    @DBOS.workflow()
    def workflow(count: int) -> None:
        nonlocal answer
        for index in range(count):
            arguments, answer = _PAIRS[index % 256]
            tool(arguments)

    DBOS.launch()
    return lambda count: timed(workflow, count)
