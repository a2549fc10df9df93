"""The face of an agent for asyncio control logic."""

from __future__ import annotations

import inspect
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import ParamSpec, TypeVar, cast, overload

from tachograph.core.boundary._chunks import live_chunks, served_chunks
from tachograph.core.boundary._control import called_outside
from tachograph.core.boundary._delivery import Counted
from tachograph.core.boundary._details import as_digest, described
from tachograph.core.boundary._door import Door, request_for, unwrap
from tachograph.core.boundary._failure import outcome_of_error, outcome_of_value
from tachograph.core.boundary._model import model_request
from tachograph.core.boundary._opening import Opening
from tachograph.core.boundary._tape import Passage
from tachograph.core.boundary._values import Envelope, Outcome, Request
from tachograph.schemas import (
    ApprovalRequest,
    CallKind,
    PolicyRequest,
    RequestDetails,
    RetrievalRequest,
)

P = ParamSpec("P")
T = TypeVar("T")


class Agent(Door):
    """An agent's boundary in asyncio control logic: everything from outside comes through here."""

    @overload
    async def call(self, function: Callable[P, Awaitable[T]], /, *args: P.args, **kwargs: P.kwargs) -> T: ...
    @overload
    async def call(self, function: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T: ...
    async def call(self, function: Callable[..., object], /, *args: object, **kwargs: object) -> object:
        """Call a tool, asynchronous or not.

        Raises:
            UnserialisableValue: an argument cannot be recorded; the tool was not called.
            ReconciliationRequired: an earlier attempt of the same effect is UNKNOWN.
            SpoolUnwritable: an effect could not be made durable first; it was not executed.
        """
        return await self._pass(request_for("tool", function, args, kwargs), function, args, kwargs)

    async def model(
        self,
        function: Callable[..., object],
        /,
        *args: object,
        provider: str = "",
        model_version: str | None = None,
        prompt_template: str | None = None,
        **request: object,
    ) -> object:
        """Ask a model; `request` goes to the function, and usage and stop reason are read from its answer."""
        details = model_request(provider, request, model_version, prompt_template)
        return await self._pass(request_for("model", function, args, request, details), function, args, request)

    async def retrieve(
        self,
        function: Callable[..., object],
        /,
        *args: object,
        index: str = "",
        index_version: str = "",
        filter: str = "",  # noqa: A002 the field's term
        **kwargs: object,
    ) -> object:
        """Ask an index; evidence ids are read from the answer: rows with `document_id`, `chunk_id`, `score`, …"""
        return await self._outside("retrieval", function, args, kwargs, RetrievalRequest(index, index_version, filter))

    async def memory(self, function: Callable[..., object], /, *args: object, **kwargs: object) -> object:
        """Read or write the agent's memory."""
        return await self._outside("memory", function, args, kwargs, None)

    async def policy(
        self,
        function: Callable[..., object],
        /,
        *args: object,
        policy_id: str = "",
        policy_version: str = "",
        **kwargs: object,
    ) -> object:
        """Ask a policy; an answer `{"decision": …, "reasons": [...]}` is recorded as such."""
        return await self._outside("policy", function, args, kwargs, PolicyRequest(policy_id, policy_version))

    async def approval(
        self, function: Callable[..., object], /, *args: object, action_digest: bytes = b"", **kwargs: object
    ) -> object:
        """Ask for an approval; `{"approver", "granted", "decided_at", "expires_at"}` are read from the answer."""
        return await self._outside("approval", function, args, kwargs, ApprovalRequest(as_digest(action_digest)))

    async def stream(
        self, function: Callable[..., object], /, *args: object, provider: str = "", **request: object
    ) -> AsyncIterator[object]:
        """Ask a model for a streamed answer and iterate its chunks; each is recorded as it comes.

        `function` returns an async iterable, or an awaitable of one.
        """
        asked = request_for("model", function, args, request, model_request(provider, request, None, None))
        passage = self._tape.begin(asked)
        if passage.live:
            await passage.leave_async()
            pieces = live_chunks(passage, asked, self._tape.turns, lambda: function(*args, **request))
        else:
            pieces = served_chunks(passage)
        try:
            async for piece in pieces:
                yield piece
        finally:
            await pieces.aclose()

    async def send(self, to_agent_id: str, body: object) -> None:
        """Send a message to another agent of the run."""
        envelope = self._tape.send(to_agent_id, body)
        if envelope is not None:
            await self._tape.deliver_async(envelope)

    async def receive(self) -> object:
        """Wait for the next message to this agent, in the order of arrival."""
        request = Request("messages", "receive", None)
        envelope = await self._pass(request, self._tape.collect_async, (), {})
        return envelope.body if isinstance(envelope, Envelope) else envelope

    def agent(self, name: str, role: str = "") -> Opening:
        """Open a child agent: `async with agent.agent("checker") as checker`."""
        return Opening(self._tape, name, role)

    async def _outside(
        self,
        kind: CallKind,
        function: Callable[..., object],
        args: tuple[object, ...],
        kwargs: dict[str, object],
        details: RequestDetails | None,
    ) -> object:
        return await self._pass(request_for(kind, function, args, kwargs, details), function, args, kwargs)

    async def _pass(
        self,
        request: Request,
        function: Callable[..., object],
        args: tuple[object, ...],
        kwargs: dict[str, object],
    ) -> object:
        passage = self._tape.begin(request)
        if not passage.live:
            return unwrap(await passage.serve_async())
        start = self._tape.turns.mark()
        await passage.leave_async()
        return (await self._execute(passage, request, function, args, kwargs, start)).value

    async def _execute(
        self,
        passage: Passage,
        request: Request,
        function: Callable[..., object],
        args: tuple[object, ...],
        kwargs: dict[str, object],
        start: int,
    ) -> Outcome:
        turns = self._tape.turns
        call: Counted[object] | None = None
        try:
            value = called_outside(function, args, kwargs)
            if type(value) not in _PLAIN and inspect.isawaitable(value):
                call = Counted(cast("Awaitable[object]", value), turns, start)
                value = await call
            elif turns.mark() != start:
                call = Counted(_there(value), turns, start)
                value = await call
        except BaseException as error:
            passage.finish(outcome_of_error(request, error), turns.delivery_of(call, passage))
            raise
        outcome = described(request.kind, outcome_of_value(value))
        passage.finish(outcome, turns.delivery_of(call, passage))
        return outcome


_PLAIN = frozenset({type(None), bool, bytes, dict, float, int, list, str, tuple})
"""Types of values that nobody awaits."""


async def _there(value: object) -> object:
    return value
