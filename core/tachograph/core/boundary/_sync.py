"""The face of an agent for synchronous control logic; the same calls, without `await`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import ParamSpec, TypeVar, cast

from tachograph.core.boundary._control import called_outside
from tachograph.core.boundary._details import as_digest, described
from tachograph.core.boundary._door import Door, request_for, unwrap
from tachograph.core.boundary._failure import outcome_of_error, outcome_of_value
from tachograph.core.boundary._model import model_request
from tachograph.core.boundary._opening import Opening
from tachograph.core.boundary._tape import Passage
from tachograph.core.boundary._values import IMMEDIATE, Envelope, Outcome, Request
from tachograph.schemas import ApprovalRequest, CallKind, CallOutcome, PolicyRequest, RequestDetails, RetrievalRequest

P = ParamSpec("P")
T = TypeVar("T")


class SyncAgent(Door):
    """An agent's boundary in synchronous control logic; one agent, one thread."""

    def call(self, function: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
        """Call a tool.

        Raises:
            UnserialisableValue: an argument cannot be recorded; the tool was not called.
            ReconciliationRequired: an earlier attempt of the same effect is UNKNOWN.
            SpoolUnwritable: an effect could not be made durable first; it was not executed.
        """
        return self._pass(request_for("tool", function, args, kwargs), function, args, kwargs)  # type: ignore[return-value]  # a cast would cost a call

    def model(
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
        return self._outside("model", function, args, request, details)

    def retrieve(
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
        return self._outside("retrieval", function, args, kwargs, RetrievalRequest(index, index_version, filter))

    def memory(self, function: Callable[..., object], /, *args: object, **kwargs: object) -> object:
        """Read or write the agent's memory."""
        return self._outside("memory", function, args, kwargs, None)

    def policy(
        self,
        function: Callable[..., object],
        /,
        *args: object,
        policy_id: str = "",
        policy_version: str = "",
        **kwargs: object,
    ) -> object:
        """Ask a policy; an answer `{"decision": …, "reasons": [...]}` is recorded as such."""
        return self._outside("policy", function, args, kwargs, PolicyRequest(policy_id, policy_version))

    def approval(
        self, function: Callable[..., object], /, *args: object, action_digest: bytes = b"", **kwargs: object
    ) -> object:
        """Ask for an approval; `{"approver", "granted", "decided_at", "expires_at"}` are read from the answer."""
        return self._outside("approval", function, args, kwargs, ApprovalRequest(as_digest(action_digest)))

    def stream(
        self, function: Callable[..., object], /, *args: object, provider: str = "", **request: object
    ) -> Iterator[object]:
        """Ask a model for a streamed answer and iterate its chunks; each is recorded as it comes."""
        asked = request_for("model", function, args, request, model_request(provider, request, None, None))
        passage = self._tape.begin(asked)
        if passage.live:
            passage.leave()
            yield from _live_chunks(passage, asked, lambda: function(*args, **request))
        else:
            yield from _served_chunks(passage)

    def send(self, to_agent_id: str, body: object) -> None:
        """Send a message to another agent of the run."""
        envelope = self._tape.send(to_agent_id, body)
        if envelope is not None:
            self._tape.deliver(envelope)

    def receive(self) -> object:
        """Wait for the next message to this agent, in the order of arrival."""
        envelope = self._pass(Request("messages", "receive", None), self._tape.collect, (), {})
        return envelope.body if isinstance(envelope, Envelope) else envelope

    def agent(self, name: str, role: str = "") -> Opening:
        """Open a child agent: `with agent.agent("checker") as checker`."""
        return Opening(self._tape, name, role)

    def _outside(
        self,
        kind: CallKind,
        function: Callable[..., object],
        args: tuple[object, ...],
        kwargs: Mapping[str, object],
        details: RequestDetails | None,
    ) -> object:
        return self._pass(request_for(kind, function, args, kwargs, details), function, args, kwargs)

    def _pass(
        self,
        request: Request,
        function: Callable[..., object],
        args: tuple[object, ...],
        kwargs: Mapping[str, object],
    ) -> object:
        passage = self._tape.begin(request)
        if not passage.live:
            return unwrap(passage.serve())
        passage.leave()
        try:
            outcome = described(request.kind, outcome_of_value(called_outside(function, args, kwargs)))
        except BaseException as error:
            passage.finish(outcome_of_error(request, error), IMMEDIATE)
            raise
        passage.finish(outcome, IMMEDIATE)
        return outcome.value


def _live_chunks(passage: Passage, request: Request, function: Callable[[], object]) -> Iterator[object]:
    try:
        for piece in cast("Iterator[object]", function()):
            passage.chunk(piece, IMMEDIATE)
            yield piece
    except GeneratorExit:
        passage.finish(Outcome(CallOutcome.CANCELLED), IMMEDIATE)
        raise
    except BaseException as error:
        passage.finish(outcome_of_error(request, error), IMMEDIATE)
        raise
    passage.finish(Outcome(CallOutcome.OK), IMMEDIATE)


def _served_chunks(passage: Passage) -> Iterator[object]:
    try:
        while (chunk := passage.next_chunk()) is not None:
            yield chunk.value
    except GeneratorExit:
        passage.finish(Outcome(CallOutcome.CANCELLED), IMMEDIATE)
        raise
    unwrap(passage.serve())
