"""A `receive` of a fork: answered by what is sent there, else by what was sent in the recording."""

from __future__ import annotations

from tachograph.core.boundary import Outcome
from tachograph.core.canonical import decode_body
from tachograph.core.replay import Step
from tachograph.replay_workers._fork_change import Sent
from tachograph.replay_workers._fork_draft import Payload
from tachograph.replay_workers._fork_passage import ForkPassage
from tachograph.replay_workers._places import END
from tachograph.schemas import CallOutcome


class ForkReceive(ForkPassage):
    """A `receive`."""

    __slots__ = ()

    def serve(self) -> Outcome:
        """The message."""
        if self._answer.has_place:
            self._fork.schedule.arrived(self._place(END))
        message = self._answer.message
        if self._is_awaited:
            message = self._fork.mail.ready(self._stream.key[0], self._recorded)
        return self._received(message, 0)

    async def serve_async(self) -> Outcome:
        """The message, delivered as the recorded one was, or once it is sent."""
        message, yields = await self._counted(self._arrived())
        return self._received(message, yields)

    async def _arrived(self) -> Sent | None:
        if self._answer.has_place:
            await self._deliver(self._answer.fixture.yields, END)
        if not self._is_awaited:
            return self._answer.message
        mail, agent_id = self._fork.mail, self._stream.key[0]
        return mail.ready(agent_id, self._recorded) or await mail.arrival(agent_id, self._recorded)

    @property
    def _recorded(self) -> Step | None:
        return self._answer.step if self._answer.has_place else None

    @property
    def _is_awaited(self) -> bool:
        own = self._answer.origin in ("recorded", "mail")
        return own and self._fork.mail.is_awaited(self._recorded)

    def _received(self, message: Sent | None, yields: int) -> Outcome:
        self._done = True
        answer = self._answer
        if message is not None and not self._fork.mail.is_recorded(message, self._recorded):
            return self._sent_here(message, yields)
        if answer.origin == "mail":
            answer = self._fork.missed(self._request, self._step, None)
        fields = self._fields(yields, answer.fixture)
        if answer.origin == "recorded":
            seq = answer.fixture.seq
            self._fork.draft(self._stream, "MessageReceived", fields, source=seq, origin=seq)
            return self._fork.outcome(self._request, self._stream, self._step, answer.fixture)
        outcome = self._plain(answer)
        body = self._fork.redacted(answer.fixture.result or b"null")
        if answer.has_place and answer.fixture.seq:
            self._fork.draft(self._stream, "MessageReceived", fields, {"body": body}, source=answer.fixture.seq)
        else:
            self._own_end(fields, outcome, body)
        return outcome

    def _sent_here(self, message: Sent, yields: int) -> Outcome:
        self._fork.apart = True
        fields = {
            **self._fields(yields, self._answer.fixture),
            "message_id": message.message_id,
            "from_agent_id": message.from_agent_id,
        }
        body = Payload(message.body, message.redacted)
        cause = (message.stream, message.seq)
        self._fork.draft(self._stream, "MessageReceived", fields, {"body": body}, cause=cause)
        return Outcome(CallOutcome.OK, value=decode_body(message.body))
