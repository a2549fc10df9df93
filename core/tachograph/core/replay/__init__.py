"""Matching a replay against its recording: steps, divergences, verdicts.

`steps_of` turns events into steps with the fixtures that answer them (`_steps`, `_recorded`), a `Skim` payloads of which
little is decoded (`_picked`); a `Matcher` holds
the steps of a replay against them (`_matcher`), `classify` names the first change (`_align`, `_classify`, `_fields`) and
`sentence` and `explain` put it in words (`_sentence`, `_explain`); `verdict` sums up and `verdict_json` writes it down.
`StepMaker` makes the steps of both sides, so that they can be compared.
"""

from tachograph.core.replay._classify import LOOK_AHEAD_MAX, Place, blame, classify
from tachograph.core.replay._compare import compare
from tachograph.core.replay._explain import explain
from tachograph.core.replay._fields import field_changes
from tachograph.core.replay._fixtures import ReadBody
from tachograph.core.replay._from_json import (
    divergence_from_json,
    read_from_json,
    step_from_json,
    verdict_from_json,
)
from tachograph.core.replay._json import divergence_json, read_json, step_json, verdict_json
from tachograph.core.replay._levels import UnitResult
from tachograph.core.replay._maker import StepMaker, payload_key
from tachograph.core.replay._matcher import Frontier, Match, Matcher, Mismatch, RecordingEnds, Served
from tachograph.core.replay._positions import step_positions
from tachograph.core.replay._recorded import Fixture, Piece, RecordedError, StreamSteps
from tachograph.core.replay._sentence import Sides, sentence
from tachograph.core.replay._skim import Read, Skim
from tachograph.core.replay._steps import steps_of
from tachograph.core.replay._values import (
    Candidate,
    Divergence,
    DivergenceKind,
    FieldChange,
    Level,
    Step,
    StepKind,
    UnrecordedInput,
    Verdict,
    VerdictStatus,
)
from tachograph.core.replay._verdict import first_of_each, verdict

__all__ = [
    "LOOK_AHEAD_MAX",
    "Candidate",
    "Divergence",
    "DivergenceKind",
    "FieldChange",
    "Fixture",
    "Frontier",
    "Level",
    "Match",
    "Matcher",
    "Mismatch",
    "Piece",
    "Place",
    "Read",
    "ReadBody",
    "RecordedError",
    "RecordingEnds",
    "Served",
    "Sides",
    "Skim",
    "Step",
    "StepKind",
    "StepMaker",
    "StreamSteps",
    "UnitResult",
    "UnrecordedInput",
    "Verdict",
    "VerdictStatus",
    "blame",
    "classify",
    "compare",
    "divergence_from_json",
    "divergence_json",
    "explain",
    "field_changes",
    "first_of_each",
    "payload_key",
    "read_from_json",
    "read_json",
    "sentence",
    "step_from_json",
    "step_json",
    "step_positions",
    "steps_of",
    "verdict",
    "verdict_from_json",
    "verdict_json",
]
