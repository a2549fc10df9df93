"""The `fork` service: a recorded run continued from a point under changes, written as a run of its own.

Every unit of the run is driven again, those that change and those that only replay. What a unit's control logic does is
answered by the options' overrides, else by recorded parts that are equal and not used yet (`_fork_parts`), else by nobody:
the fork stops there, or goes on with a stub. Nothing is ever executed. What an agent sends otherwise than in the recording
reaches its receiver, within a unit (`_fork_mail`) and beyond (`_fork_fleet`). The replaying process sends what happened as drafts
(`_fork_draft`); the parent gives them an order (`_fork_order`) and writes them (`_fork_run`).
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from tachograph.core.errors import InvalidSetting, UnknownRun
from tachograph.core.ports import ForkOptions, ForkResult
from tachograph.core.replay import UnitResult, Verdict, VerdictStatus, verdict
from tachograph.replay_workers._evidence import Evidence
from tachograph.replay_workers._fork_fleet import Fleet, Forked
from tachograph.replay_workers._fork_plan import plan_of
from tachograph.replay_workers._fork_run import write_fork
from tachograph.replay_workers._import import code_digest
from tachograph.replay_workers._process import ReplayProcess
from tachograph.replay_workers._reading import evidence_of
from tachograph.replay_workers._sources import new_run_id, now_us
from tachograph.stores import Home


def fork(home: Path, run_id: str, options: ForkOptions) -> ForkResult:
    """Fork a recorded run. Its log stays as it is, byte for byte.

    The fork point is `from_event`; without it the earliest override where nothing else changes, else the start. Before
    it, everything is served as recorded, and a step that is not as recorded stops the fork. Behind it, approvals are asked
    again. A unit in which nothing changes only replays.

    Raises:
        UnknownRun: there is no such run.
        InvalidSetting: an option names what the run does not have, or code that cannot be imported; nothing is written.
        MissingBody: a body of the run is missing; nothing is written.
    """
    with ReplayProcess() as process:
        return fork_run(Home.open(home), run_id, options, process)


def fork_run(home: Home, run_id: str, options: ForkOptions, process: ReplayProcess) -> ForkResult:
    """`fork` in an opened home, by a process that is there."""
    began = time.monotonic()
    if run_id not in set(home.log.run_ids()):
        raise UnknownRun(run_id, str(home.path))
    evidence = evidence_of(home, run_id)
    if evidence.missing_body is not None:
        raise evidence.missing_body
    planned = plan_of(evidence, options)
    fork_id = new_run_id()
    units = Fleet(home, evidence, options, process).forked(planned)
    _check_begun(units, options)
    named = write_fork(home, fork_id, evidence, options, units, now_us()) if units else []
    found = _verdict(evidence, units, named)
    return ForkResult(fork_id, run_id, found, _ended(units), time.monotonic() - began)


def _check_begun(units: Sequence[Forked], options: ForkOptions) -> None:
    """Control logic that could not be imported has done nothing that a run could be written of."""
    for one in units:
        ended, recorded, driven = (
            one.attempt.ended or "",
            one.planned.recorded.entrypoint,
            one.planned.driven.entrypoint,
        )
        if one.planned.change.changed and not one.attempt.result.driven and not one.lost:
            if driven != recorded:
                raise InvalidSetting("--replace", f"{recorded}={driven}", ended)
            raise InvalidSetting("--code", options.code, ended)


def _verdict(evidence: Evidence, units: Sequence[Forked], named: Sequence[str]) -> Verdict:
    attempts = [one.attempt for one in units]
    digests = {digest for one in attempts if one.source and (digest := code_digest(one.source)) is not None}
    results = [one.result for one in attempts] + [UnitResult(driven=False)] * evidence.undriven
    inexact = [text for one in units for text in one.inexact]
    found = verdict(
        results,
        fidelity=evidence.fidelity,
        missing=evidence.missing,
        taints=[*evidence.taints, *inexact, *named],
        recorded_code=evidence.code,
        replayed_code=", ".join(sorted(digests)) or None,
    )
    stopped = any(one.result.missing for one in attempts)
    return replace(found, status=VerdictStatus.LIMITED) if stopped else found


def _ended(units: Sequence[Forked]) -> str:
    """How control logic ended: of the units that change, the first that did not end well."""
    changed = [one for one in units if one.planned.change.changed] or list(units)
    endings = [one.attempt.ended or "it did not end" for one in changed]
    return next((ending for ending in endings if ending != "OK"), "OK" if endings else "nothing could be driven")
