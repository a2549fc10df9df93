"""A run's state, folded from its events.

`fold` adds one event after the other (`_fold`, `_effects`) to a `RunState` (`_model`); `state_bytes` writes it down and
`state_from_bytes` takes it up again (`_bytes`); `state_digest` is what its end must state (`_digest`); `signatures` finds known failures in it and `replayability` says what its
evidence is good for.
"""

from tachograph.core.state._bytes import state_bytes, state_from_bytes
from tachograph.core.state._digest import StreamValues, state_digest, values_digest
from tachograph.core.state._fold import caught_up, fold, skip
from tachograph.core.state._folding import Folding, Taken
from tachograph.core.state._gates import Approval
from tachograph.core.state._hits import FailureClass, Severity, SignatureHit
from tachograph.core.state._model import (
    LOOP_MIN,
    AgentState,
    EffectRecord,
    Letter,
    OpenCall,
    RunState,
    Streak,
    empty,
)
from tachograph.core.state._replayability import Replayability, replayability
from tachograph.core.state._signatures import signatures
from tachograph.core.state._waiting import RECEIVING, deadlocked, is_blocked, is_free, running_agents

__all__ = [
    "LOOP_MIN",
    "RECEIVING",
    "AgentState",
    "Approval",
    "EffectRecord",
    "FailureClass",
    "Folding",
    "Letter",
    "OpenCall",
    "Replayability",
    "RunState",
    "Severity",
    "SignatureHit",
    "Streak",
    "StreamValues",
    "Taken",
    "caught_up",
    "deadlocked",
    "empty",
    "fold",
    "is_blocked",
    "is_free",
    "replayability",
    "running_agents",
    "signatures",
    "skip",
    "state_bytes",
    "state_digest",
    "state_from_bytes",
    "values_digest",
]
