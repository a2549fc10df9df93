"""What a report says in its own words: titles, and what verdicts mean in plain language."""

from __future__ import annotations

from tachograph.core.replay import Divergence, Level, Verdict, VerdictStatus
from tachograph.core.state import Severity, SignatureHit
from tachograph.replay_workers._report_values import Kind, Report, RunFacts
from tachograph.schemas import ROOT_AGENT_ID

_TITLES = {
    "SIDE_EFFECT_UNKNOWN_RETRY_DUPLICATE": "an effect that may have happened was executed again",
    "SIDE_EFFECT_DUPLICATE": "the same effect happened twice",
    "SIDE_EFFECT_UNKNOWN": "nobody knows whether an effect happened",
    "TOOL_LOOP": "an agent repeats one call with the same answer",
    "MESSAGE_LOST": "a message was never received",
    "AGENT_STUCK": "an agent waits for what never comes back",
    "STREAM_TRUNCATED": "a recording breaks off",
}

LEVEL_NAMES = ("control flow", "state", "content")
_MEANINGS = {
    "control flow": "the same calls, messages and facts, in the same order",
    "state": "every state, checkpoint, artifact and end result is the same",
    "content": "every argument and message is the same, byte for byte in canonical form",
}
_OTHERWISE = {
    "control flow": "other calls, messages or facts, or another order",
    "state": "a state, a checkpoint, an artifact or an end result differs",
    "content": "an argument or a message differs",
}


def title_of(run: RunFacts | None, run_name: str, found: Divergence | None = None) -> str:
    """The incident in a few words: the gravest signature, else how the run ended, else where its replay diverges."""
    name = (run.name if run is not None else "") or run_name or "A run"
    if run is None:
        return f"{name}: its log cannot be read"
    failures = failures_of(run.signatures)
    if failures:
        told = failures[0].name.lower().replace("_", " ")
        return f"{name}: {_TITLES.get(failures[0].name, told)}"
    if run.status == "ERROR":
        return f"{name}: ended with {error_name(run.error_type or 'an error')}"
    if found is not None:
        return f"{name}: the replay diverges at step {found.step} of {found.agent_id}"
    return f"{name}: no known failure"


def fork_title(parent: RunFacts | None, ended: str) -> str:
    """A fork is named after its parent and how it ended, not after an incident that it did not have."""
    name = (parent.name if parent is not None else "") or "a run"
    return f"Fork of {name}: {'ended well' if ended == 'OK' else f'ended in {error_name(ended)}'}"


def error_name(told: str) -> str:
    """The class of an error without its module and its message."""
    return told.partition(":")[0].strip().rpartition(".")[2]


def failures_of(hits: tuple[SignatureHit, ...]) -> list[SignatureHit]:
    """The signatures that stand for a failure."""
    return [hit for hit in hits if hit.severity is Severity.FAILURE]


def summary_of(kind: Kind, verdict: Verdict, error: str | None, ended: str | None) -> str:
    """One sentence: what this replay or fork showed."""
    if kind == "fork":
        return _fork_summary(verdict, ended or "")
    if verdict.status is VerdictStatus.REPRODUCED:
        return "Everything that was recorded happened again: this is what the control logic does with these answers."
    if verdict.status is VerdictStatus.DIVERGED:
        found = verdict.first_divergence
        return (found.sentence if found is not None else "") or "The replay does not do what the recording did."
    return _limited_summary(verdict, error)


def levels_of(verdict: Verdict) -> list[tuple[str, Level]]:
    """The three levels by name."""
    return list(zip(LEVEL_NAMES, (verdict.control_flow, verdict.state, verdict.content), strict=True))


def agents_count(report: Report) -> int:
    """Agents that took part, the run's own root not counted."""
    if report.run is None or report.run.agents_left_out:
        return report.verdict.agents
    return len({agent.agent_id for agent in report.run.agents} - {ROOT_AGENT_ID})


def _limited_summary(verdict: Verdict, error: str | None) -> str:
    proved = [name for name, level in levels_of(verdict) if level == "reproduced"]
    if not proved or error is not None:
        return f"Nothing is proved: {error or next(iter(verdict.missing), 'evidence is missing')}"
    open_levels = [name for name in LEVEL_NAMES if name not in proved]
    claimed = f"Reproduced as far as the evidence goes: {' and '.join(proved)}."
    return f"{claimed} Nothing is claimed of {' and '.join(open_levels)}." if open_levels else claimed


def _fork_summary(verdict: Verdict, ended: str) -> str:
    end = "It ended well." if ended == "OK" else f"It ended in {error_name(ended)}."
    first = verdict.first_divergence
    if first is None:
        so_far = "As far as it came, the fork" if verdict.status is VerdictStatus.LIMITED else "The fork"
        return f"{so_far} did what its parent did. {end}"
    return f"The fork leaves its parent at step {first.step} of agent {first.agent_id!r}. {end}"


def level_word(kind: Kind, level: Level) -> str:
    """A level in one word or two."""
    if kind == "fork":
        return {"reproduced": "as its parent", "diverged": "differs", "not_proved": "not proved"}[level]
    return {"reproduced": "reproduced", "diverged": "diverged", "not_proved": "not proved"}[level]


def level_meaning(name: str, level: Level, verdict: Verdict) -> str:
    """What a level says."""
    if level == "not_proved":
        parted = verdict.first_divergence is not None
        why = "both sides part before it can be compared" if parted else "evidence is missing"
        return f"nothing is claimed: {why}"
    return _MEANINGS[name] if level == "reproduced" else _OTHERWISE[name]


def kind_meaning(kind: Kind) -> str:
    """What kind of thing this is, never to be confused."""
    if kind == "fork":
        return (
            "A fork is a new run under changed conditions. It did not happen: its answers come from its parent's "
            "recording, and its effects are never executed."
        )
    return (
        "A replay drives the recorded control logic again and answers every call from the recording. "
        "The time line below is the recording: it did happen."
    )


def code_meaning(verdict: Verdict) -> str:
    """Whether the code that was driven is the recorded one."""
    recorded, replayed = verdict.recorded_code, verdict.replayed_code
    if recorded is None or replayed is None:
        return "unknown whether both are the same"
    return "the same code" if recorded == replayed else "other code than recorded"


def grade_meaning(grade: str) -> str:
    """What evidence of a grade is good for."""
    return {
        "COMPLETE": "everything that a replay needs was recorded",
        "CONTROL_FLOW": "the order of calls can be proved, not every content",
        "TOOLS_ONLY": "answers are there, control logic cannot be driven",
        "SPANS_ONLY": "only what happened is there, not what it was made of",
        "TRUNCATED": "the recording breaks off or has holes",
    }.get(grade, "")
