"""The alert rules: promtool takes them, each is seen to fire and not to, and they speak of what is there."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import Any

import pytest
import yaml

from fencepost.telemetry.catalogue import CATALOGUE, Kind
from tests.deploy.expressions import spoken
from tests.deploy.promtool import PROMETHEUS, ROOT, needs_promtool, promtool

RULES = PROMETHEUS / "fencepost.rules.yml"
TESTS = sorted((PROMETHEUS / "tests").glob("*.yml"))
TARGET_LABELS = {"job", "instance"}
PROMETHEUS_OWN = {"up"}


def rules() -> list[dict[str, Any]]:
    return [one for group in yaml.safe_load(RULES.read_text())["groups"] for one in group["rules"]]


def alerts() -> list[dict[str, Any]]:
    return [one for one in rules() if "alert" in one]


def series() -> dict[str, set[str]]:
    """Every name that can be asked for, with its labels."""
    found: dict[str, set[str]] = {}
    for one in CATALOGUE:
        if one.kind is Kind.HISTOGRAM:
            found |= {f"{one.name}_{end}": {*one.labels} for end in ("count", "sum")}
            found[f"{one.name}_bucket"] = {*one.labels, "le"}
        else:
            found[one.name] = {*one.labels}
    return found


@needs_promtool
def test_promtool_takes_the_rules_and_the_example() -> None:
    checked = promtool("check", "rules", RULES)
    assert checked.returncode == 0, checked.stdout.decode()
    checked = promtool("check", "config", PROMETHEUS / "prometheus.yml")
    assert checked.returncode == 0, checked.stdout.decode()


@needs_promtool
@pytest.mark.parametrize("path", TESTS, ids=lambda path: path.stem)
def test_alerts_fire_when_they_should_and_only_then(path: Path) -> None:
    """Some seconds: promtool plays days of samples."""
    tested = promtool("test", "rules", path)
    assert tested.returncode == 0, tested.stdout.decode()


@needs_promtool
@pytest.mark.proof
@pytest.mark.parametrize("spoiled", ["({}) * 0 > 1", "({}) or vector(1)"])
def test_the_tests_notice_every_alert_that_never_or_always_fires(spoiled: str, tmp_path: Path) -> None:
    """Up to 15 s: promtool plays every alert again with the rule spoiled."""
    found = yaml.safe_load(RULES.read_text())
    for one in (rule for group in found["groups"] for rule in group["rules"]):
        if "alert" in one:
            one["expr"] = spoiled.format(one["expr"])
    (tmp_path / RULES.name).write_text(yaml.safe_dump(found))
    shutil.copytree(PROMETHEUS / "tests", tmp_path / "tests")
    tested = promtool("test", "rules", *sorted((tmp_path / "tests").glob("*.yml")))
    noticed = set(re.findall(r"alertname: ?(\w+)", tested.stdout.decode()))
    assert noticed == {one["alert"] for one in alerts()}


def test_every_alert_has_a_test_in_which_it_fires_and_one_in_which_it_does_not() -> None:
    fires: set[str] = set()
    quiet: set[str] = set()
    for path in TESTS:
        for world in yaml.safe_load(path.read_text())["tests"]:
            for one in world.get("alert_rule_test", ()):
                (fires if one.get("exp_alerts") else quiet).add(one["alertname"])
    names = {one["alert"] for one in alerts()}
    assert fires == names
    assert quiet >= names


@pytest.mark.parametrize("rule", rules(), ids=lambda rule: rule.get("alert") or rule["record"])
def test_a_rule_speaks_of_series_that_exist_and_of_labels_that_they_have(rule: dict[str, Any]) -> None:
    known = series()
    recorded = {one["record"] for one in rules() if "record" in one}
    said = spoken(rule["expr"])
    assert said.metrics, "it speaks of nothing"
    assert said.metrics <= known.keys() | recorded | PROMETHEUS_OWN
    labels = {label for metric in said.metrics for label in known.get(metric, ())} | TARGET_LABELS
    assert said.labels <= labels


@pytest.mark.parametrize("alert", alerts(), ids=lambda alert: alert["alert"])
def test_an_alert_says_what_it_is_and_where_to_read_on(alert: dict[str, Any]) -> None:
    assert alert["labels"]["severity"] in ("page", "ticket")
    said = alert["annotations"]
    assert said["summary"]
    assert said["description"].endswith(".")
    page, _, anchor = said["runbook_url"].partition("#")
    sections = re.findall(r"^## (\w+)$", (ROOT / page).read_text("utf-8"), re.MULTILINE)
    assert alert["alert"] in sections
    assert anchor == alert["alert"].lower()
    severity = (ROOT / page).read_text("utf-8").partition(f"## {alert['alert']}\n\n**")[2].partition(".**")[0]
    assert severity == alert["labels"]["severity"]


@pytest.mark.parametrize("alert", alerts(), ids=lambda alert: alert["alert"])
def test_an_alert_shows_only_labels_that_it_has(alert: dict[str, Any]) -> None:
    shown = set(re.findall(r"\$labels\.(\w+)", " ".join(alert["annotations"].values())))
    grouped = re.search(r"\bby \(([^)]*)\)", alert["expr"])
    kept = set(re.findall(r"\w+", grouped.group(1))) if grouped else TARGET_LABELS
    assert shown <= kept


def test_the_guide_tells_of_no_alert_that_is_gone() -> None:
    text = (ROOT / "docs" / "guides" / "alerts.md").read_text("utf-8")
    assert set(re.findall(r"^## (\w+)$", text, re.MULTILINE)) == {one["alert"] for one in alerts()}
