"""The runner of the benchmarks: steps in processes of their own, medians, ratios, peers that are left out."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import pytest

from benchmarks.contest import Contender, StepFailed, middle
from benchmarks.peers import __main__ as runner
from benchmarks.peers.catalogue import PEERS, Peer
from benchmarks.peers.environments import HERE, NotToBeHad
from benchmarks.peers.measuring import Counter, Meter, Options, lateness, server_s
from benchmarks.peers.rounds import Line, lines
from benchmarks.report import Figure, missed

PEER = Peer("other", goals={"bulk": 1.2})
NOWHERE = Options("postgresql://nowhere")
COST = {"client_us": 10.0, "server_us": 5.0}

SCRIPT = """
import json, sys
if sys.argv[1] == "fails":
    sys.exit("no such table: jobs")
if sys.argv[1] == "hangs":
    sys.stdin.read()
print("ready", flush=True)
sys.stdin.readline()
print(json.dumps({"count": json.loads(sys.argv[2])["count"]}))
"""


@pytest.fixture
def contender(tmp_path: Path) -> Contender:
    script = tmp_path / "with_other.py"
    script.write_text(SCRIPT)
    return Contender("other", (sys.executable, str(script)))


def test_a_step_is_told_to_go_on_and_answers(contender: Contender) -> None:
    assert contender.take("bulk", Options("x", count=7)) == {"count": 7}


def test_a_step_that_fails_is_one_line(contender: Contender) -> None:
    with pytest.raises(StepFailed, match=r"^other, fails: no such table: jobs$"):
        contender.take("fails", NOWHERE)


def test_a_step_that_does_not_end_is_killed(contender: Contender) -> None:
    with contender.process("hangs", NOWHERE, limit_s=0.5) as running, pytest.raises(StepFailed):
        running.until_ready()
    assert running.process.poll() is not None


def test_each_figure_is_the_median_and_never_the_best() -> None:
    assert middle([{"per_s": 3.0}, {"per_s": 9.0}, {"per_s": 4.0}]) == {"per_s": 4.0}


def test_more_per_second_and_less_latency_are_both_better() -> None:
    ours = {"bulk": [{"per_s": 300.0} | COST], "pick-up p50": [{"p50_ms": 2.0}]}
    theirs = {"bulk": [{"per_s": 100.0} | COST], "pick-up p50": [{"p50_ms": 4.0}], "idle": [{"per_s": 1.0}]}
    told = {line.workload: line.ratio for line in lines(PEER, ours, theirs)}
    assert told == {"bulk": 3.0, "pick-up p50": 2.0}


@pytest.mark.parametrize(("rate", "good", "word"), [(119.0, False, "NOT MET"), (120.0, True, "met")])
def test_a_goal_is_a_multiple_of_the_peer(rate: float, good: bool, word: str) -> None:
    (line,) = lines(PEER, {"bulk": [{"per_s": rate} | COST]}, {"bulk": [{"per_s": 100.0} | COST]})
    assert line.good is good
    assert runner.text_of(line).endswith(f"goal ≥ 1.2 {word}")


def test_schedules_that_did_not_all_run_are_told() -> None:
    all_of_them, half = lateness([0.1] * 10, 10), lateness([0.1] * 5, 10)
    (line,) = lines(PEER, {"schedules p99": [all_of_them]}, {"schedules p99": [half]})
    assert line.note == "other ran 5 of 10"


def test_a_peer_that_cannot_be_had_is_left_out_with_the_reason(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def python_of(peer: Peer) -> str:
        raise NotToBeHad("needs Python 3.12")

    ground: Any = None
    found: list[Line] = []
    skipped: dict[str, str] = {}
    monkeypatch.setattr(runner, "python_of", python_of)
    runner._measure(ground, PEER, 1, found, skipped)
    assert (found, skipped) == ([], {"other": "needs Python 3.12"})
    assert capsys.readouterr().err == "· other: left out: needs Python 3.12\n"


@pytest.mark.parametrize("peer", PEERS, ids=lambda peer: peer.name)
def test_each_peer_has_a_script_and_pins_that_name_no_registry(peer: Peer) -> None:
    assert (HERE / f"with_{peer.name}.py").exists()
    pins = (HERE / f"{peer.name}.txt").read_text().splitlines()
    assert pins
    assert all("==" in pin and "/" not in pin and not pin.startswith("-") for pin in pins)


@pytest.mark.parametrize("peer", PEERS, ids=lambda peer: peer.name)
def test_no_script_of_a_peer_imports_ours(peer: Peer) -> None:
    assert "fencepost" not in (HERE / f"with_{peer.name}.py").read_text()


def test_goals_that_are_missed_are_named() -> None:
    figures = [
        Figure("fast", 1.0, "s", goal="< 2", good=True),
        Figure("slow", 3.0, "s", goal="< 2", good=False),
    ]
    assert missed(figures) == ["goal not met: slow: < 2"]


def test_processor_time_of_a_server_is_that_of_its_processes() -> None:
    before = server_s(os.getpid())
    counter = Counter()
    while server_s(os.getpid()) <= before and counter.count < 100_000_000:
        counter.add()
    assert Meter(Options("x", os.getpid())).read(1)["server_us"] >= 0
    assert server_s(os.getpid()) > before
