"""Each value of the chart is explained, used, and refused where it cannot be."""

from __future__ import annotations

import json
import re
from typing import Any

import helm_python
import pytest

from charts import CHART, EVERYTHING, defaults, leaves, merged, render, text_of, with_value
from house import ROOT

SCHEMA: dict[str, Any] = json.loads((CHART / "values.schema.json").read_text())
LEAVES = list(leaves(defaults()))
OTHERS: dict[str, Any] = {
    "image.digest": "sha256:" + "ab" * 32,
    "image.pullPolicy": "Always",
    "image.pullSecrets": ["puller"],
    "kafka.bootstrap": "other:9092",
    "registry.url": "",
    "s3.url": "https://other",
    "processors.archive.resources.requests.cpu": "3",
    "processors.fold.resources.requests.cpu": "3",
    "processors.insights.resources.requests.cpu": "3",
    "topics.resources.requests.cpu": "3",
    "networkPolicy.metricsFrom": [{"namespaceSelector": {"matchLabels": {"name": "monitoring"}}}],
    "networkPolicy.egressTo": [{"ipBlock": {"cidr": "10.0.0.0/8"}}],
    "serviceAccount.annotations": {"role": "reader"},
    "scratchSize": "7Gi",
    "extraEnv": [{"name": "TZ", "value": "UTC"}],
    "podLabels": {"team": "flights"},
    "podAnnotations": {"team": "flights"},
    "nodeSelector": {"disk": "fast"},
    "tolerations": [{"key": "dedicated", "operator": "Exists"}],
    "affinity": {"nodeAffinity": {}},
    "topologySpreadConstraints": [{"maxSkew": 2, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule"}],
    "topics.config": "[all]\npartitions = 5\n",
}
"""Another content of values that have a form of their own."""


def other(path: tuple[str, ...], value: Any) -> Any:
    """A content that a value does not have yet."""
    name = ".".join(path)
    if name in OTHERS:
        return OTHERS[name]
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return value + 31
    return "9Gi" if name.endswith("memory") else "other"


@pytest.mark.parametrize(("path", "value"), LEAVES, ids=[".".join(path) for path, _ in LEAVES])
def test_each_value_is_used(path: tuple[str, ...], value: Any) -> None:
    """Another content gives other objects, which still render."""
    changed = with_value(EVERYTHING, path, other(path, value))
    if path == ("image", "tag"):
        assert "tachograph:other" in text_of(changed)
    render(changed)
    assert text_of(changed) != text_of(EVERYTHING)


@pytest.mark.parametrize("path", [path for path, _ in LEAVES], ids=".".join)
def test_each_value_has_its_kind(path: tuple[str, ...]) -> None:
    """A content of another kind is refused, and the message names the value."""
    wrong: Any = 1.5 if isinstance(dict(LEAVES)[path], str) else "wrong kind"
    if path[-1] == "maxUnavailable":
        wrong = "half"
    with pytest.raises(helm_python.HelmValuesError) as caught:
        render(with_value({}, path, wrong))
    assert path[-1] in str(caught.value)


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("kafka.bootstrap", ""),
        ("kafka.bootstrap", "kafka"),
        ("kafka.topicPrefix", "tacho events"),
        ("s3.url", "s3:9000"),
        ("s3.url", "http://user:password@s3"),
        ("s3.existingSecret", ""),
        ("s3.bucket", "UPPER"),
        ("redis.existingSecret", "redis://:password@host"),
        ("registry.url", "registry:8081"),
        ("image.digest", "sha256:abc"),
        ("image.pullPolicy", "Sometimes"),
        ("metrics.port", 80),
        ("runAsUser", 0),
        ("processors.archive.replicas", 0),
        ("processors.archive.terminationGracePeriodSeconds", 0),
        ("processors.archive.resources", {"requests": {"cpu": "much"}, "limits": {}}),
        ("processors.fold.maxUnavailable", "half"),
        ("processors.unknown", {"enabled": True}),
        ("networkPolicy.metricsFrom", []),
        ("extraEnv", [{"name": "TACHO_S3_SECRET_KEY", "value": "secret"}]),
        ("podLabels", {"app.kubernetes.io/name": "other"}),
        ("scratchSize", "much"),
    ],
)
def test_what_cannot_be_is_refused(path: str, value: Any) -> None:
    """Before anything reaches a cluster."""
    with pytest.raises(helm_python.HelmValuesError):
        render(with_value({}, tuple(path.split(".")), value))


def objects_of(schema: dict[str, Any], path: tuple[str, ...] = ()) -> list[tuple[str, ...]]:
    """Paths of the objects whose fields the schema names."""
    if "properties" not in schema:
        return []
    below = [found for name, part in schema["properties"].items() for found in objects_of(part, (*path, name))]
    return [path, *below]


@pytest.mark.parametrize("path", objects_of(SCHEMA), ids=lambda path: ".".join(path) or "top")
def test_a_typing_mistake_is_refused(path: tuple[str, ...]) -> None:
    """On every level, a name that is none of the chart's is no value."""
    with pytest.raises(helm_python.HelmValuesError, match="mistake"):
        render(with_value({}, (*path, "mistake"), 1))


def test_schema_and_values_name_the_same() -> None:
    """Every value of values.yaml has a description, and every one described is there."""
    described = dict(described_in(SCHEMA))
    assert all(text.endswith(".") for text in described.values())
    tops = {path for path, _ in LEAVES} | {path[:i] for path, _ in LEAVES for i in range(1, len(path))}
    free = {path for path in tops if "resources" in path[:-1]}
    assert tops - free == described.keys() - {("global",)}


def described_in(schema: dict[str, Any], path: tuple[str, ...] = ()) -> list[tuple[tuple[str, ...], str]]:
    """Path and description of each value."""
    found: list[tuple[tuple[str, ...], str]] = []
    for name, part in schema.get("properties", {}).items():
        if "description" in part:
            found += [((*path, name), part["description"]), *described_in(part, (*path, name))]
    return found


def test_the_document_explains_each_value() -> None:
    """helm/README.md has a row for each, with the default and the schema's words: run this file to get them."""
    text = (ROOT / "helm" / "README.md").read_text()
    rows = re.findall(r"^\| `.*$", text, re.MULTILINE)
    assert rows == table()


def table() -> list[str]:
    """The rows of the document."""
    described = dict(described_in(SCHEMA))
    shown: list[str] = []
    for path, text in described.items():
        content = value_at(path)
        if (
            "resources" not in path[:-1]
            and path != ("global",)
            and not (isinstance(content, dict) and content and path[-1] != "resources")
        ):
            shown.append(f"| `{'.'.join(path)}` | `{json.dumps(content, ensure_ascii=False)}` | {text} |")
    return shown


def value_at(path: tuple[str, ...]) -> Any:
    """A default."""
    value: Any = defaults()
    for name in path:
        value = value.get(name) if isinstance(value, dict) else None
    return value


def test_values_of_two_sources_are_merged() -> None:
    """What the tests put together is what Helm does."""
    with helm_python.Chart.load(CHART) as chart:
        given = chart.merge_values(dict(EVERYTHING))
    assert given == merged(defaults(), EVERYTHING)


if __name__ == "__main__":
    print("\n".join(table()))
