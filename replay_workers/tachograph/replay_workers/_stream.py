"""One stream of a unit while it is replayed."""

from __future__ import annotations

from tachograph.core.replay import Frontier, Matcher, StepMaker, StreamSteps
from tachograph.replay_workers._places import StreamKey
from tachograph.schemas import EndOutcome


class Stream:
    """One stream while it is replayed."""

    __slots__ = ("ended", "key", "latest_seq", "maker", "matcher", "recorded")

    def __init__(self, key: StreamKey, recorded: StreamSteps | None, frontier: Frontier) -> None:
        self.key = key
        self.recorded = recorded
        """None: the recording has no such stream."""
        self.maker = StepMaker(*key)
        self.matcher = Matcher(recorded, frontier) if recorded is not None else None
        self.latest_seq = 1
        self.ended = False

    @property
    def counted(self) -> int:
        """How many steps were held against the recording; what a recording that breaks off does not have is none."""
        made, matcher = self.maker.made, self.matcher
        return made if matcher is None or matcher.divergences() else min(made, matcher.position)

    @property
    def states_no_result(self) -> bool:
        """Whether it ends well in the recording, and with what is not recorded: a block of code gives no result."""
        steps = self.recorded.steps if self.recorded is not None else ()
        return bool(steps) and steps[-1].outcome is EndOutcome.OK and steps[-1].result is None
