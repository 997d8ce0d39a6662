"""`fencepost schedules`."""

from datetime import timedelta
from typing import Any

import pytest

from fencepost.model.times import from_utc_text as read
from tests.cli.calls import call, called, called_json, refused

BERLIN = ("--cron", "0 9 * * *", "--tz", "Europe/Berlin")


def add(url: str, *options: str) -> Any:
    return called_json("schedules", "add", "extra", "--job", "report", *options, "--store", url)


def edit(url: str, *options: str) -> Any:
    return called_json("schedules", "edit", "extra", *options, "--store", url)


def test_a_schedule_from_code_is_listed(used: str) -> None:
    (schedule,) = called_json("schedules", "list", "--store", used)
    assert (schedule["schedule_id"], schedule["state"], schedule["version"]) == ("report", "active", 1)
    assert schedule["trigger"]["interval"] == "1h"
    assert schedule["labels"] == {"team": "ops"}
    assert schedule["description"].startswith("every hour, counted from")
    assert "every hour, counted from" in called("schedules", "list", "--store", used)


def test_show_has_the_next_five_fire_times(used: str) -> None:
    shown = called_json("schedules", "show", "report", "--store", used)
    assert len(shown["next"]) == 5
    assert all(one.endswith(":30:00Z") for one in shown["next"])
    assert called("schedules", "show", "report", "--tz", "Asia/Tokyo", "--store", used).count("JST") == 5


def test_add_takes_every_option(used: str) -> None:
    policy = ("--gap", "skip", "--fold", "both", "--overlap", "allow", "--catch-up", "latest")
    place = ("--queue", "slow", "--priority", "4", "--label", "team=ops", "--label", "tier=2")
    made = add(used, *BERLIN, *policy, "--max-lateness", "2h", "--payload", '{"region": "us"}', *place)
    assert made["trigger"] == {
        "v": 1,
        "kind": "cron",
        "expression": "0 9 * * *",
        "tz": "Europe/Berlin",
        "gap": "skip",
        "fold": "both",
    }
    assert (made["overlap"], made["payload"]) == ("allow", {"region": "us"})
    assert made["catch_up"] == {"mode": "latest", "max_lateness_s": 7200.0}
    assert (made["queue"], made["priority"], made["labels"]) == ("slow", 4, {"team": "ops", "tier": "2"})


def test_at_may_be_repeated_and_is_read_in_the_zone(used: str) -> None:
    made = add(used, "--at", "2999-07-01T09:00", "--at", "2999-12-01T09:00", "--tz", "Europe/Berlin")
    assert made["trigger"]["times"] == ["2999-07-01T07:00:00Z", "2999-12-01T08:00:00Z"]


def test_edit_changes_only_what_is_given(used: str) -> None:
    before = add(used, *BERLIN, "--gap", "skip", "--payload", '{"region": "us"}', "--label", "a=1")
    after = edit(used, "--cron", "30 9 * * *", "--label", "b=2")
    assert after["version"] == 2
    assert after["trigger"] == {**before["trigger"], "expression": "30 9 * * *"}
    assert after["payload"] == before["payload"]
    assert after["labels"] == {"a": "1", "b": "2"}
    assert edit(used, "--label", "a=")["labels"] == {"b": "2"}


@pytest.mark.parametrize(
    ("old", "change", "trigger"),
    [
        (BERLIN, ("--tz", "UTC"), {"expression": "0 9 * * *", "tz": "UTC"}),
        (BERLIN, ("--every", "2h"), {"kind": "every", "interval": "2h"}),
        (("--every", "1h", "--anchor", "2026-01-01T00:10:00Z"), ("--every", "2h"), {"interval": "2h"}),
        (("--every", "1h"), ("--anchor", "2026-01-01T00:10:00Z"), {"anchor": "2026-01-01T00:10:00Z"}),
        (("--every", "1h"), BERLIN, {"kind": "cron", "tz": "Europe/Berlin"}),
    ],
)
def test_a_trigger_is_edited_piece_by_piece(
    old: tuple[str, ...], change: tuple[str, ...], trigger: dict[str, str], used: str
) -> None:
    add(used, *old)
    found = edit(used, *change)["trigger"]
    assert found == {**found, **trigger}


def test_an_unset_lateness_follows_the_mode(used: str) -> None:
    add(used, *BERLIN)
    assert edit(used, "--catch-up", "latest")["catch_up"]["max_lateness_s"] == 3600.0
    edit(used, "--max-lateness", "5m")
    assert edit(used, "--catch-up", "none")["catch_up"] == {"mode": "none", "max_lateness_s": 300.0}


def test_an_edit_that_changes_nothing_makes_no_version(used: str) -> None:
    add(used, *BERLIN)
    said = called("schedules", "edit", "extra", *BERLIN, "--store", used)
    assert said == "schedule extra: unchanged\n"


def test_history_says_what_each_version_changed(used: str) -> None:
    add(used, *BERLIN)
    edit(used, "--cron", "30 9 * * *")
    called("schedules", "remove", "extra", "--store", used)
    first, second = called_json("schedules", "history", "extra", "--store", used)
    assert (first["version"], first["changes"], second["version"]) == (1, [], 2)
    assert second["changes"] == ['trigger.expression: "0 9 * * *" -> "30 9 * * *"']
    assert second["changes"][0] in called("schedules", "history", "extra", "--store", used)


def test_pause_and_resume_and_remove(used: str) -> None:
    assert called_json("schedules", "pause", "report", "--store", used)["state"] == "paused"
    assert called_json("schedules", "show", "report", "--store", used)["next"] == []
    assert "is not active" in refused("schedules", "pause", "report", "--store", used)
    assert called_json("schedules", "resume", "report", "--store", used)["state"] == "active"
    assert "is not paused" in refused("schedules", "resume", "report", "--store", used)
    called("schedules", "remove", "report", "--store", used)
    assert called_json("schedules", "list", "--store", used) == []
    assert "not found" in refused("schedules", "show", "report", "--store", used)


def test_trigger_prints_the_key_of_an_extra_tick(used: str) -> None:
    key = called("schedules", "trigger", "report", "--store", used).strip()
    run = called_json("runs", "show", key, "--store", used)
    assert (run["schedule_id"], run["state"]) == ("report", "ready")


def test_a_resume_says_what_of_the_pause_fires(used: str) -> None:
    add(used, *BERLIN)
    called("schedules", "pause", "extra", "--store", used)
    said = called("schedules", "resume", "extra", "--store", used)
    assert said == "schedule extra: active; nothing of the pause fires\n"
    edit(used, "--catch-up", "sequential", "--max-lateness", "2h")
    called("schedules", "pause", "extra", "--store", used)
    said = called("schedules", "resume", "extra", "--no-catch-up", "--store", used)
    assert said == "schedule extra: active; nothing of the pause fires\n"
    called("schedules", "pause", "extra", "--store", used)
    resume = ("schedules", "resume", "extra", "--tz", "UTC", "--store", used)
    said = called(*resume)
    assert said.startswith("schedule extra: active; the pause will be caught up from 2")
    assert said.endswith(" UTC on: sequential\n")


def test_a_resume_says_the_same_to_scripts(used: str) -> None:
    add(used, *BERLIN, "--catch-up", "parallel(4)", "--max-lateness", "2h")
    called("schedules", "pause", "extra", "--store", used)
    (paused,) = called_json("log", "--action", "schedule.pause", "--store", used)
    resumed = called_json("schedules", "resume", "extra", "--store", used)
    assert resumed["caught_up"]["mode"] == "parallel(4)"
    assert abs(read(resumed["caught_up"]["from"]) - read(paused["at"])) < timedelta(seconds=1)
    assert resumed["catch_up"]["max_lateness_s"] == 7200
    called("schedules", "pause", "extra", "--store", used)
    resumed = called_json("schedules", "resume", "extra", "--no-catch-up", "--store", used)
    assert resumed["caught_up"] is None


def test_one_tick_is_called_off_held_and_released_by_its_time(used: str) -> None:
    add(used, *BERLIN)
    when = ("extra", "2999-07-01T09:00", "--tz", "Europe/Berlin", "--store", used)
    assert called("schedules", "hold", *when) == "extra#2999-07-01T07:00:00Z#1: held\n"
    assert called("schedules", "release", *when) == "extra#2999-07-01T07:00:00Z#1: released\n"
    assert called_json("schedules", "skip", *when)["state"] == "skipped"
    assert call("schedules", "hold", *when).exit_code == 1
    line = refused("schedules", "skip", "extra", "2999-07-01T09:30", "--tz", "Europe/Berlin", "--store", used)
    assert "is no fire time; the nearest are 2999-07-01T07:00:00Z and 2999-07-02T07:00:00Z" in line


def test_policies_are_said_in_words(used: str) -> None:
    policy = ("--overlap", "buffer_all(20)", "--catch-up", "parallel(4)")
    made = add(used, *BERLIN, *policy, "--gate", "waiting_max=500,failed_share=0.3")
    assert made["overlap"] == "buffer_all(20)"
    gate = {"waiting_max": 500, "failed_share": 0.3, "of_last": 10}
    assert made["catch_up"] == {"mode": "parallel(4)", "max_lateness_s": 3600.0, "gate": gate}
    assert edit(used, "--max-lateness", "2h")["catch_up"]["mode"] == "parallel(4)"
    shown = called("schedules", "show", "extra", "--store", used)
    assert "parallel(4), at most 2h late" in shown
    assert "closes when more than 500 wait, or more than 30% of the last 10 failed" in shown
    assert "gate" not in edit(used, "--gate", "none")["catch_up"]


def test_a_number_of_runs_is_counted_from_the_start_or_from_now(used: str) -> None:
    made = add(used, *BERLIN, "--start", "2998-01-01", "--max-runs", "3")["trigger"]
    assert (made["kind"], made["count"], made["of"]["start"]) == ("limit", 3, "2997-12-31T23:00:00Z")
    assert len(called_json("schedules", "show", "extra", "--store", used)["next"]) == 3
    kept = edit(used, "--cron", "30 9 * * *")["trigger"]
    assert (kept["count"], kept["of"]["start"]) == (3, "2997-12-31T23:00:00Z")
    assert edit(used, "--max-runs", "2")["trigger"]["count"] == 2
    assert edit(used, "--max-runs", "none")["trigger"]["kind"] == "between"
    called("schedules", "add", "few", "--job", "report", "--every", "1h", "--max-runs", "2", "--store", used)
    assert len(called_json("schedules", "show", "few", "--store", used)["next"]) == 2


def test_what_may_surprise_is_warned_of_and_written_all_the_same(used: str) -> None:
    options = ("--job", "report", "--every", "10s", "--catch-up", "parallel(4)", "--store", used)
    result = call("schedules", "add", "hasty", *options)
    assert (result.exit_code, result.stdout) == (0, "schedule hasty: added, version 1\n")
    retries, parallel = result.stderr.splitlines()
    assert retries.startswith("warning: job report: it has no timeout")
    assert "works like sequential" in parallel
    assert len(called_json("schedules", "edit", "hasty", "--every", "9s", "--store", used)["warnings"]) == 2
    assert add(used, *BERLIN)["warnings"] == []


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("add", "x", "--job", "report", "--every", "1h", "--max-runs", "0"), "--max-runs: limit 0"),
        (("add", "x", "--job", "report", "--every", "1h", "--max-runs", "x"), "--max-runs: 'x': expected"),
        (("add", "report", "--job", "report", "--every", "1h"), "exists already"),
        (("add", "x", "--job", "reprt", "--every", "1h"), "did you mean report?"),
        (("add", "x", "--job", "report", "--every", "1h", "--payload", '{"x": 1}'), "unknown name 'x'"),
        (("add", "x y", "--job", "report", "--every", "1h"), "schedule 'x y'"),
        (("edit", "reprt", "--every", "1h"), "did you mean report?"),
        (("edit", "report", "--tz", "UTC"), "--tz: has no meaning with an exact interval"),
        (("edit", "report", "--job", "nothing"), "job nothing: not registered"),
        (("history", "nothing"), "schedule nothing: not found"),
    ],
)
def test_a_wrong_change_is_refused(arguments: tuple[str, ...], said: str, used: str) -> None:
    assert said in refused("schedules", *arguments, "--store", used)
