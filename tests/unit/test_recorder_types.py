"""The recorder's types, as a service with strict checks sees them: right uses pass, wrong ones are found."""

from __future__ import annotations

from pathlib import Path

from mypy import api

_RIGHT = """
import asyncio
from tachograph.producers import Agent, Recorder, Run, SyncAgent, tool

@tool(effect="read")
async def look_up(ticket: str, *, deep: bool = False) -> int:
    return len(ticket)

@tool
def at_once(ticket: str) -> int:
    return len(ticket)

async def desk(run: Run, ticket: str) -> str:
    async with run.agent("triage") as agent:
        found: int = await agent.call(look_up, ticket, deep=True)
        more: int = await agent.call(at_once, ticket)
    with run.agent("checker") as checker:
        again: int = checker.call(at_once, ticket)
    return str(found + more + again)

def synchronous(run: Run, ticket: str) -> str:
    return ticket

async def joined(agent: Agent, ticket: str) -> int:
    return len(ticket)

recorder = Recorder(".tacho")
text: str = asyncio.run(recorder.record(desk, "T-1"))
same: str = recorder.record(synchronous, "T-1")
number: int = asyncio.run(recorder.join("context", "billing", joined, "T-1"))
"""

_WRONG = (
    _RIGHT
    + """
asyncio.run(recorder.record(desk, 7))
asyncio.run(recorder.record(desk))
missed: int = recorder.record(synchronous, "T-1")
"""
)


def _checked(source: str, directory: Path) -> tuple[str, int]:
    path = directory / "service.py"
    path.write_text(source)
    out, errors, code = api.run(["--strict", "--cache-dir", str(directory / "cache"), str(path)])
    return out + errors, code


def test_right_uses_pass_and_wrong_ones_are_found(tmp_path: Path) -> None:
    """Arguments and results keep their types through the boundary, asynchronous or not."""
    assert _checked(_RIGHT, tmp_path) == ("Success: no issues found in 1 source file\n", 0)
    out, code = _checked(_WRONG, tmp_path)
    assert code == 1
    lines = [line for line in out.splitlines() if "error:" in line]
    assert len(lines) == 3, out
