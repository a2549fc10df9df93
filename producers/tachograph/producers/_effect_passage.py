"""Effects through the boundary: they leave only after their record is durable."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tachograph.core.boundary import IMMEDIATE, WAITED, Counted, Delivery, Outcome
from tachograph.core.effects import transition
from tachograph.core.errors import AgentMisuse, EffectRefused, SpoolUnwritable
from tachograph.producers._passage import LivePassage
from tachograph.schemas import CallOutcome, EffectState

if TYPE_CHECKING:
    from tachograph.producers._ledger import Effect
    from tachograph.producers._tape import RecordingTape


_INTERRUPTED = "cancelled before it left"


class EffectPassage(LivePassage):
    """An effect on its way out, and back."""

    __slots__ = ("_effect", "_left", "_waited")

    def __init__(self, tape: RecordingTape, call_id: int, effect: Effect) -> None:
        super().__init__(tape, call_id, effect.name)
        self._effect = effect
        self._left = False
        self._waited = False

    def leave(self) -> None:
        """Return once the effect may leave: when its record is durable.

        Raises:
            EffectRefused: another attempt left first.
            SpoolUnwritable: the record cannot be made durable; the effect must not be executed.
        """
        ticket = self._execute()
        try:
            self.tape.journal.settle(ticket, durable=True)
        except SpoolUnwritable:
            self._give_up()
            raise
        except BaseException as error:  # an interrupt
            self._never_left(_cancelled(error), IMMEDIATE, _INTERRUPTED)
            raise
        self._depart()

    async def leave_async(self) -> None:
        """`leave` without blocking the event loop.

        Raises:
            EffectRefused: another attempt left first.
            SpoolUnwritable: the record cannot be made durable; the effect must not be executed.
        """
        turns = self.tape.turns
        ticket = self._execute()
        durable = Counted(self.tape.journal.settle_async(ticket), turns)
        try:
            # Where turns cannot be counted, the boundary does not see that other tasks ran meanwhile.
            self._waited = await durable and not turns.loop.exact
        except SpoolUnwritable:
            self._give_up()
            raise
        except BaseException as error:
            self._never_left(_cancelled(error), turns.delivery(durable.yields), _INTERRUPTED)
            raise
        self._depart()

    def chunk(self, value: object, delivery: Delivery) -> None:
        """Record one piece of a streamed result."""
        super().chunk(value, self._delivery(delivery))

    def finish(self, outcome: Outcome, delivery: Delivery) -> None:
        """Record how the effect came back, and where it stands now."""
        if self.done:
            return
        self.done = True
        receipt = self.finished(outcome, self._delivery(delivery))
        self.tape.effect_ended(self.call_id)
        self.tape.append_result(self._effect.move(transition(self._effect.state, outcome.status), receipt=receipt))

    def abandoned(self) -> None:
        """The agent ends before the effect came back: nobody will know what became of it, if it had left."""
        self.done = True
        to = EffectState.UNKNOWN if self._left else EffectState.FAILED
        reason = f"the agent ended before the effect {'came back' if self._left else 'left'}"
        self.tape.append_result(self._effect.move(to, reason=reason))

    def _execute(self) -> int:
        """Say that the effect is about to leave; another attempt may have left since this one was planned."""
        try:
            draft = self._effect.move(EffectState.EXECUTING)
        except EffectRefused as refusal:
            refused = Outcome(CallOutcome.ERROR, error=refusal)
            self._never_left(refused, IMMEDIATE, "refused: another attempt left first")
            raise
        return self.tape.append(draft)

    def _depart(self) -> None:
        # First say so, then look: an end of the agent that comes in between finds the effect UNKNOWN, not FAILED.
        self._left = True
        if self.done:
            raise AgentMisuse(self.tape.agent_id, "it ended before its effect left", "Await its tasks before its end.")

    def _give_up(self) -> None:
        """The log is broken: the effect does not leave. No event can say so; the ledger of this process knows."""
        self.done = True
        self.tape.effect_ended(self.call_id)
        self._effect.move(EffectState.FAILED)

    def _never_left(self, outcome: Outcome, delivery: Delivery, reason: str) -> None:
        if self.done:
            return
        self.done = True
        self.tape.effect_ended(self.call_id)
        self.finished(outcome, delivery)
        self.tape.append_result(self._effect.move(EffectState.FAILED, reason=reason))

    def _delivery(self, delivery: Delivery) -> Delivery:
        if not self._waited:
            return delivery
        self._waited = False
        return delivery if delivery.yields == WAITED else self.tape.turns.delivery(WAITED)


def _cancelled(error: BaseException) -> Outcome:
    return Outcome(CallOutcome.CANCELLED, error=error)
