r"""Histories in one line: a run's events, written as what happened.

    history('run start; a open; a tool look(1) = "x"; a send b {"n": 1}; b receive 1; run end')

Statements are divided by `;` and happen in this order. Each is `AGENT VERB …`; values are Python literals.

    run start [NAME] [on INDEXES]        the run begins, on a knowledge snapshot (index to version)
    run imported GRADE [MISSING]
    A open [in PARENT]                   a child agent begins (in `run`)  A joins [in PARENT]     as a process of its own
    A KIND NAME(ARGS) [= VALUE]          a call: model, tool, retrieval, memory, policy, approval, clock, random, id
    A KIND NAME(ARGS) ! ERROR            … that raised                    A KIND NAME(ARGS) ~     … that was cancelled
    A begin KIND NAME(ARGS)              … that has not come back         A back NAME [= VALUE]   … and now does
    A unrecorded NAME(ARGS) REASON       a tool whose result could not be recorded
    A stream NAME(ARGS) = [PIECES]       a model's answer in pieces
    A effect NAME(ARGS) KEY STATE        an effect: EXECUTING, CONFIRMED, RECEIPTED (confirmed with a receipt), FAILED,
                                         UNKNOWN, REFUSED (by the ledger); KEY is `-` for none
    A permitted ACTION NAME(ARGS) …      an effect, as above, that needs the approval of an action
    A approve ACTION yes|no [until MS]   a decision on an action, that expires at a moment (events are a moment apart)
    A retrieve INDEX VERSION             from an index                    A versioned NAME(ARGS) VERSION   a tool
    A decide NAME happened|not           the latest effect of that name that is UNKNOWN is decided, by a person
    A send B VALUE                       a message; they are numbered 1, 2, … over the run
    A receive N                          message N arrives                A wait                  for a message
    A state KEY = VALUE     A checkpoint NAME = VALUE     A artifact NAME = VALUE
    A end [= VALUE]         A end ! ERROR         A end ~         (`run end` ends the run)
    run freeze              run erase VALUE       (the body of that value)
"""

from __future__ import annotations

import ast
from dataclasses import replace
from hashlib import sha256
from typing import cast

from history_parts import EFFECT_ENDS, KINDS, assigned, body, coming_back, ending, error, named, split_call
from tachograph.core.causality import EventId
from tachograph.schemas import (
    AgentFinished,
    AgentStarted,
    ApprovalRequest,
    ApprovalResponse,
    ArtifactWritten,
    BodyErased,
    CallChunk,
    CallFinished,
    CallKind,
    CallOutcome,
    CallStarted,
    Cause,
    Checkpointed,
    EffectClass,
    EffectState,
    EffectTransitioned,
    EndOutcome,
    Error,
    Event,
    EventMeta,
    EvidenceFrozen,
    Fidelity,
    MessageReceived,
    MessageSent,
    RequestDetails,
    ResponseDetails,
    RetrievalRequest,
    RetrievalResponse,
    RunFinished,
    RunImported,
    RunStarted,
    StateChanged,
    ToolRequest,
)

RUN_ID = "r1"
_MILLISECOND = 1 << 16


def history(text: str, run_id: str = RUN_ID) -> list[Event]:
    """The events that the statements tell of."""
    teller = _Teller(run_id)
    for statement in text.split(";"):
        if statement.strip():
            teller.tell(statement.strip())
    return teller.events


class _Teller:
    def __init__(self, run_id: str) -> None:
        self.run_id = run_id
        self.events: list[Event] = []
        self._heads: dict[str, EventMeta] = {}
        self._lives: dict[str, int] = {}
        self._open: dict[tuple[str, str], int] = {}
        self._messages: list[MessageSent] = []
        self._effects: list[EffectTransitioned] = []
        self._verbs = {
            "start": self._start,
            "imported": self._imported,
            "open": self._opens,
            "joins": self._joins,
            "end": self._end,
            "freeze": self._freeze,
            "erase": self._erase,
            "begin": self._begin,
            "back": self._back,
            "unrecorded": self._unrecorded,
            "stream": self._stream,
            "effect": self._effect,
            "permitted": self._permitted,
            "approve": self._approve,
            "retrieve": self._retrieve,
            "versioned": self._versioned,
            "decide": self._decide,
            "send": self._send,
            "wait": self._wait,
            "receive": self._receive,
            "state": self._state,
            "checkpoint": self._checkpoint,
            "artifact": self._artifact,
        }

    def tell(self, statement: str) -> None:
        agent, verb, rest = (*statement.split(None, 2), "", "")[:3]
        if verb in KINDS:
            self._call(agent, verb, rest)
        else:
            self._verbs[verb](agent, rest)

    # -- runs and agents

    def _start(self, agent: str, rest: str) -> None:
        meta = self._meta(agent)
        nothing = body({"args": [], "kwargs": {}})
        name, _, indexes = rest.partition("on ")
        inputs = body({"knowledge_snapshot": ast.literal_eval(indexes)} if indexes else {})
        self._say(
            RunStarted(
                meta, name.strip() or "history", "histories:main", nothing, inputs, None, None, "default", "none/1"
            )
        )

    def _imported(self, agent: str, rest: str) -> None:
        grade, _, missing = rest.partition(" ")
        lacks = tuple(missing.split(",")) if missing else ()
        self._say(RunImported(self._meta(agent), "elsewhere", Fidelity(grade), lacks, None))

    def _opens(self, agent: str, rest: str) -> None:
        self._agent(agent, rest, None)

    def _joins(self, agent: str, rest: str) -> None:
        self._agent(agent, rest, "histories:agent")

    def _agent(self, agent: str, rest: str, entrypoint: str | None) -> None:
        parent = rest.removeprefix("in").strip() or "run"
        self._lives[agent] = self._lives.get(agent, 0) + 1
        self._heads.pop(agent, None)
        meta = self._meta(agent, cause=self._heads.get(parent))
        arguments = body({"args": [], "kwargs": {}}) if entrypoint else None
        self._say(AgentStarted(meta, agent, parent, entrypoint, arguments, None, "none/1"))

    def _end(self, agent: str, rest: str) -> None:
        outcome, value, failure = ending(rest)
        meta = self._meta(agent)
        result = body(value) if outcome is EndOutcome.OK else None
        if agent == "run":
            self._say(RunFinished(meta, outcome, result, failure, None))
        else:
            self._say(AgentFinished(meta, outcome, result, failure))

    def _freeze(self, agent: str, rest: str) -> None:
        self._say(EvidenceFrozen(self._meta(agent), rest or "incident", "person:ann"))

    def _erase(self, agent: str, rest: str) -> None:
        self._say(BodyErased(self._meta(agent), body(ast.literal_eval(rest)).digest, "request", "person:ann"))

    # -- calls

    def _call(self, agent: str, kind: str, rest: str) -> None:
        call, back = split_call(rest)
        call_id = self._begin_call(agent, kind, call)
        self._finish(agent, call_id, *coming_back(back))

    def _begin(self, agent: str, rest: str) -> None:
        kind, _, call = rest.partition(" ")
        name, _ = named(call)
        self._open[agent, name] = self._begin_call(agent, kind, call)

    def _back(self, agent: str, rest: str) -> None:
        name, _, back = rest.partition(" ")
        self._finish(agent, self._open.pop((agent, name)), *coming_back(back))

    def _unrecorded(self, agent: str, rest: str) -> None:
        call, _, reason = rest.rpartition(" ")
        call_id = self._begin_call(agent, "tool", call)
        self._finish(agent, call_id, CallOutcome.OK, None, None, unrecorded=reason)

    def _stream(self, agent: str, rest: str) -> None:
        call, back = split_call(rest)
        call_id = self._begin_call(agent, "model", call)
        for index, piece in enumerate(ast.literal_eval(back.removeprefix("=").strip())):
            self._say(CallChunk(self._meta(agent), call_id, index, -1, 65_536, body(piece)))
        self._finish(agent, call_id, CallOutcome.OK, None, None)

    def _begin_call(
        self,
        agent: str,
        kind: str,
        call: str,
        effect: EffectClass = "none",
        key: str | None = None,
        *,
        version: str | None = None,
        details: RequestDetails | None = None,
    ) -> int:
        name, arguments = named(call)
        meta = self._meta(agent)
        self._say(CallStarted(meta, cast("CallKind", kind), name, version, effect, key, 1, details, body(arguments)))
        return meta.seq

    def _finish(
        self,
        agent: str,
        call_id: int,
        outcome: CallOutcome,
        value: object,
        failure: Error | None,
        *,
        receipt: str | None = None,
        unrecorded: str | None = None,
        details: ResponseDetails | None = None,
    ) -> None:
        result = body(value) if outcome is CallOutcome.OK and unrecorded is None else None
        proof = body(receipt) if receipt is not None else None
        meta = self._meta(agent)
        self._say(CallFinished(meta, call_id, outcome, 0, 0, 0, unrecorded, None, details, failure, proof, result))

    # -- effects

    def _permitted(self, agent: str, rest: str) -> None:
        action, _, effect = rest.partition(" ")
        self._effect(agent, effect, ToolRequest(None, sha256(action.encode()).hexdigest()))

    def _approve(self, agent: str, rest: str) -> None:
        action, decision, *until = rest.split()
        request = ApprovalRequest(sha256(action.encode()).digest())
        call_id = self._begin_call(agent, "approval", "ask(1)", details=request)
        expiry = int(until[1]) * 1_000 if until else None
        response = ApprovalResponse("ann", decision == "yes", 0, expiry)
        self._finish(agent, call_id, CallOutcome.OK, decision, None, details=response)

    def _retrieve(self, agent: str, rest: str) -> None:
        index, version = rest.split()
        call_id = self._begin_call(agent, "retrieval", "find(1)", details=RetrievalRequest(index, version, "{}"))
        self._finish(agent, call_id, CallOutcome.OK, [], None, details=RetrievalResponse(()))

    def _versioned(self, agent: str, rest: str) -> None:
        call, version = rest.rsplit(None, 1)
        call_id = self._begin_call(agent, "tool", call, version=version)
        self._finish(agent, call_id, CallOutcome.OK, 1, None)

    def _effect(self, agent: str, rest: str, details: ToolRequest | None = None) -> None:
        call, written, state = rest.rsplit(None, 2)
        key = None if written == "-" else written
        call_id = self._begin_call(agent, "tool", call, "write", key, details=details)
        if state == "REFUSED":
            self._finish(agent, call_id, CallOutcome.ERROR, None, error("ReconciliationRequired"))
            return
        self._move(agent, call_id, (named(call)[0], key), (EffectState.PLANNED, EffectState.EXECUTING))
        if state == "EXECUTING":
            return
        receipt = "R-1" if state == "RECEIPTED" else None
        outcome, end = EFFECT_ENDS[state]
        failure = None if outcome is CallOutcome.OK else error("OSError")
        self._finish(agent, call_id, outcome, "done", failure, receipt=receipt)
        self._move(agent, call_id, (named(call)[0], key), (EffectState.EXECUTING, end), receipt)

    def _move(
        self,
        agent: str,
        call_id: int,
        effect: tuple[str, str | None],
        move: tuple[EffectState, EffectState],
        receipt: str | None = None,
    ) -> None:
        meta = self._meta(agent)
        effect_id = str(EventId(self.run_id, agent, meta.incarnation, call_id))
        proof = body(receipt) if receipt is not None else None
        self._moved(EffectTransitioned(meta, effect_id, *effect, *move, None, "recorder", proof))

    def _moved(self, event: EffectTransitioned) -> None:
        self._effects.append(event)
        self._say(event)

    def _decide(self, agent: str, rest: str) -> None:
        name, _, answer = rest.partition(" ")
        last = next(move for move in reversed(self._effects) if move.name == name)
        to = EffectState.RECONCILED if answer == "happened" else EffectState.FAILED
        meta = self._meta(agent, cause=last.meta)
        self._moved(
            replace(last, meta=meta, from_state=EffectState.UNKNOWN, to_state=to, by="person:ann", receipt=None)
        )

    # -- messages and facts

    def _send(self, agent: str, rest: str) -> None:
        to, _, value = rest.partition(" ")
        number = str(len(self._messages) + 1)
        sent = MessageSent(self._meta(agent), number, to, body(ast.literal_eval(value)))
        self._messages.append(sent)
        self._say(sent)

    def _wait(self, agent: str, rest: str) -> None:
        del rest
        self._open[agent, "receive"] = self._waiting(agent)

    def _receive(self, agent: str, rest: str) -> None:
        sent = self._messages[int(rest) - 1]
        waiting = self._open.pop((agent, "receive"), None)
        call_id = waiting if waiting is not None else self._waiting(agent)
        meta = self._meta(agent, cause=sent.meta)
        self._say(MessageReceived(meta, call_id, sent.message_id, sent.meta.agent_id, -1, 65_536, sent.body))

    def _waiting(self, agent: str) -> int:
        meta = self._meta(agent)
        self._say(CallStarted(meta, "messages", "receive", None, "none", None, 1, None, body(None)))
        return meta.seq

    def _state(self, agent: str, rest: str) -> None:
        key, value = assigned(rest)
        self._say(StateChanged(self._meta(agent), key, value))

    def _checkpoint(self, agent: str, rest: str) -> None:
        name, value = assigned(rest)
        self._say(Checkpointed(self._meta(agent), name, value))

    def _artifact(self, agent: str, rest: str) -> None:
        name, value = assigned(rest)
        self._say(ArtifactWritten(self._meta(agent), name, "application/json", value))

    # -- events

    def _say(self, event: Event) -> None:
        self.events.append(event)
        self._heads[event.meta.agent_id] = event.meta

    def _meta(self, agent: str, *, cause: EventMeta | None = None) -> EventMeta:
        head = self._heads.get(agent)
        life = self._lives.setdefault(agent, 1)
        seq = head.seq + 1 if head is not None else 1
        name = f"{self.run_id}/{agent}#{life}.{seq}"
        causes = (
            ()
            if cause is None or cause.agent_id == agent
            else (Cause(cause.run_id, cause.agent_id, cause.incarnation, cause.seq, cause.hash),)
        )
        moment = len(self.events) + 1
        return EventMeta(
            hash=sha256(name.encode()).digest(),
            seq=seq,
            hlc=moment * _MILLISECOND,
            agent_id=agent,
            incarnation=life,
            run_id=self.run_id,
            tenant="acme",
            causes=causes,
            recorded_at_us=moment * 1_000,
            logical_time_us=None,
            trace=None,
        )
