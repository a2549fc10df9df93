"""An assembly is read from YAML; whatever is wrong with it is named with its place, its value and the way out."""

from __future__ import annotations

import pytest

from tachograph.core.errors import InvalidSetting
from tachograph.producers.harness import plan_of

GOOD = """
system: You sell teapots.
rounds_max: 7
parameters: {model: tiny-1, temperature: 0.0}
plugins:
  mail: {use: smtp, needs: [database, clock], settings: {port: 25}}
  clock: {use: clock}
  database: {use: sqlite, needs: [clock]}
  brain: {use: scripted, settings: {answers: [hello]}}
ports: {model: brain, tools: [mail]}
"""
INSTALLED = ("smtp", "clock", "sqlite", "scripted")


def test_plugins_come_in_dependency_order_and_everything_else_as_written() -> None:
    """A plug-in stands behind everything it needs; settings, ports and limits are what the text says."""
    plan = plan_of(GOOD, INSTALLED)
    assert list(plan.plugins) == ["clock", "database", "mail", "brain"]
    assert plan.plugins["mail"].settings == {"port": 25}
    assert (plan.model, plan.tools, plan.memory, plan.policy) == ("brain", ("mail",), None, None)
    assert (plan.rounds_max, plan.snapshot_rounds, plan.system) == (7, 1, "You sell teapots.")
    assert plan.parameters == {"model": "tiny-1", "temperature": 0.0}
    assert plan.closure("mail") == ["clock", "database", "mail"]
    assert len(plan.digest) == 64


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        (
            "{use: clock}",
            "{use: clock, needs: [mail]}",
            ["plugins.", "needs", "cycle", "mail needs database needs clock needs mail"],
        ),
        ("needs: [clock]", "needs: [database]", ["plugins.database.needs", "cycle: database needs database"]),
        ("needs: [clock]", "needs: [watch]", ["plugins.database.needs", "'watch'", "no such plug-in", "'clock'"]),
        ("use: smtp", "use: pigeon", ["plugins.mail.use", "'pigeon'", "'scripted', 'smtp'", "Install"]),
        ("use: smtp", "uses: smtp", ["plugins.mail.uses", "no such key", "'needs', 'settings', 'use'"]),
        ("model: brain", "model: head", ["ports.model", "'head'", "'brain'"]),
        ("model: brain,", "", ["ports.model", "None", "must be text"]),
        ("tools: [mail]", "tools: mail", ["ports.tools", "'mail'", "list of names"]),
        ("tools: [mail]", "tools: [7]", ["ports.tools[0]", "7", "text"]),
        ("tools: [mail]", "arms: [mail]", ["ports.arms", "no such key"]),
        ("rounds_max: 7", "rounds_max: 0", ["rounds_max", "0", "from 1 to"]),
        ("rounds_max: 7", "rounds_max: true", ["rounds_max", "True", "whole number"]),
        ("rounds_max: 7", "rounds: 7", ["assembly.rounds", "7", "'rounds_max'"]),
        ("{port: 25}", "[25]", ["plugins.mail.settings", "[25]", "mapping"]),
        ("{port: 25}", "{since: 2026-01-01}", ["assembly.plugins.mail.settings.since", "2026", "put it in quotes"]),
        ("{port: 25}", "{25: port}", ["assembly.plugins.mail.settings", "25", "key must be text"]),
        ("clock: {use: clock}", "database: {use: clock}", ["'database'", "twice"]),
        ("ports: {", "ports: [{", ["not YAML", "line"]),
        ("system: You", "system: !!python/object:os.system You", ["not YAML", "python/object"]),
    ],
)
def test_a_mistake_is_named_with_its_place_its_value_and_the_remedy(old: str, new: str, words: list[str]) -> None:
    """One changed place in a good assembly gives one error that names it."""
    assert old in GOOD
    with pytest.raises(InvalidSetting) as caught:
        plan_of(GOOD.replace(old, new), INSTALLED)
    for word in words:
        assert word in str(caught.value)


@pytest.mark.parametrize("text", ["", "[]", "hello", "42", "null"])
def test_what_is_no_mapping_is_no_assembly(text: str) -> None:
    """Empty files and other YAML are refused with a word on what an assembly is."""
    with pytest.raises(InvalidSetting, match="mapping of names"):
        plan_of(text, INSTALLED)


def test_a_text_that_unfolds_into_too_much_is_refused() -> None:
    """Aliases of aliases, endless nesting and endless length end in an error, soon."""
    bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x]\n"
    bomb += "".join(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]\n" for n in range(1, 9))
    for text in (bomb, "a: " + "[" * 200 + "]" * 200, "a: " + "[" * 5_000, "# " + "x" * 300_000):
        with pytest.raises(InvalidSetting):
            plan_of(text, INSTALLED)
