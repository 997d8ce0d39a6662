"""`fencepost reshard`."""

from __future__ import annotations

from pathlib import Path

import pytest

from fencepost.model.identifiers import DEFAULT_NAMESPACE, ScheduleId, shard_of
from tests.cli.calls import called, called_json, refused
from tests.cli.processes import SIGTERM, started

REPORT = ScheduleId("report")
TICKING = """
from fencepost import Every, Fencepost

app = Fencepost(horizon_s=30)

@app.job()
async def tick() -> None: ...

for number in range(12):
    app.add_schedule(f"beat-{number}", job="tick", trigger=Every("500ms"), overlap="allow")
"""


def test_it_says_what_was_and_is_and_that_the_same_changes_nothing(used: str) -> None:
    moves = shard_of(DEFAULT_NAMESPACE, REPORT, 8) != shard_of(DEFAULT_NAMESPACE, REPORT, 16)
    moved = "1 schedule moved" if moves else "0 schedules moved"
    said = called("reshard", "16", "--reason", "growth", "--store", used)
    assert said == f"8 shards before, 16 now: {moved}\n"
    assert called("reshard", "16", "--store", used) == "16 shards already: nothing changed\n"
    again = {"before": 16, "after": 16, "moved": 0, "changed": False}
    assert called_json("reshard", "16", "--store", used) == again
    found = called_json("reshard", "1", "--store", used)
    assert (found["before"], found["after"], found["changed"]) == (16, 1, True)
    assert called("reshard", "1", "--store", used) == "1 shard already: nothing changed\n"
    assert [one["shard"] for one in called_json("status", "--store", used)["shards"]] == [0]
    log = called_json("log", "--action", "reshard", "--store", used)
    assert [(one["changes"], one["reason"]) for one in log] == [
        (["shards: 16 -> 1"], None),
        (["shards: 8 -> 16"], "growth"),
    ]


@pytest.mark.parametrize("shards", ["0", "1025", "-3"])
def test_a_cut_that_cannot_be_is_refused(shards: str, used: str) -> None:
    said = refused("reshard", "--store", used, "--", shards)
    assert said.startswith(f"Invalid value for 'N': {shards} is not in the range 1<=x<=1024")


def test_a_number_is_asked_for(used: str) -> None:
    assert "'many' is not a valid integer" in refused("reshard", "many", "--store", used)


def test_a_live_node_follows_and_no_tick_is_lost(tmp_path: Path, url: str) -> None:
    (tmp_path / "shop.py").write_text(TICKING)
    with started("run", "shop:app", "--store", url, folder=tmp_path) as process:
        process.wait_to_lead(range(8))
        process.wait_for("succeeded")
        assert called_json("reshard", "20", "--store", url)["moved"] > 0
        process.wait_to_lead(range(20))
        process.wait_for("succeeded")
        assert called_json("reshard", "3", "--store", url)["after"] == 3
        process.wait_to_lead(range(3))
        process.wait_for("succeeded")
        process.signal(SIGTERM)
        assert process.ended() == 0, process.said
    account = called_json("audit", "--store", url)
    assert (account["faults"], account["run_accounted"]) == (0, 1.0)
    assert account["expected"] > 0
