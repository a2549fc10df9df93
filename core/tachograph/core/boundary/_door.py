"""What both faces of an agent share: everything that returns at once."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta

from tachograph.core.boundary._details import as_digest
from tachograph.core.boundary._failure import outcome_of_error, outcome_of_value
from tachograph.core.boundary._tape import Passage, Tape
from tachograph.core.boundary._tool import spec_of
from tachograph.core.boundary._values import IMMEDIATE, Fact, Outcome, Request, RunContext
from tachograph.core.errors import InternalError
from tachograph.schemas import CallKind, RequestDetails, ToolRequest

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class Door:
    """An agent's boundary, the part that is the same for asynchronous and synchronous control logic."""

    def __init__(self, tape: Tape) -> None:
        self._tape = tape
        self._randoms: dict[str, random.Random] = {}
        self._state: dict[str, object] = {}

    @property
    def id(self) -> str:
        """The agent's id within its run."""
        return self._tape.agent_id

    @property
    def run_id(self) -> str:
        """The run's id."""
        return self._tape.run_id

    def now(self) -> datetime:
        """The time, in UTC: use it in place of `time.time()` and `datetime.now()`."""
        microseconds = self._at_once(Request("clock", "now", None), self._tape.sources.now_us)
        if not isinstance(microseconds, int):
            raise InternalError(f"a clock read gave {microseconds!r}")
        self._tape.told(microseconds)
        return _EPOCH + timedelta(microseconds=microseconds)

    def random(self, stream: str = "default") -> random.Random:
        """A random generator for one purpose: its seed is recorded once, its draws cost nothing more."""
        known = self._randoms.get(stream)
        if known is None:
            seed = self._at_once(Request("random", stream, None), self._tape.sources.seed)
            known = self._randoms[stream] = random.Random(seed if isinstance(seed, int) else 0)
        return known

    def new_id(self, purpose: str = "id") -> str:
        """A fresh unguessable id: use it in place of `uuid.uuid4()`."""
        return str(self._at_once(Request("id", purpose, None), self._tape.sources.new_id))

    def set_state(self, key: str, value: object) -> None:
        """Set a key of the agent's application state."""
        self._tape.note(Fact("state", key, value))
        self._state[key] = value

    def get_state(self, key: str, default: object = None) -> object:
        """A key of the agent's application state."""
        return self._state.get(key, default)

    def checkpoint(self, name: str, state: object = None) -> None:
        """Name a point; a fork can start from it."""
        self._tape.note(Fact("checkpoint", name, state))

    def artifact(self, name: str, content: object, media_type: str = "application/json") -> None:
        """Record a document that the agent produced."""
        self._tape.note(Fact("artifact", name, content, media_type))

    def context(self) -> RunContext:
        """What another process needs to join the run as a child of this agent."""
        return self._tape.context()

    def _at_once(self, request: Request, function: Callable[[], object]) -> object:
        passage = self._tape.begin(request)
        outcome = execute(passage, request, function) if passage.live else passage.serve()
        return unwrap(outcome)


def execute(passage: Passage, request: Request, function: Callable[[], object]) -> Outcome:
    """Execute a live call on the calling thread and record it."""
    passage.leave()
    try:
        outcome = outcome_of_value(function())
    except BaseException as error:
        passage.finish(outcome_of_error(request, error), IMMEDIATE)
        raise
    passage.finish(outcome, IMMEDIATE)
    return outcome


def unwrap(outcome: Outcome) -> object:
    """The value of an outcome, or its exception raised."""
    if outcome.error is not None:
        raise outcome.error
    return outcome.value


def request_for(
    kind: CallKind,
    function: Callable[..., object],
    args: tuple[object, ...],
    kwargs: Mapping[str, object],
    details: RequestDetails | None = None,
    name: str | None = None,
) -> Request:
    """The request of a call to a function, with what its `tool` declaration says."""
    spec = spec_of(function)
    key = spec.idempotency_key(*args, **kwargs) if spec.idempotency_key else None
    if spec.permission is not None and details is None:
        details = ToolRequest(spec.version, as_digest(spec.permission(*args, **kwargs)).hex())
    arguments = {"args": list(args), "kwargs": dict(kwargs)}
    # By place: keywords would cost as much as all the rest, and this is on the path of every call.
    return Request(
        kind,
        name or spec.name,
        arguments,
        spec.version,
        spec.effect,
        key,
        details,
        spec.unknown,
        spec.failed,
        spec.raises,
    )
