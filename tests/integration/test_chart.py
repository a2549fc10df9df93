"""The chart renders objects that Kubernetes takes, that need no rights, and that `tacho` understands."""

from __future__ import annotations

import re
from typing import Any

import helm_python
import kubernetes_validate
import pytest

from charts import CHART, EVERYTHING, containers, pods, render
from house import ROOT
from tachograph.stores.backend import backend_of

PROCESSORS = {"archive", "fold", "insights"}
DOCUMENTED = set(re.findall(r"`(TACHO_[A-Z0-9_]+)`", (ROOT / "docs" / "settings.md").read_text()))
WARNING = 2
"""Of Helm's severities: 1 is information."""

VALUES = pytest.mark.parametrize("values", [{}, EVERYTHING], ids=["defaults", "everything"])


def test_lint_finds_nothing() -> None:
    """`helm lint --strict`."""
    found = helm_python.lint(CHART, strict=True)
    assert [message for message in found["messages"] if message["severity"] >= WARNING] == []
    assert found["errors"] == []


def test_the_version_is_that_of_the_package() -> None:
    """A chart runs the release that it was made with."""
    pinned = re.search(r'^version = "(.*)"$', (ROOT / "pyproject.toml").read_text(), re.MULTILINE)
    assert pinned is not None
    with helm_python.Chart.load(CHART) as chart:
        assert chart.metadata["appVersion"] == pinned[1]


@VALUES
@pytest.mark.parametrize("version", ["1.27", "1.31", "1.37"])
def test_kubernetes_takes_every_object(values: dict[str, Any], version: str) -> None:
    """Each object agrees with the schema of Kubernetes, which knows no other field; from the oldest version promised on."""
    objects = render(values)
    assert {found["kind"] for found in objects} >= {"Deployment", "Job", "NetworkPolicy", "PodDisruptionBudget"}
    for found in objects:
        kubernetes_validate.validate(found, version, strict=True)


@VALUES
def test_names_and_selectors(values: dict[str, Any]) -> None:
    """No two objects have one name; each selector finds exactly the pods that it is for; long names are no trouble."""
    objects = render(values, name="a" * 53)
    names = [(found["kind"], found["metadata"]["name"]) for found in objects]
    assert len(names) == len(set(names))
    assert all(len(name) <= 63 for _, name in names)
    labels = {name: pod["metadata"]["labels"].items() for name, pod in pods(objects).items()}
    for found in objects:
        if found["kind"] in {"Deployment", "PodDisruptionBudget"}:
            wanted = found["spec"]["selector"]["matchLabels"].items()
            assert [name for name, has in labels.items() if wanted <= has] == [found["metadata"]["name"]]


@VALUES
def test_pods_are_restricted(values: dict[str, Any]) -> None:
    """Every pod keeps to the Pod Security Standard "restricted", writes nothing but its scratch and holds no token."""
    objects = render(values)
    assert len(pods(objects)) == 4
    for pod in pods(objects).values():
        spec = pod["spec"]
        assert spec["automountServiceAccountToken"] is False
        assert not {"hostNetwork", "hostPID", "hostIPC"} & spec.keys()
        assert spec["securityContext"]["runAsNonRoot"] is True
        assert spec["securityContext"]["runAsUser"] > 0
        assert all({"emptyDir", "secret", "configMap"} & volume.keys() for volume in spec["volumes"])
    for container in containers(objects):
        context = container["securityContext"]
        assert context["allowPrivilegeEscalation"] is False
        assert context["privileged"] is False
        assert context["readOnlyRootFilesystem"] is True
        assert context["runAsNonRoot"] is True
        assert context["capabilities"] == {"drop": ["ALL"]}
        assert context["seccompProfile"] == {"type": "RuntimeDefault"}
        assert {"cpu", "memory"} <= container["resources"]["requests"].keys()
        assert "memory" in container["resources"]["limits"]
        writable = [mount for mount in container["volumeMounts"] if not mount.get("readOnly")]
        assert {mount["name"] for mount in writable} == {"scratch"}


@VALUES
def test_every_setting_is_one_that_tacho_reads(values: dict[str, Any]) -> None:
    """Each variable is documented, and together they make a backend."""
    for container in containers(render(values)):
        environment = {variable["name"]: variable for variable in container["env"]}
        assert environment.keys() <= DOCUMENTED
        given = {name: variable.get("value", "redis://secret") for name, variable in environment.items()}
        files = {name for name in given if name in {"TACHO_KAFKA_CONFIG", "TACHO_DIGEST_KEY_FILE"}}
        assert backend_of({name: value for name, value in given.items() if name not in files}).kafka is not None
        mounts = [mount["mountPath"] for mount in container["volumeMounts"]]
        assert all(any(given[name].startswith(f"{mount}/") for mount in mounts) for name in files)


def test_every_setting_of_servers_can_be_given() -> None:
    """Whatever `backend_of` reads, a value of the chart sets; a file of settings is not needed then."""
    from tachograph.stores.backend import _settings

    given = {variable["name"] for container in containers(render(EVERYTHING)) for variable in container["env"]}
    of_recorders = {"TACHO_SPOOL_KEEP_HOURS"}
    assert set(_settings._VARIABLES) - of_recorders <= given


@VALUES
def test_secrets_are_named_and_never_written(values: dict[str, Any]) -> None:
    """No object holds a secret; each is read from one that is named."""
    objects = render(values)
    assert "Secret" not in {found["kind"] for found in objects}
    for container in containers(objects):
        for variable in container["env"]:
            secret = variable["name"].endswith(("_KEY", "REDIS_URL"))
            assert secret == ("secretKeyRef" in variable.get("valueFrom", {})), variable["name"]


def test_health_is_asked_where_it_is_answered() -> None:
    """Probes ask `/healthz` of the port that the processor is told to answer on, and give it time to start and to end."""
    for name, pod in pods(render({"metrics": {"port": 9999}})).items():
        if name == "demo-topics":
            continue
        (container,) = pod["spec"]["containers"]
        assert "9999" in container["args"]
        assert container["ports"] == [{"name": "metrics", "containerPort": 9999, "protocol": "TCP"}]
        for probe in ("startupProbe", "livenessProbe", "readinessProbe"):
            assert container[probe]["httpGet"] == {"path": "/healthz", "port": "metrics"}
        startup = container["startupProbe"]
        assert startup["periodSeconds"] * startup["failureThreshold"] >= 60
        assert pod["spec"]["terminationGracePeriodSeconds"] >= 60


def test_the_topic_job_comes_first() -> None:
    """Topics are there before a processor starts; what the job needs is there before the job."""
    hooks = {
        (found["kind"], found["metadata"]["name"]): found["metadata"]["annotations"]
        for found in render(EVERYTHING)
        if "helm.sh/hook" in found["metadata"].get("annotations", {})
    }
    assert hooks.keys() == {("Job", "demo-topics"), ("ConfigMap", "demo-topics"), ("NetworkPolicy", "demo-topics")}
    assert {annotations["helm.sh/hook"] for annotations in hooks.values()} == {"pre-install,pre-upgrade"}
    weights = {kind: int(annotations["helm.sh/hook-weight"]) for (kind, _), annotations in hooks.items()}
    assert max(weights["ConfigMap"], weights["NetworkPolicy"]) < weights["Job"]


def test_the_network_is_closed() -> None:
    """In: metrics, to the namespace. Out: names and the servers' ports. The job: names and Kafka."""
    objects = render(
        {
            "kafka": {"bootstrap": "a:9092, b:9094"},
            "s3": {"url": "https://s3.example"},
            "registry": {"url": "http://r:8081/apis/ccompat/v7"},
        }
    )
    policies = {found["metadata"]["name"]: found["spec"] for found in objects if found["kind"] == "NetworkPolicy"}
    assert policies["demo"]["ingress"] == [
        {"ports": [{"port": 9464, "protocol": "TCP"}], "from": [{"podSelector": {}}]}
    ]
    assert out(policies["demo"]) == {53, 443, 6379, 8081, 9092, 9094}
    assert "ingress" not in policies["demo-topics"]
    assert out(policies["demo-topics"]) == {53, 9092, 9094}
    assert all(policy["policyTypes"] == ["Ingress", "Egress"] for policy in policies.values())


def out(policy: dict[str, Any]) -> set[int]:
    """Ports that a policy lets out."""
    return {port["port"] for rule in policy["egress"] for port in rule["ports"]}


@pytest.mark.parametrize("processor", sorted(PROCESSORS))
def test_a_processor_can_be_left_out(processor: str) -> None:
    """With everything of its own."""
    objects = render({"processors": {processor: {"enabled": False}}})
    assert not [found for found in objects if found["metadata"]["name"] == f"demo-{processor}"]
    assert {f"demo-{other}" for other in PROCESSORS - {processor}} < set(pods(objects))
