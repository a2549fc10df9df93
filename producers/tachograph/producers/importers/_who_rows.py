"""A file of the Who&When set as the steps it tells: who said what to whom."""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tachograph.producers.importers._rows import UnusableRow, items, mapping, optional_text, text
from tachograph.schemas import ROOT_AGENT_ID

_ROLE = re.compile(r"^(?P<name>.+?)\s*\((?P<note>[^()]*)\)$")
_NOT_IN_IDS = re.compile(r"[^A-Za-z0-9._@:-]+")
_ID_CHARACTERS_MAX = 100


@dataclass(frozen=True, slots=True)
class Said:
    """One entry of the history."""

    number: int
    """Its index, as `mistake_step` counts."""
    speaker: str
    """Agent id."""
    to: tuple[str, ...]
    """Agent ids; empty: a thought."""
    role: str
    """As the file has it."""
    content: str


@dataclass(frozen=True, slots=True)
class Case:
    """One failed run."""

    question: str
    agents: Mapping[str, str]
    """Agent id to the name in the file, in the order of their first words."""
    steps: tuple[Said, ...]
    mistake_step: int | None
    """The step that was annotated as the decisive mistake, where it names one."""
    facts: Mapping[str, object]
    """What people know of it: ground truth, mistake, level, …"""


@dataclass(frozen=True, slots=True)
class _Entry:
    name: str
    target: str | None
    """Whom the entry names; "" for nobody."""
    role: str
    content: str


def case_of(row: object) -> Case:
    """The case in a row.

    Raises:
        UnusableRow: it has no history that can be walked.
    """
    fields = mapping("it", row)
    entries = [_entry(index, each) for index, each in enumerate(items("history", fields.get("history")))]
    group_chat = all("name" in mapping("it", each) for each in items("history", fields.get("history")))
    ids = _ids(entries)
    steps = tuple(_said(index, entries, ids, group_chat) for index in range(len(entries)))
    return Case(
        question=optional_text("question", fields.get("question")),
        agents={ids[name]: name for name in ids},
        steps=steps,
        mistake_step=_mistake_step(fields.get("mistake_step"), len(steps)),
        facts={key: value for key, value in fields.items() if key not in ("history", "system_prompt", "question")},
    )


def _entry(index: int, value: object) -> _Entry:
    message = mapping(f"history[{index}]", value)
    content = optional_text(f"history[{index}].content", message.get("content"))
    role = optional_text(f"history[{index}].role", message.get("role"))
    if "name" in message:
        return _Entry(text(f"history[{index}].name", message["name"]), None, role, content)
    if not role:
        raise UnusableRow(f"history[{index}] has neither a name nor a role")
    found = _ROLE.match(role)
    if found is None:
        return _Entry(role, None, role, content)
    note = found["note"].strip()
    return _Entry(found["name"], note[2:].strip() if note.startswith("->") else "", role, content)


def _ids(entries: Sequence[_Entry]) -> dict[str, str]:
    """Every name with an id that can be a key; different names get different ids."""
    ids: dict[str, str] = {}
    names = [entry.name for entry in entries] + [entry.target for entry in entries if entry.target]
    for name in dict.fromkeys(names):
        wanted = _NOT_IN_IDS.sub("_", name)[:_ID_CHARACTERS_MAX].strip(".") or "agent"
        taken = {ROOT_AGENT_ID, *ids.values()}
        numbered = (f"{wanted}_{number}" for number in itertools.count(2))
        ids[name] = next(each for each in itertools.chain([wanted], numbered) if each not in taken)
    return ids


def _said(index: int, entries: Sequence[_Entry], ids: Mapping[str, str], group_chat: bool) -> Said:
    entry = entries[index]
    speaker = ids[entry.name]
    to: tuple[str, ...]
    if entry.target is not None:
        to = (ids[entry.target],) if entry.target else ()
    elif group_chat:
        to = tuple(each for each in ids.values() if each != speaker)
    else:
        following = next((ids[each.name] for each in entries[index + 1 :] if each.name != entry.name), None)
        to = (following,) if following is not None else ()
    return Said(index, speaker, tuple(each for each in to if each != speaker), entry.role, entry.content)


def _mistake_step(value: object, steps: int) -> int | None:
    try:
        number = int(str(value))
    except ValueError:
        return None
    return number if 0 <= number < steps else None
