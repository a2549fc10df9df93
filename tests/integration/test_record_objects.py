"""Model clients that return objects are recorded and replayed exactly, without a codec; what is not, is said."""

from __future__ import annotations

import logging
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from replays import Replays
from tachograph.core.replay import VerdictStatus
from tachograph.replay_workers._process import ReplayProcess

CLIENT = """
import enum
from typing import Any, Literal, Optional
import pydantic

class BaseModel(pydantic.BaseModel):
    model_config = pydantic.ConfigDict(extra="allow", defer_build=True)

    @classmethod
    def construct(cls, **values):
        return super().model_construct(set(values), **values)

class Function(BaseModel):
    name: str
    arguments: str

class ToolCall(BaseModel):
    id: str
    function: Function
    type: Literal["function"] = "function"

class Message(BaseModel):
    content: Optional[str] = None
    role: Literal["assistant"]
    tool_calls: Optional[list[ToolCall]] = None

class Choice(BaseModel):
    finish_reason: Literal["stop", "tool_calls"]
    index: int
    message: Message

class Usage(BaseModel):
    prompt_tokens: int
    completion_tokens: int
    total_tokens: int

class Completion(BaseModel):
    id: str
    choices: list[Choice]
    created: int
    model: str
    usage: Optional[Usage] = None
    _request_id: Optional[str] = None

class Completions:
    asked = 0

    async def create(self, *, model, messages, **_):
        self.asked += 1
        calls = [ToolCall(id=f"call-{n}", function=Function(name="look", arguments='{"n": %d}' % n)) for n in (1, 2)]
        last = self.asked > 1
        message = Message(role="assistant", content="done" if last else None, tool_calls=None if last else calls)
        choice = Choice(finish_reason="stop" if last else "tool_calls", index=0, message=message, logprobs=None)
        usage = Usage(prompt_tokens=10, completion_tokens=self.asked, total_tokens=12)
        reply = Completion(id=f"c-{self.asked}", choices=[choice], created=1, model=model, usage=usage, tier="default")
        reply._request_id = f"req-{self.asked}"
        return reply
"""

DESK = """
import dataclasses
import enum
import json
from typing import NamedTuple
from tachograph.core.boundary import tool
from tachograph.core.errors import UnserialisableValue
import client

class Mood(enum.Enum):
    CALM = "calm"
    BUSY = "busy"

@dataclasses.dataclass(frozen=True, slots=True)
class Query:
    number: int
    words: tuple[str, ...] = ()

class Hit(NamedTuple):
    query: Query
    score: float

class NotFound(Exception):
    pass

class Thing:
    pass

COMPLETIONS = client.Completions()

@tool(effect="read")
def look(query: Query) -> list[Hit]:
    if query.number == 2:
        raise NotFound(query, Mood.BUSY)
    return [Hit(query, 1.0)]

async def desk(run, query, mood):
    assert type(query) is Query and mood is Mood.CALM, (query, mood)
    messages = [{"role": "user", "content": "hello"}]
    async with run.agent("clerk") as agent:
        while True:
            reply = await agent.model(COMPLETIONS.create, model="m", messages=messages)
            message = reply.choices[0].message
            assert isinstance(reply, client.Completion) and isinstance(message, client.Message)
            try:
                agent.set_state("refused", Thing())
            except UnserialisableValue as error:
                agent.set_state("refused", str(error))
            messages.append(message.model_dump(exclude_unset=True) | {"request": reply._request_id, "tier": reply.tier})
            agent.set_state("last", reply)
            if reply.choices[0].finish_reason == "stop":
                agent.set_state("mood", mood)
                return messages, reply.usage
            for call in message.tool_calls:
                asked = Query(json.loads(call.function.arguments)["n"], ("a", repr(call)))
                try:
                    hits = await agent.call(look, asked)
                    content = [type(hits[0]).__name__, hits[0].query.words, hits[0].score]
                except NotFound as missing:
                    content = [missing.args[0].number, missing.args[1].value, missing.args[1] is Mood.BUSY]
                    mood = missing.args[1]
                messages.append({"role": "tool", "tool_call_id": call.id, "content": content})
"""

MAIN = """
import asyncio, sys
from tachograph.producers import Recorder

if __name__ == "__main__":
    with Recorder(sys.argv[1]) as recorder:
        asyncio.run(recorder.record(desk, Query(7), Mood.CALM))
        print(recorder.latest_run_id)
"""

STARTER = """
import asyncio, sys
import desk
from tachograph.producers import Recorder

with Recorder(sys.argv[1]) as recorder:
    asyncio.run(recorder.record(desk.desk, desk.Query(7), desk.Mood.CALM))
    print(recorder.latest_run_id)
"""


@pytest.fixture(scope="module")
def process() -> Iterator[ReplayProcess]:
    """One replaying process for all tests."""
    with ReplayProcess() as started:
        yield started


@pytest.fixture
def replays(tmp_path: Path, process: ReplayProcess) -> Replays:
    """A home of its own."""
    return Replays(tmp_path, process)


@pytest.mark.parametrize("started", ["module", "script"])
def test_objects_of_a_model_client_are_replayed(replays: Replays, tmp_path: Path, started: str) -> None:
    """Models within lists of models, dataclasses, members and exceptions that carry them; of a script as of a module."""
    (tmp_path / "client.py").write_text(CLIENT)
    (tmp_path / "desk.py").write_text(DESK + (MAIN if started == "script" else ""))
    (tmp_path / "start.py").write_text(STARTER)
    command = [sys.executable, "desk.py" if started == "script" else "start.py", str(tmp_path / "home")]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    verdict = replays.replay(done.stdout.strip())
    assert verdict.status is VerdictStatus.REPRODUCED, (verdict.missing, verdict.taints, verdict.blocked)


def test_what_cannot_be_recorded_is_said_once(replays: Replays, caplog: pytest.LogCaptureFixture) -> None:
    """A warning names tool, class and remedy the first time; the replay stops where the result is missing."""
    source = """
class Client:
    pass

def connect(_):
    return Client()

async def desk(run):
    async with run.agent("a") as agent:
        for number in range(3):
            await agent.call(connect, number)
"""
    with caplog.at_level(logging.WARNING, "tachograph.producers"):
        run_id = replays.record(source)
    (said,) = [record.getMessage() for record in caplog.records if "not recorded" in record.getMessage()]
    assert "connect" in said
    assert "desk.Client" in said
    assert "register_codec" in said
    assert replays.replay(run_id).status is VerdictStatus.LIMITED
