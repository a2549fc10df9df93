"""The control logic of an imported Who&When run: the agents say again what they said, to whom they said it."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack

from tachograph.core.boundary import Run, SyncAgent
from tachograph.producers.importers._who_rows import Case, Said, case_of


def who_and_when(run: Run, row: Mapping[str, object]) -> None:
    """Walk the history in a row.

    Args:
        run: the run to open the agents on.
        row: as in the public files: `history`, `question`, `mistake_step`, …

    Raises:
        UnusableRow: the row has no history.
    """
    case = case_of(row)
    with ExitStack() as open_agents:
        agents = {
            agent_id: open_agents.enter_context(run.agent(agent_id, role=name))
            for agent_id, name in case.agents.items()
        }
        for said in case.steps:
            _say(agents, said, case)


def _say(agents: Mapping[str, SyncAgent], said: Said, case: Case) -> None:
    speaker = agents[said.speaker]
    if said.number == case.mistake_step:
        speaker.checkpoint("annotated mistake", {"step": said.number, "reason": case.facts.get("mistake_reason")})
    if not said.to:
        speaker.artifact(f"step {said.number}", {"role": said.role, "content": said.content})
    for receiver in said.to:
        speaker.send(receiver, {"step": said.number, "role": said.role, "content": said.content})
    for receiver in said.to:
        agents[receiver].receive()
    speaker.set_state("step", said.number)
