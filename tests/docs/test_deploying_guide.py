"""The guide to deploying shows the example's image, what `init` says, and values that the chart has."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from scripts.manifests import run_helm
from tests.cli.calls import called
from tests.deploy.charts import needs_helm

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "docs" / "guides" / "deploying.md").read_text("utf-8")


def test_its_three_lines_are_the_example() -> None:
    example = (ROOT / "deploy" / "docker" / "example" / "Dockerfile").read_text()
    assert f"```dockerfile\n{example}```" in TEXT


def test_init_says_what_the_guide_shows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert f"$ fencepost init shop\n{called('init', 'shop')}```" in TEXT


@needs_helm
def test_the_command_that_installs_the_chart_is_complete() -> None:
    settings = re.findall(r"--set (\S+)", TEXT)
    assert len(settings) == 3
    arguments = [word for one in settings for word in ("--set", one)]
    chart = ROOT / "deploy" / "kubernetes" / "chart" / "fencepost"
    assert "registry.example.org/shop:1.0.0" in run_helm("template", "fencepost", chart, *arguments)


@needs_helm
def test_every_value_that_it_names_is_one_of_the_chart() -> None:
    named = re.findall(r"`((?:worker|leases|serviceMonitor|networkPolicy|web)\.[\w.]+)(?:=\w+)?`", TEXT)
    assert len(named) > 5
    known = (ROOT / "deploy" / "kubernetes" / "chart" / "fencepost" / "values.yaml").read_text()
    for path in named:
        assert re.search(rf"^ +{path.rpartition('.')[2]}:", known, re.MULTILINE), path
