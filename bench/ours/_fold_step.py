"""The fold of one partition at full size: one run of a million events, and a hundred thousand runs of ten."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from time import process_time

from bench._measure import Figures, Subject
from tachograph.core.findings import finding_bytes
from tachograph.core.state import RunState, state_bytes
from tachograph.schemas import HeadEncoder, encode_rest, prefix_of
from tachograph.stream_processors.fold import Checkpoint, FoldStep

_HOT_AGENTS = 1_000
_HOT_EVENTS = 1_000_000
_SMALL_EVENTS = 10
_SMALL_RUNS = 100_000
_CHECKPOINT_RECORDS = 100_000
_CHUNK = 20_000
_NOW_MS = 1_772_355_000_000

_BODY: dict[str, object] = {"digest": b"\x01" * 32, "size": 96, "redacted": False, "inline": b"x" * 96, "chunks": ()}
_STARTED: dict[str, object] = {
    "kind": "tool", "name": "look_up", "version": None, "effect": "read", "idempotency_key": None, "attempt": 1,
    "details": None, "arguments": _BODY,
}  # fmt: skip
_BACK: dict[str, object] = {
    "outcome": "OK", "yields": -1, "gap": 3, "chunks": 0, "unrecorded": None, "usage": None, "details": None,
    "error": None, "receipt": None, "result": _BODY,
}  # fmt: skip
_RUN: dict[str, object] = {
    "name": "desk", "entrypoint": "m:f", "arguments": _BODY, "inputs": _BODY, "parent_run_id": None, "fork": None,
    "retention": "default", "redaction": "none/1",
}  # fmt: skip
_AGENT: dict[str, object] = {
    "role": "a", "parent_agent_id": "run", "entrypoint": None, "arguments": None, "inputs": None, "redaction": "none/1",
}  # fmt: skip
_END: dict[str, object] = {"outcome": "OK", "result": None, "error": None}


class _Nothing:
    """No past."""

    def newest(self, tenant: str, run_id: str) -> RunState | None:
        """There is none."""
        del tenant, run_id
        return None

    def history(self, tenant: str, run_id: str) -> Iterable[bytes]:
        """There is none."""
        del tenant, run_id
        return ()

    def archived(self, tenant: str, run_id: str) -> int:
        """There is none."""
        del tenant, run_id
        return 0


class _Stream:
    """Writes the events of one agent."""

    def __init__(self, run_id: str, agent_id: str) -> None:
        self._head = HeadEncoder(agent_id, 1, run_id, "default")
        self.seq = 0

    def event(self, event_type: str, fields: dict[str, object], number: int) -> bytes:
        """The next one, as the `number`th of the partition."""
        self.seq += 1
        head = self._head.encode(self.seq, (_NOW_MS + number) << 16, (), (_NOW_MS + number) * 1000, None)
        return prefix_of(event_type) + bytes(32) + head + encode_rest(event_type, fields)


def _hot(events: int) -> Iterator[tuple[bytes, bytes]]:
    root = _Stream("hot", "run")
    yield b"hot", root.event("RunStarted", _RUN, 0)
    streams = [_Stream("hot", f"agent-{number}") for number in range(_HOT_AGENTS)]
    for number in range(1, events):
        stream = streams[number % _HOT_AGENTS]
        yield b"hot", _next(stream, number)


def _next(stream: _Stream, number: int) -> bytes:
    if stream.seq == 0:
        return stream.event("AgentStarted", _AGENT, number)
    if stream.seq % 2:
        return stream.event("CallStarted", _STARTED, number)
    return stream.event("CallFinished", {"call_id": stream.seq, **_BACK}, number)


def _small(runs: int) -> Iterator[tuple[bytes, bytes]]:
    number = 0
    for run in range(runs):
        run_id = f"run-{run:08}"
        key, root, agent = run_id.encode(), _Stream(run_id, "run"), _Stream(run_id, "worker")
        for event_type, fields in (("RunStarted", _RUN), ("RunFinished", {**_END, "state_digest": None})):
            if event_type == "RunFinished":
                for _ in range(_SMALL_EVENTS - 3):
                    yield key, _next(agent, number)
                yield key, agent.event("AgentFinished", _END, number)
            yield key, root.event(event_type, fields, number)
            number += 1


def _folded(rows: Iterator[tuple[bytes, bytes]]) -> Figures:
    """CPU of adding records and of writing down what the checkpoints ask for, microseconds for one record; peak memory, MiB."""
    step = FoldStep(_Nothing())
    add = step.add
    offset, spent = 0, 0.0
    while chunk := list(islice(rows, _CHUNK)):
        began = process_time()
        for key, payload in chunk:
            add(offset, key, payload)
            offset += 1
        if offset % _CHECKPOINT_RECORDS == 0:
            _written(step.checkpoint())
        spent += process_time() - began
    if step.statistics().poison:
        raise AssertionError(step.statistics())
    return {"cpu_us": spent / offset * 1e6, "peak_mib": _peak_mib()}


def _peak_mib() -> float:
    """The most memory this process had at once; of its own, which `getrusage` does not tell from its parent's."""
    status = Path("/proc/self/status").read_text(encoding="ascii")
    return int(status.partition("VmHWM:")[2].split()[0]) / 1024


def _written(checkpoint: Checkpoint) -> int:
    findings = sum(len(finding_bytes(finding)) for finding in checkpoint.findings)
    return findings + sum(len(state_bytes(state)) for state in checkpoint.snapshots)


def hot_run() -> Subject:
    """One run of 1,000 agents and 1,000,000 events."""
    return lambda _: _folded(_hot(_HOT_EVENTS))


def hot_run_tenth() -> Subject:
    """Its first 100,000."""
    return lambda _: _folded(_hot(_HOT_EVENTS // 10))


def small_runs() -> Subject:
    """100,000 runs of ten events."""
    return lambda _: _folded(_small(_SMALL_RUNS))


def small_runs_tenth() -> Subject:
    """10,000 of them."""
    return lambda _: _folded(_small(_SMALL_RUNS // 10))
