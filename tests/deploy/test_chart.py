"""The plain manifests are what the chart renders, and that fits the processes that it starts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import click
import pytest
import yaml

from fencepost.cli.main import cli
from fencepost.cli.serving import LAST_RESORT_S
from fencepost.config import settings_from
from fencepost.model.variables import PREFIX
from fencepost.telemetry.catalogue import CATALOGUE
from fencepost.version import VERSION
from scripts.manifests import CHART, PLAIN_VALUES, HelmRefused, plain_manifests, rendered, run_helm
from scripts.manifests import PLAIN as PLAIN_FILE
from tests.deploy.charts import (
    OPTIONS,
    PLAIN,
    Manifest,
    containers,
    manifests,
    named,
    needs_helm,
    pods,
    values_file,
)

pytestmark = needs_helm

LEASE_RIGHTS = Path(__file__).parents[2] / "examples" / "kubernetes" / "leases-rbac.yaml"
EACH = (PLAIN, *OPTIONS)


def test_the_plain_manifests_are_what_the_chart_renders() -> None:
    assert PLAIN_FILE.read_text("utf-8") == plain_manifests(), "run: make manifests"


@pytest.mark.parametrize("option", OPTIONS)
def test_helm_finds_nothing_to_complain_about(option: str) -> None:
    said = run_helm("lint", "--strict", CHART, "--values", PLAIN_VALUES, "--values", values_file(option))
    assert "0 chart(s) failed" in said
    assert "WARNING" not in said


def test_the_chart_is_of_this_version() -> None:
    chart = yaml.safe_load((CHART / "Chart.yaml").read_text())
    assert (chart["version"], chart["appVersion"]) == (VERSION, VERSION)


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ("image.repository=", "image.repository: set it to the image of your application"),
        ("image.tag=", "image.tag: set it"),
        ("target=", "target: set it to module:app"),
        ("scheduler.replica=2", "replica"),
        ("settings.store=postgresql://db/shop", "settings"),
        ("leases.kubernetes=true,leases.secretName=etcd", "leases: set kubernetes or secretName, not both"),
    ],
)
def test_values_that_cannot_work_are_refused(given: str, told: str) -> None:
    with pytest.raises(HelmRefused, match=told):
        rendered("--set", given)


def test_every_value_is_set_by_a_file_of_the_tests() -> None:
    given = [set(leaves(yaml.safe_load(values_file(option).read_text()))) for option in OPTIONS]
    given.append(set(leaves(yaml.safe_load(PLAIN_VALUES.read_text()))))
    known = set(leaves(yaml.safe_load((CHART / "values.yaml").read_text())))
    assert {one for one in known if not any(is_set(one, each) for each in given)} == set()


@pytest.mark.proof
@pytest.mark.parametrize("option", OPTIONS)
def test_every_value_has_an_effect(option: str, tmp_path: Path) -> None:
    whole = yaml.safe_load(values_file(option).read_text())
    reference = rendered("--values", values_file(option))
    file = tmp_path / "values.yaml"
    idle = []
    for path in leaves(whole):
        file.write_text(yaml.safe_dump(without(whole, path)))
        try:
            if rendered("--values", file) == reference:
                idle.append(path)
        except HelmRefused:
            continue
    assert idle == []


@pytest.mark.parametrize("option", EACH)
def test_every_process_is_a_command_that_exists(option: str) -> None:
    for container in containers(option):
        name, *arguments = container["args"]
        with click.Context(cli) as context:
            command = cli.get_command(context, name)
            assert command is not None
            command.make_context(name, arguments, parent=context).close()


@pytest.mark.parametrize("option", EACH)
def test_every_variable_is_a_setting(option: str) -> None:
    for container in containers(option):
        names = [one["name"] for one in container["env"]]
        assert len(names) == len(set(names))
        environment = {one["name"]: one.get("value", "") for one in container["env"]}
        ours = {name: value for name, value in environment.items() if name.startswith(PREFIX) and value}
        settings_from(environment=ours)


@pytest.mark.parametrize("option", EACH)
def test_no_secret_is_written_into_a_manifest(option: str) -> None:
    for container in containers(option):
        by_name = {one["name"]: one for one in container["env"]}
        for name in ("STORE", "BROKER", "TOKEN"):
            one = by_name.get(PREFIX + name)
            assert one is None or set(one["valueFrom"]) == {"secretKeyRef"}
        leases = by_name.get(f"{PREFIX}LEASES", {"value": "kubernetes://"})
        assert leases.get("value", "kubernetes://").startswith("kubernetes://")
    assert manifests(option, "Secret") == []


@pytest.mark.parametrize("option", EACH)
def test_no_pod_is_killed_while_a_process_may_still_wait_for_its_jobs(option: str) -> None:
    for pod in pods(option):
        (container,) = pod["containers"]
        grace_s = next(float(one["value"]) for one in container["env"] if one["name"].endswith("GRACE_S"))
        assert pod["terminationGracePeriodSeconds"] > grace_s + LAST_RESORT_S


@pytest.mark.parametrize("option", EACH)
def test_no_process_may_be_root_or_write_to_its_file_system(option: str) -> None:
    for pod in pods(option):
        assert pod["securityContext"]["runAsNonRoot"]
        (container,) = pod["containers"]
        security = container["securityContext"]
        assert (security["readOnlyRootFilesystem"], security["allowPrivilegeEscalation"]) == (True, False)
        assert security["capabilities"] == {"drop": ["ALL"]}


@pytest.mark.parametrize("option", EACH)
def test_probes_ask_where_the_process_listens(option: str) -> None:
    for container in containers(option):
        ports = {one["name"]: one["containerPort"] for one in container.get("ports", ())}
        metrics = next((one["value"] for one in container["env"] if one["name"].endswith("METRICS")), None)
        bind = dict(zip(container["args"], container["args"][1:], strict=False)).get("--bind")
        listens = [where.rpartition(":")[2] for where in (metrics, bind) if where]
        assert [str(port) for port in ports.values()] == listens
        probes = {name: one["httpGet"] for name, one in container.items() if name.endswith("Probe")}
        assert {one["port"] for one in probes.values()} <= ports.keys()
        assert {name: one["path"] for name, one in probes.items()} == expected_probes(container["args"][0])


def expected_probes(command: str) -> dict[str, str]:
    if command == "migrate":
        return {}
    both = {"startupProbe": "/healthz", "livenessProbe": "/healthz"}
    return both | ({"readinessProbe": "/readyz"} if command == "web" else {})


@pytest.mark.parametrize("option", EACH)
def test_what_selects_pods_selects_those_of_its_component(option: str) -> None:
    labels = {
        one["metadata"]["name"]: one["spec"]["template"]["metadata"]["labels"]
        for one in manifests(option, "Deployment")
    }
    for one in (*manifests(option, "Deployment"), *manifests(option, "PodDisruptionBudget")):
        chosen = [name for name, own in labels.items() if fits(one["spec"]["selector"]["matchLabels"], own)]
        assert chosen == [one["metadata"]["name"]]
    for one in manifests(option, "Service"):
        chosen = [name for name, own in labels.items() if fits(one["spec"]["selector"], own)]
        is_web = one["metadata"]["name"].endswith("-web")
        assert all(name.endswith("-web") == is_web for name in chosen)
        assert len(chosen) == (1 if is_web else sum(not name.endswith("-web") for name in labels))


@pytest.mark.parametrize("option", EACH)
def test_workers_are_scaled_by_the_age_of_their_queues(option: str) -> None:
    (age,) = (one for one in CATALOGUE if one.name == "fencepost_queue_oldest_seconds")
    assert age.labels == ("queue",)
    deployed = {one["metadata"]["name"]: one["spec"] for one in manifests(option, "Deployment")}
    scaled = manifests(option, "HorizontalPodAutoscaler")
    for one in scaled:
        spec = deployed[one["spec"]["scaleTargetRef"]["name"]]
        assert "replicas" not in spec, "each apply would undo what the autoscaler decided"
        arguments = spec["template"]["spec"]["containers"][0]["args"]
        queues = settings_from(overrides={"queues": arguments[arguments.index("--queues") + 1]}).queues
        metrics = [each["external"]["metric"] for each in one["spec"]["metrics"]]
        assert [each["selector"]["matchLabels"]["queue"] for each in metrics] == list(queues)
    if option == PLAIN:
        assert scaled[0]["spec"]["metrics"][0]["external"]["metric"]["name"] == age.name


def test_leases_in_kubernetes_take_just_the_rights_that_they_need() -> None:
    (role,) = manifests("leases", "Role")
    documented = yaml.safe_load_all(LEASE_RIGHTS.read_text())
    assert role["rules"] == next(one["rules"] for one in documented if one["kind"] == "Role")
    (binding,) = manifests("leases", "RoleBinding")
    holder = binding["subjects"][0]["name"]
    for one in manifests("leases", "Deployment"):
        pod, plans_or_shows = one["spec"]["template"]["spec"], "worker" not in one["metadata"]["name"]
        assert (pod["serviceAccountName"] == holder) is plans_or_shows
        assert pod["automountServiceAccountToken"] is plans_or_shows


@pytest.mark.parametrize("option", [one for one in EACH if one != "leases"])
def test_no_pod_has_a_token_of_the_cluster_that_needs_none(option: str) -> None:
    assert not any(pod["automountServiceAccountToken"] for pod in pods(option))
    assert manifests(option, "Role") == []


def test_the_migration_uses_nothing_that_is_created_after_it() -> None:
    (job,) = manifests("everything", "Job")
    assert job["metadata"]["annotations"]["helm.sh/hook"] == "pre-install,pre-upgrade"
    assert job["spec"]["template"]["spec"]["serviceAccountName"] == "default"


def test_nothing_may_connect_to_a_pod_but_where_a_policy_lets_it() -> None:
    for option in (PLAIN, "everything"):
        policies = manifests(option, "NetworkPolicy")
        everything = named(policies, "-ingress")["spec"]
        assert everything["policyTypes"] == ["Ingress"]
        assert "ingress" not in everything
        for kind in ("Deployment", "Job"):
            for one in manifests(option, kind):
                labels = one["spec"]["template"]["metadata"]["labels"]
                assert fits(everything["podSelector"]["matchLabels"], labels)


def fits(selector: Mapping[str, str], labels: Mapping[str, str]) -> bool:
    return selector.items() <= labels.items()


def leaves(values: Mapping[str, Any], path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """The path of each value that holds no others of the chart's."""
    for name, value in values.items():
        if isinstance(value, dict) and value and name != "resources":
            yield from leaves(value, (*path, name))
        else:
            yield (*path, name)


def is_set(path: tuple[str, ...], given: set[tuple[str, ...]]) -> bool:
    """Whether the value or one within it is there."""
    return any(one[: len(path)] == path for one in given)


def without(values: Manifest, path: tuple[str, ...]) -> Manifest:
    """A copy that lacks the value."""
    name, *rest = path
    if not rest:
        return {key: value for key, value in values.items() if key != name}
    return values | {name: without(values[name], tuple(rest))}
