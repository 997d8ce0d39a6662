"""The Grafana board is what its script makes, and asks for what is really shown."""

from __future__ import annotations

import json
from typing import Any

import pytest

from scripts.grafana_board import board, board_text
from tests.deploy.expressions import spoken
from tests.deploy.promtool import ROOT
from tests.deploy.test_rules import TARGET_LABELS, series

BOARD = ROOT / "deploy" / "grafana" / "fencepost.json"
OF_THE_PROCESS = {"process_resident_memory_bytes"}
PANELS = [one for one in board()["panels"] if one["type"] != "row"]


def test_the_board_is_up_to_date() -> None:
    assert BOARD.read_text("utf-8") == board_text(), "run: make docs"
    assert json.loads(BOARD.read_text("utf-8"))["uid"] == "fencepost"


@pytest.mark.parametrize("panel", PANELS, ids=lambda panel: panel["title"])
def test_a_panel_asks_for_series_that_exist_and_labels_that_they_have(panel: dict[str, Any]) -> None:
    known = series()
    assert panel["targets"]
    for target in panel["targets"]:
        said = spoken(target["expr"])
        assert said.metrics
        assert said.metrics <= known.keys() | OF_THE_PROCESS
        labels = {label for metric in said.metrics for label in known.get(metric, ())} | TARGET_LABELS
        assert said.labels <= labels


def test_variables_take_their_values_from_series_that_exist() -> None:
    for one in board()["templating"]["list"]:
        if one["type"] == "query":
            metric, _, label = (
                one["definition"].removeprefix("label_values(").removesuffix(")").rpartition(", ")
            )
            name = metric.partition("{")[0]
            assert label in series()[name] | TARGET_LABELS


def test_every_metric_of_work_is_on_the_board() -> None:
    shown = {name for panel in PANELS for one in panel["targets"] for name in spoken(one["expr"]).metrics}
    promised = {name for name in series() if name.startswith(("scheduler_", "job_", "run_"))}
    ends = ("_sum", "_count")
    assert {name for name in promised if not name.endswith(ends)} <= shown


def test_panels_do_not_lie_over_each_other() -> None:
    taken: set[tuple[int, int]] = set()
    for one in board()["panels"]:
        place = one["gridPos"]
        cells = {
            (x, y)
            for x in range(place["x"], place["x"] + place["w"])
            for y in range(place["y"], place["y"] + place["h"])
        }
        assert not cells & taken
        taken |= cells
