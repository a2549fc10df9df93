"""Rendering the chart as Helm does, without a cluster."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping
from typing import Any

import helm_python
import yaml

from house import ROOT

CHART = ROOT / "helm" / "tachograph"
Values = Mapping[str, Any]

EVERYTHING: Values = {
    "kafka": {"properties": {"existingSecret": "kafka-client"}},
    "digestKey": {"existingSecret": "digest"},
    "topics": {"config": "[all]\npartitions = 3\n"},
}
"""What is off by default, on."""


def render(values: Values | None = None, name: str = "demo") -> list[dict[str, Any]]:
    """The objects of the chart.

    Raises:
        helm_python.HelmError: the values cannot be.
    """
    with helm_python.Chart.load(CHART) as chart:
        given = dict(values or {})
        chart.validate_schema(given)
        rendered = chart.render(given, name=name, namespace="flights")
    texts = [text for path, text in sorted(rendered.items()) if not path.endswith(".txt")]
    return [document for text in texts for document in yaml.safe_load_all(text) if document]


def text_of(values: Values | None = None) -> str:
    """All that is rendered, the notes included."""
    with helm_python.Chart.load(CHART) as chart:
        rendered = chart.render(dict(values or {}), name="demo", namespace="flights")
    return "".join(f"# {path}\n{text}" for path, text in sorted(rendered.items()))


def pods(objects: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """The pod templates, by the name of what makes them."""
    return {
        found["metadata"]["name"]: found["spec"]["template"] for found in objects if "template" in found.get("spec", {})
    }


def containers(objects: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Every container of every pod."""
    for pod in pods(objects).values():
        yield from pod["spec"]["containers"]


def defaults() -> dict[str, Any]:
    """values.yaml."""
    found: dict[str, Any] = yaml.safe_load((CHART / "values.yaml").read_text())
    return found


def leaves(values: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Path and content of each value; an empty mapping is one, too."""
    if isinstance(values, dict) and values:
        for name, value in values.items():
            yield from leaves(value, (*path, name))
    else:
        yield path, values


def with_value(values: Values, path: tuple[str, ...], value: Any) -> dict[str, Any]:
    """A copy with one value put in another's place."""
    changed: dict[str, Any] = copy.deepcopy(dict(values))
    place = changed
    for name in path[:-1]:
        place = place.setdefault(name, {})
    place[path[-1]] = value
    return changed


def merged(one: Values, other: Values) -> dict[str, Any]:
    """`one` with what `other` says on top."""
    result = copy.deepcopy(dict(one))
    for path, value in leaves(other):
        result = with_value(result, path, value)
    return result
