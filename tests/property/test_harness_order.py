"""Dependency order holds for every graph of plug-ins without a cycle, and every cycle is found."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tachograph.core.errors import InvalidSetting
from tachograph.producers.harness import PluginPlan
from tachograph.producers.harness._order import in_dependency_order
from tachograph.producers.harness._plan import Plan, changed_plugins

Edges = set[tuple[int, int]]


def graphs(*, cyclic: bool) -> st.SearchStrategy[list[PluginPlan]]:
    """Plug-ins p0 … pN whose needs point backwards only, in any order; with a ring through some of them."""

    def build(size: int, edges: Edges, ring: list[int], order: list[int]) -> list[PluginPlan]:
        wanted = {(a % size, b % size) for a, b in edges}
        needs = {n: {min(a, b) for a, b in wanted if max(a, b) == n and a != b} for n in range(size)}
        if cyclic:
            steps = [each % size for each in ring]
            for a, b in zip(steps, [*steps[1:], steps[0]], strict=True):
                needs[a].add(b)
        names = [n for n in order if n < size] + [n for n in range(size) if n not in order]
        return [PluginPlan(f"p{n}", "any", tuple(f"p{m}" for m in sorted(needs[n]))) for n in names]

    number = st.integers(0, 11)
    return st.builds(
        build,
        st.integers(1, 12),
        st.sets(st.tuples(number, number), max_size=30),
        st.lists(number, min_size=1, max_size=4, unique=True),
        st.permutations(range(12)),
    )


@settings(print_blob=True)
@given(graphs(cyclic=False))
def test_everything_stands_behind_what_it_needs(plugins: list[PluginPlan]) -> None:
    """No plug-in is lost, and a closure holds exactly what can be reached."""
    ordered = in_dependency_order(plugins)
    assert sorted(ordered) == sorted(plugin.name for plugin in plugins)
    places = {name: place for place, name in enumerate(ordered)}
    plan = Plan(plugins=ordered, model="p0")
    for plugin in plugins:
        assert all(places[need] < places[plugin.name] for need in plugin.needs)
        reached = {plugin.name}.union(*(plan.closure(need) for need in plugin.needs))
        assert set(plan.closure(plugin.name)) == reached


@settings(print_blob=True)
@given(graphs(cyclic=True))
def test_every_cycle_is_found(plugins: list[PluginPlan]) -> None:
    """A ring of needs, of any length, is refused."""
    with pytest.raises(InvalidSetting, match="cycle"):
        in_dependency_order(plugins)


@settings(print_blob=True)
@given(graphs(cyclic=False), st.integers(0, 11))
def test_a_change_reaches_what_needs_it_and_nothing_else(plugins: list[PluginPlan], pick: int) -> None:
    """After one plug-in's settings changed, exactly those are made anew whose closure holds it."""
    name = plugins[pick % len(plugins)].name
    before = Plan(plugins=in_dependency_order(plugins), model="p0")
    edited = [
        PluginPlan(each.name, each.use, each.needs, {"new": True} if each.name == name else {}) for each in plugins
    ]
    after = Plan(plugins=in_dependency_order(edited), model="p0")
    assert changed_plugins(before, after) == {each for each in after.plugins if name in after.closure(each)}
