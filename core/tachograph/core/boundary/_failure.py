"""What an exception says of a call: above all, whether an effect may have happened."""

from __future__ import annotations

import asyncio

from tachograph.core.boundary._values import Outcome, Receipted, Request
from tachograph.schemas import CallOutcome

_NEVER_LEFT: tuple[type[BaseException], ...] = (ConnectionRefusedError,)
"""Nothing was sent when one of these comes."""


def outcome_of_error(request: Request, error: BaseException) -> Outcome:
    """How a call that raised is recorded.

    An effect that raised is UNKNOWN unless the tool declares that the exception proves the opposite: after an
    unexpected error nobody can say whether the outside world has changed.
    """
    return Outcome(status_of_error(request, error), error=error)


def status_of_error(request: Request, error: BaseException) -> CallOutcome:
    """The status that `outcome_of_error` records."""
    if request.effect == "write":
        if isinstance(error, request.failed):
            return CallOutcome.ERROR  # even a time-out: the tool says that it proves that nothing happened
        if isinstance(error, request.unknown) or not isinstance(error, _NEVER_LEFT):
            return CallOutcome.UNKNOWN
    if isinstance(error, TimeoutError):
        return CallOutcome.TIMEOUT
    if isinstance(error, asyncio.CancelledError | KeyboardInterrupt | GeneratorExit):
        return CallOutcome.CANCELLED
    return CallOutcome.ERROR


def outcome_of_value(value: object) -> Outcome:
    """How a call that returned is recorded."""
    if isinstance(value, Receipted):
        return Outcome(CallOutcome.OK, value=value.value, receipt=value.receipt)
    return Outcome(CallOutcome.OK, value)
