"""Control logic of processes that tests start: importable by name, run as `python recorded_fleet.py ROLE HOME …`."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from tachograph.core.boundary import Agent, Run, SyncAgent
from tachograph.producers import DirectoryTransport, Recorder, tool


@tool(effect="write", idempotency_key=lambda path, line: line)
def write_line(path: str, line: str) -> int:
    """An effect: a line in a file."""
    with Path(path).open("a") as file:
        file.write(line + "\n")
    return len(line)


async def worker(agent: Agent, count: int) -> int:
    """Answer so many questions."""
    total = 0
    for _ in range(count):
        question = await agent.receive()
        assert isinstance(question, dict)
        total += question["n"]
        await agent.send("asker", {"square": question["n"] ** 2})
    return total


def asker(run: Run, count: int) -> list[object]:
    """Ask a process that joins."""
    with run.agent("asker") as agent:
        print(agent.context().to_text(), flush=True)
        answers: list[object] = []
        for number in range(count):
            agent.send("worker", {"n": number})
            answers.append(agent.receive())
        return answers


def writes(run: Run, path: str, count: int) -> None:
    """Effects one after the other; what was confirmed to control logic is printed."""
    with run.agent("writer") as agent:
        for number in range(count):
            agent.call(len, "x" * number)
            agent.call(write_line, path, f"{run.id} {number}")
            print(f"{run.id} {number}", flush=True)


async def writes_async(run: Run, path: str, count: int) -> None:
    """The same on an event loop."""
    async with run.agent("writer") as agent:
        for number in range(count):
            await agent.call(write_line, path, f"{run.id} {number}")
            print(f"{run.id} {number}", flush=True)


def sleeper(agent: SyncAgent, path: str) -> None:
    """Take one message, say so, and wait for the end."""
    message = agent.receive()
    agent.set_state("got", message)
    agent.context()  # written out
    print("got", flush=True)
    sys.stdin.read()


def main(role: str, home: str, *arguments: str) -> None:
    """Start one of the processes above."""
    recorder = Recorder(home, transport=DirectoryTransport(Path(home) / "mail"))
    if role == "asker":
        print(recorder.record(asker, int(arguments[0])), flush=True)
    elif role == "worker":
        print(asyncio.run(_await(recorder, arguments[0], int(arguments[1]))), flush=True)
    elif role == "sleeper":
        recorder.join(arguments[0], "worker", sleeper, home)
    elif role == "writes":
        recorder.record(writes, arguments[0], int(arguments[1]))
    elif role == "writes_async":
        asyncio.run(_write(recorder, arguments[0], int(arguments[1])))


async def _await(recorder: Recorder, context: str, count: int) -> int:
    return await recorder.join(context, "worker", worker, count)


async def _write(recorder: Recorder, path: str, count: int) -> None:
    await recorder.record(writes_async, path, count)


if __name__ == "__main__":
    main(*sys.argv[1:])
