"""What the events that a run mostly consists of add to its state, from the few fields that matter.

Each function does what the one of its name in `_fold` does, and answers False, with nothing changed, where the whole event is
needed: effects are rare, and the ledger wants all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeAlias, cast

from tachograph.core.causality import EventId
from tachograph.core.state._gates import was_versioned
from tachograph.core.state._model import AgentState, Letter, OpenCall, RunState
from tachograph.core.state._parts import answered, was_received, was_sent, was_unrecorded, was_used, went_out
from tachograph.schemas import Body, CallKind, CallOutcome, EffectClass, EndOutcome, Picked, Usage

Apply: TypeAlias = "Callable[[RunState, AgentState, Picked], bool]"
"""Adds what was picked to a stream that is just before it; it does not move the stream."""

_Meta: TypeAlias = "tuple[int, int, bytes, int | None]"
_AgentFinished: TypeAlias = "tuple[int, int, bytes, int | None, EndOutcome, str | None]"
_CallStarted: TypeAlias = "tuple[int, int, bytes, int | None, CallKind, str, str | None, EffectClass, bytes]"
_CallFinished: TypeAlias = (
    "tuple[int, int, bytes, int | None, int, CallOutcome, str | None, Usage | None, bytes | None]"
)
_MessageSent: TypeAlias = "tuple[int, int, bytes, int | None, str, str, bytes]"
_MessageReceived: TypeAlias = "tuple[int, int, bytes, int | None, int, str]"
_StateChanged: TypeAlias = "tuple[int, int, bytes, int | None, str, Body]"


def _wholly(state: RunState, agent: AgentState, picked: _Meta) -> bool:
    """A stream's first event is decoded; that it is picked makes the stream's name known for those behind it."""
    del state, agent, picked
    return False


def _agent_finished(state: RunState, agent: AgentState, picked: _AgentFinished) -> bool:
    del state
    agent.status = "FINISHED"
    _, _, _, _, agent.outcome, agent.error_type = picked
    return True


def _call_started(state: RunState, agent: AgentState, picked: _CallStarted) -> bool:
    seq, hlc, _, _, kind, name, version, effect, arguments = picked
    if effect == "write" or kind in _GATED:
        return False
    if version is not None and kind == "tool":
        use = hlc, str(EventId(state.run_id, agent.agent_id, agent.incarnation, seq))
        was_versioned(state.tool_versions, name, version, use)
    went_out(agent, seq, OpenCall(kind, name, arguments, hlc, effect))
    return True


def _call_finished(state: RunState, agent: AgentState, picked: _CallFinished) -> bool:
    seq, _, _, _, call_id, outcome, unrecorded, usage, result = picked
    call = agent.open_calls.get(call_id)
    if call is not None:
        if call.effect == "write" or call.action is not None:
            return False
        del agent.open_calls[call_id]
        answered(agent, call, call_id, outcome.encode() if result is None else result)
    if outcome is not _OK:
        agent.errors += 1
    if usage is not None:
        was_used(agent, usage)
    if unrecorded is not None:
        was_unrecorded(state, agent, seq, unrecorded)
    return True


def _message_sent(state: RunState, agent: AgentState, picked: _MessageSent) -> bool:
    seq, hlc, _, _, message_id, to, digest = picked
    was_sent(state, agent, message_id, Letter(agent.agent_id, to, agent.incarnation, seq, hlc, digest))
    return True


def _message_received(state: RunState, agent: AgentState, picked: _MessageReceived) -> bool:
    _, _, _, _, call_id, message_id = picked
    was_received(state, agent, call_id, message_id)
    return True


def _state_changed(state: RunState, agent: AgentState, picked: _StateChanged) -> bool:
    del state
    agent.acts = True
    agent.values[picked[4]] = picked[5]
    return True


def _position_only(state: RunState, agent: AgentState, picked: _Meta) -> bool:
    del state, agent, picked
    return True


_OK = CallOutcome.OK

_GATED = frozenset({"approval", "retrieval"})
"""Kinds whose details count."""

PICKED = cast(
    "Mapping[str, tuple[tuple[str, ...], Apply]]",
    {
        "AgentStarted": ((), _wholly),
        "AgentFinished": (("outcome", "error.type"), _agent_finished),
        "CallStarted": (("kind", "name", "version", "effect", "arguments.digest"), _call_started),
        "CallChunk": ((), _position_only),
        "CallFinished": (("call_id", "outcome", "unrecorded", "usage", "result.digest"), _call_finished),
        "MessageSent": (("message_id", "to_agent_id", "body.digest"), _message_sent),
        "MessageReceived": (("call_id", "message_id"), _message_received),
        "StateChanged": (("key", "value"), _state_changed),
        "TimerFired": ((), _position_only),
    },
)
"""By type: which fields to pick, and what they add. No type says that the two belong together: the tests hold them."""
