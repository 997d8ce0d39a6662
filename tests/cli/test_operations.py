"""`fencepost freeze`, `thaw`, `gate` and `log`."""

import asyncio
import os
import pwd
from datetime import timedelta

import pytest

from fencepost import Fencepost
from fencepost.cli.gate import load_words
from fencepost.model.claiming import Admit, CloseGate, ScheduleFacts, Verdict
from fencepost.model.clocks import StoreTime
from fencepost.model.codec import schedule_to_text
from fencepost.model.gate import ClosedGate
from fencepost.model.identifiers import DEFAULT_NAMESPACE, JobName, ScheduleId
from fencepost.model.plan import Tick
from fencepost.model.policies import CatchUp, parse_overlap
from fencepost.model.schedule import ScheduleSpec
from fencepost.model.times import EPOCH
from fencepost.operations.responses.gates import gate_response
from fencepost.triggers import Every
from tests.cli.calls import call, called, called_json, refused


def test_a_freeze_says_what_it_covers_and_thaws_once(used: str) -> None:
    assert called("freeze", "--label", "team=ops", "--store", used) == "frozen: label team=ops, 1 schedule\n"
    again = call("freeze", "--label", "team=ops", "--store", used)
    assert (again.exit_code, again.stdout) == (1, "label team=ops: was frozen already\n")
    assert called_json("schedules", "show", "report", "--store", used)["frozen"] is True
    for more in ((), ("--frozen",)):
        (listed,) = called_json("schedules", "list", *more, "--store", used)
        assert listed["schedule_id"] == "report"
    assert called("freeze", "--store", used) == "frozen: everything, 1 schedule\n"
    assert called("thaw", "--store", used) == "thawed: everything, 1 schedule; still frozen: label team=ops\n"
    found = called_json("thaw", "--label", "team=ops", "--store", used)
    assert found == {"kind": "label", "value": "team=ops", "changed": True, "schedules": 1}
    assert call("thaw", "--label", "team=ops", "--store", used).exit_code == 1
    assert called_json("schedules", "show", "report", "--store", used)["frozen"] is False


def test_a_schedule_that_is_not_there_can_be_frozen(used: str) -> None:
    said = called("freeze", "--schedule", "later", "--store", used)
    assert said == "frozen: schedule later, 0 schedules\n"


def test_without_a_closed_gate_there_is_nothing_to_decide(used: str) -> None:
    assert called_json("gate", "list", "--store", used) == []
    assert call("gate", "list", "--store", used).stderr == "no gate is closed\n"
    for verb in ("open", "latest"):
        assert "gate report: is not closed" in refused("gate", verb, "report", "--store", used)


async def close_gate(url: str) -> None:
    """Three late ticks of `report` are held back."""
    async with Fencepost(url) as app:
        store = await app.open()
        (version,) = await store.schedules.history(DEFAULT_NAMESPACE, ScheduleId("report"))
        times = [version.in_force_from + count * timedelta.resolution for count in (1, 2, 3)]
        ticks = [Tick(one, one) for one in times]
        await store.ledger.plan_by_name(DEFAULT_NAMESPACE, ScheduleId("report"), 1, ticks, None)

        def judge(facts: ScheduleFacts, now: StoreTime, room: int) -> list[Verdict]:
            return [*(Admit(one.run_key, held=True) for one in facts.due), CloseGate("too many wait")]

        await store.ledger.sweep_late(0, 10, judge)


@pytest.mark.parametrize(
    ("verb", "released", "missed"),
    [(("open",), 3, 0), (("latest",), 1, 2), (("drop", "--reason", "old news"), 0, 3)],
)
def test_a_closed_gate_is_shown_and_decided(
    verb: tuple[str, ...], released: int, missed: int, used: str
) -> None:
    asyncio.run(close_gate(used))
    (gate,) = called_json("gate", "list", "--store", used)
    assert (gate["schedule_id"], gate["held"], gate["reason"]) == ("report", 3, "too many wait")
    shown = called("gate", "list", "--store", used)
    assert "held      3 runs" in shown
    assert "load      unknown: no run has succeeded yet" in shown
    assert "gate closed: report, 3 held: too many wait" in called("status", "--store", used)
    found = called_json("gate", verb[0], "report", *verb[1:], "--store", used)
    assert found == {"schedule_id": "report", "decision": verb[0], "released": released}
    assert len(called_json("runs", "list", "--state", "missed", "--store", used)) == missed
    assert called_json("gate", "list", "--store", used) == []


@pytest.mark.parametrize(
    ("run_s", "at_once", "words"),
    [
        (None, 1, "unknown: no run has succeeded yet"),
        (60.0, 1, "about 2h of work, 2h with one at a time"),
        (60.0, 4, "about 2h of work, 30m with 4 at once"),
    ],
)
def test_the_load_behind_a_gate_is_told_in_words(run_s: float | None, at_once: int, words: str) -> None:
    moment = StoreTime(EPOCH)
    overlap, catch_up = parse_overlap("allow"), CatchUp(f"parallel({at_once})", "1h")
    spec = ScheduleSpec(JobName("x"), Every(60).to_json(), overlap=overlap, catch_up=catch_up)
    text = schedule_to_text(spec)
    gate = ClosedGate(DEFAULT_NAMESPACE, ScheduleId("x"), moment, "many", 120, moment, moment, run_s, text)
    assert load_words(gate_response(gate)) == words


def test_the_log_says_who_did_what_and_why(used: str) -> None:
    acted = {"FENCEPOST_ACTOR": "anna"}
    edit = ("schedules", "edit", "report", "--every", "2h", "--reason", "too many", "--store", used)
    assert call(*edit, **acted).exit_code == 0
    called("schedules", "pause", "report", "--store", used)
    (entry,) = called_json("log", "--by", "anna", "--store", used)
    assert (entry["author"], entry["action"], entry["subject"]) == ("anna", "schedule.put", "report")
    assert entry["source"].startswith("cli on ")
    assert entry["reason"] == "too many"
    assert 'spec.trigger.interval: "1h" -> "2h"' in entry["changes"]
    said = called("log", "--subject", "report", "--store", used)
    user = pwd.getpwuid(os.getuid()).pw_name
    assert entry["credential"] == f"os:{user}", "whatever FENCEPOST_ACTOR says"
    assert f"schedule.put report by anna (os:{user}, cli on " in said
    assert ": too many" in said
    assert '  state: "active" -> "paused"' in said


def test_a_login_name_that_is_reserved_is_not_logged(used: str) -> None:
    login = dict.fromkeys(("LOGNAME", "USER", "LNAME", "USERNAME"), "FENCEPOST_TOKEN")
    assert call("schedules", "pause", "report", "--store", used, **login).exit_code == 0
    (entry,) = called_json("log", "--action", "schedule.pause", "--store", used)
    assert entry["author"] == pwd.getpwuid(os.getuid()).pw_name


@pytest.mark.parametrize(
    "name", ["FENCEPOST_TOKEN", "fencepost", "f\u0435ncepost", "os:root", "t0123456789abcdef"]
)
def test_nobody_acts_under_a_name_that_is_reserved(name: str, used: str) -> None:
    result = call("schedules", "pause", "report", "--store", used, FENCEPOST_ACTOR=name)
    assert (result.exit_code, result.stderr.count("\n")) == (2, 1)
    assert f"FENCEPOST_ACTOR '{name}'" in result.stderr
    assert called_json("log", "--action", "schedule.pause", "--store", used) == []


def test_the_log_is_filtered_and_what_is_new_is_not_spelled_out(used: str) -> None:
    called("schedules", "add", "extra", "--job", "report", "--every", "1h", "--store", used)
    (entry,) = called_json("log", "--action", "schedule.put", "--limit", "1", "--store", used)
    assert "version: nothing -> 1" in entry["changes"]
    assert not any(line.startswith("spec.") for line in entry["changes"])
    assert called_json("log", "--subject", "nothing", "--store", used) == []
    assert called_json("log", "--until", "2020-01-01", "--store", used) == []
    assert call("log", "--subject", "nothing", "--store", used).stderr == "no entries\n"
    assert "did you mean run.replay?" in refused("log", "--action", "run.repaly", "--store", used)


def test_a_calendar_and_a_run_by_hand_are_logged_too(used: str) -> None:
    called("calendars", "set", "de", "--holiday", "2026-12-25", "--reason", "new year", "--store", used)
    called("enqueue", "burn", "--key", "k", "--reason", "a try", "--store", used)
    reasons = {one["action"]: one["reason"] for one in called_json("log", "--limit", "2", "--store", used)}
    assert reasons == {"calendar.put": "new year", "run.enqueue": "a try"}
