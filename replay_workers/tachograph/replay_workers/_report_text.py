"""A report as plain text, for a terminal, a mail or a ticket. Payload text in it is harmless."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping, Sequence

from tachograph.core.replay import explain
from tachograph.replay_workers._report_plain import clip, plain
from tachograph.replay_workers._report_values import AgentFacts, EffectFacts, Report, RunFacts, Timeline
from tachograph.replay_workers._report_window import gaps
from tachograph.replay_workers._report_words import (
    agents_count,
    code_meaning,
    grade_meaning,
    kind_meaning,
    level_meaning,
    level_word,
    levels_of,
)

_WIDTH = 100
_LINE_CHARACTERS_MAX = 160
_SENTENCE_CHARACTERS_MAX = 2_000
_LISTED_MAX = 100


def report_text(report: Report) -> str:
    """The whole report."""
    lines = [line for section in _sections(report) for line in (*section, "")]
    return "\n".join(plain(clip(line, _SENTENCE_CHARACTERS_MAX)) for line in lines).rstrip("\n") + "\n"


def _sections(report: Report) -> Iterator[list[str]]:
    yield list(_head(report))
    if report.verdict.first_divergence is not None:
        found = report.verdict.first_divergence
        silent = found.recorded is None and found.replayed is None
        heading = "PAST THE BOUNDARY, NO CONSEQUENCE SEEN" if silent else "FIRST DIVERGENCE"
        yield [heading, *explain(report.verdict.first_divergence)]
    yield list(_verdict(report))
    if report.changes:
        yield ["CHANGED AGAINST THE PARENT", *(f"  {one.name}: {one.text}" for one in report.changes)]
    for run, whose in ((report.run, "THE FORK" if report.kind == "fork" else "THE RUN"), (report.parent, "ITS PARENT")):
        if run is not None:
            yield from _run(run, whose)
    if report.timeline.rows:
        yield list(_timeline(report.timeline))


def _head(report: Report) -> Iterator[str]:
    yield f"{report.kind.upper()} REPORT"
    yield from _wrapped(report.title, "")
    yield ""
    yield from _wrapped(kind_meaning(report.kind), "")
    yield ""
    yield from _wrapped(f"{report.verdict.status.value.upper()}: {report.summary}", "")
    if report.ended is not None:
        yield from _wrapped(f"Ended in: {report.ended}", "")


def _verdict(report: Report) -> Iterator[str]:
    verdict = report.verdict
    yield "VERDICT"
    for name, level in levels_of(verdict):
        yield f"  {name:<13} {level_word(report.kind, level):<13} {level_meaning(name, level, verdict)}"
    between = "of" if verdict.steps_replayed <= verdict.steps_recorded else "and in the recording"
    yield f"  {'steps':<13} {verdict.steps_replayed} {between} {verdict.steps_recorded}, {agents_count(report)} agents"
    yield f"  {'served':<13} {_counted(verdict.served) or 'none'} from the recording"
    yield f"  {'sent out':<13} {_counted(verdict.live) or 'none: nothing left the process'}"
    yield f"  {'code':<13} {code_meaning(verdict)}: recorded {verdict.recorded_code}, driven {verdict.replayed_code}"
    yield from _listed("missing", verdict.missing)
    yield from _listed("not pure", verdict.taints)
    reads = [f"{read.what} at {read.file}:{read.line} by {read.agent_id}. {read.remedy}" for read in verdict.blocked]
    yield from _listed("bypassed", reads)


def _run(run: RunFacts, whose: str) -> Iterator[list[str]]:
    yield list(_header(run, whose))
    if run.signatures:
        hits = [line for hit in run.signatures for line in _signature(hit.name, hit.sentence)]
        yield [f"SIGNATURES OF {whose}", *hits, *_more(run.signatures_left_out)]
    if run.effects:
        effects = [line for effect in run.effects for line in _effect(effect)]
        yield [f"EFFECTS OF {whose}", *effects, *_more(run.effects_left_out)]
    agents = [line for agent in run.agents for line in _agent(agent)]
    yield [f"AGENTS OF {whose} AT THE END", *agents, *_more(run.agents_left_out)]


def _more(left_out: int) -> list[str]:
    return [f"  and {left_out} more"] if left_out else []


def _header(run: RunFacts, whose: str) -> Iterator[str]:
    yield f"{whose}: {run.name}"
    yield f"  {'run':<13} {run.run_id}, {run.events} events, ended {run.status}"
    yield f"  {'entry point':<13} {run.entrypoint or 'none'}"
    if run.parent_run_id is not None:
        yield f"  {'fork of':<13} {run.parent_run_id}"
    yield f"  {'evidence':<13} {run.grade}: {grade_meaning(run.grade)}"
    yield from _listed("missing", run.missing)


def _signature(name: str, sentence: str) -> Iterator[str]:
    yield f"  {name}"
    yield from _wrapped(sentence, "    ")


def _effect(effect: EffectFacts) -> Iterator[str]:
    yield f"  {effect.state:<10} {effect.name}{clip(effect.arguments, _LINE_CHARACTERS_MAX)}"
    yield f"  {'':<10} {effect.effect_id}, key {effect.idempotency_key or 'none'}, attempt {effect.attempt}"
    yield f"  {'':<10} receipt {clip(effect.receipt or 'none', _LINE_CHARACTERS_MAX)}"
    if effect.reason:
        yield f"  {'':<10} {effect.reason} (by {effect.by})"


def _agent(agent: AgentFacts) -> Iterator[str]:
    open_calls = f", {agent.open_calls} calls never came back" if agent.open_calls else ""
    life = f"#{agent.incarnation}" if agent.incarnation != 1 else ""
    yield f"  {agent.status:<10} {agent.agent_id}{life}, {agent.events} events{open_calls}"
    for value in agent.values:
        yield f"  {'':<10} {value.name} = {clip(value.text, _LINE_CHARACTERS_MAX)}"
    if agent.values_left_out:
        yield f"  {'':<10} and {agent.values_left_out} more"


def _timeline(timeline: Timeline) -> Iterator[str]:
    shown = (
        f"{len(timeline.rows)} of {timeline.rows_total} rows, around {timeline.around}" if timeline.around else "all"
    )
    yield f"TIME LINE ({shown}; seconds since the start)"
    left_out = dict(gaps([row.number for row in timeline.rows], timeline.rows_total))
    names = min(max(len(row.agent_id) for row in timeline.rows), 24)
    for position, row in enumerate(timeline.rows):
        if position in left_out:
            yield f"  … {left_out[position]} rows not shown"
        if row.diverges is not None:
            yield f"  {'>' * 8} {'first divergence' if row.is_first_divergence else 'diverges'}: {row.diverges}"
        mark = {"unknown": "?", "effect": "!", "failed": "x"}.get(row.kind, " ")
        outcome = f" -> {row.outcome}" if row.outcome else ""
        words = clip(f"{row.text}{outcome}", _LINE_CHARACTERS_MAX)
        yield f"  {row.at_ms / 1000:>+9.3f} {mark} {row.agent_id:<{names}}  {words}"
    if len(timeline.rows) in left_out:
        yield f"  … {left_out[len(timeline.rows)]} rows not shown"


def _counted(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{count} {kind}" for kind, count in sorted(counts.items()) if count)


def _listed(name: str, sentences: Sequence[str]) -> Iterator[str]:
    for place, sentence in enumerate(sentences[:_LISTED_MAX]):
        first, *rest = _wrapped(sentence, "")
        yield f"  {name if not place else '':<13} {first}"
        yield from (f"  {'':<13} {line}" for line in rest)
    if len(sentences) > _LISTED_MAX:
        yield f"  {'':<13} and {len(sentences) - _LISTED_MAX} more"


def _wrapped(text: str, indent: str) -> list[str]:
    """A sentence over several lines; long words stay whole, so that ids can be copied."""
    shown = clip(plain(text), _SENTENCE_CHARACTERS_MAX)
    wrapped = textwrap.wrap(shown, _WIDTH - len(indent), break_long_words=False, break_on_hyphens=False)
    return [indent + line for line in wrapped] or [indent]
