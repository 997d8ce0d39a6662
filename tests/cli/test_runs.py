"""`fencepost runs` and `enqueue`."""

import json
from datetime import datetime, timedelta

import pytest

from tests.cli.calls import call, called, called_json, refused

PROMISED = [
    "run_key",
    "schedule_id",
    "job",
    "fire_time",
    "version",
    "state",
    "reason",
    "attempt",
    "fence",
    "epoch",
    "run_at",
    "started_at",
    "finished_at",
    "worker",
    "error",
]


def test_a_run_in_json_has_the_promised_names_first(used: str) -> None:
    (run,) = called_json("runs", "list", "--job", "double", "--store", used)
    assert list(run)[: len(PROMISED)] == PROMISED
    assert (run["run_key"], run["state"], run["attempt"]) == ("double#ok", "succeeded", 1)
    assert all(run[name].endswith("Z") for name in ("fire_time", "run_at", "started_at", "finished_at"))


def test_a_run_also_says_where_it_comes_from_and_what_holds_it(used: str) -> None:
    (run,) = called_json("runs", "list", "--job", "double", "--store", used)
    assert (run["origin"], run["held"], run["blocked_by"], run["backfill_id"]) == ("live", [], None, None)
    assert run["first_started_at"] == run["started_at"]


def test_a_run_is_shown_with_its_attempts(used: str) -> None:
    run = called_json("runs", "show", "burn#bad", "--store", used)
    assert (run["state"], run["error"]) == ("dead", "PermanentFailure: no fuel")
    (attempt,) = run["attempts"]
    assert "no fuel" in attempt["detail"]
    assert attempt["fence"] == run["fence"]


def test_people_see_errors_and_output(used: str) -> None:
    assert "no fuel" in called("runs", "show", "burn#bad", "--store", used)
    assert "21 doubled is 42" in called("runs", "show", "double#ok", "--store", used)


def test_the_filters_filter(used: str) -> None:
    def keys(*options: str) -> list[str]:
        found = called_json("runs", "list", "--store", used, *options)
        return sorted(run["run_key"] for run in found)

    assert keys("--state", "dead") == ["burn#bad"]
    assert keys("--job", "double") == ["double#ok"]
    assert keys("--schedule", "nothing") == []
    assert keys("--since", "1h", "--until", "0s") == ["burn#bad", "double#ok"]
    assert keys("--until", "2020-01-01") == []
    assert keys("--error", "fuel") == ["burn#bad"]
    assert keys("--origin", "backfill") == keys("--held") == keys("--backfill", "3") == []
    assert keys("--origin", "live") == ["burn#bad", "double#ok"]
    assert len(keys("--limit", "1")) == 1


def test_an_empty_list_is_still_a_list(used: str) -> None:
    assert called_json("runs", "list", "--state", "missed", "--store", used) == []
    assert called("runs", "list", "--state", "missed", "--store", used) == ""


def test_enqueue_prints_the_key_and_a_second_call_changes_nothing(used: str) -> None:
    enqueue = ("enqueue", "double", "--key", "k", "--payload", '{"number": 1}', "--store", used)
    first, second = call(*enqueue), call(*enqueue)
    assert (first.exit_code, first.stdout, first.stderr) == (0, "double#k\n", "")
    assert (second.exit_code, second.stdout) == (0, "double#k\n")
    assert "there already" in second.stderr
    assert called_json(*enqueue) == {"run_key": "double#k", "new": False}


def test_a_run_in_the_future_is_planned_for_its_time(used: str) -> None:
    at = ("--at", "2999-01-01T01:00", "--tz", "Europe/Berlin")
    called("enqueue", "burn", "--key", "later", *at, "--store", used)
    run = called_json("runs", "show", "burn#later", "--store", used)
    assert (run["state"], run["run_at"]) == ("planned", "2999-01-01T00:00:00Z")


def test_a_run_by_hand_is_told_where_when_and_until_when(used: str) -> None:
    words = ("--delay", "1h", "--queue", "images", "--priority", "1", "--expires", "10m")
    called("enqueue", "burn", "--key", "later", *words, "--store", used)
    run = called_json("runs", "show", "burn#later", "--store", used)
    assert (run["state"], run["queue"], run["priority"]) == ("planned", "images", 1)
    due, until = (datetime.fromisoformat(run[name]) for name in ("run_at", "expires_at"))
    assert until - due == timedelta(minutes=10)
    called("enqueue", "burn", "--key", "at", "--expires", "2999-01-01", "--tz", "UTC", "--store", used)
    assert called_json("runs", "show", "burn#at", "--store", used)["expires_at"] == "2999-01-01T00:00:00Z"


def test_a_run_that_is_there_already_is_named_and_not_enqueued_again(used: str) -> None:
    double = ("enqueue", "double", "--payload", '{"number": 3}', "--unique", "unfinished", "--store", used)
    first, second = call(*double), call(*double)
    assert (second.exit_code, second.stdout) == (0, first.stdout)
    assert second.stderr == f"{first.stdout.strip()} is there already; nothing was enqueued\n"
    named = ("enqueue", "double", "--unique", "1h", "--unique-name", "a", "--store", used)
    keys = {called(*named, "--payload", f'{{"number": {number}}}') for number in (4, 5)}
    assert len(keys) == 1


def test_of_several_runs_each_says_what_became_of_it(used: str) -> None:
    for key in ("a", "b"):
        called("enqueue", "burn", "--key", key, "--at", "2999-01-01", "--store", used)
    several = call("runs", "cancel", "burn#a", "double#ok", "burn#z", "--store", used)
    assert several.exit_code == 1
    assert several.stdout.splitlines() == [
        "burn#a: cancelled",
        "double#ok: succeeded",
        "run burn#z: not found; see: fencepost runs list",
    ]
    found = called_json("runs", "cancel", "burn#a", "burn#b", "--store", used)
    assert [(one["run_key"], one["fate"]) for one in found] == [
        ("burn#a", "cancelled"),
        ("burn#b", "cancelled"),
    ]


def test_a_waiting_run_is_cancelled_once_and_an_ended_one_is_not(used: str) -> None:
    called("enqueue", "burn", "--key", "later", "--at", "2999-01-01", "--store", used)
    assert called("runs", "cancel", "burn#later", "--store", used) == "burn#later: cancelled\n"
    assert call("runs", "cancel", "burn#later", "--store", used).exit_code == 0
    ended = call("runs", "cancel", "double#ok", "--store", used)
    assert (ended.exit_code, ended.stdout) == (1, "double#ok: succeeded\n")


def later(url: str, key: str = "later") -> str:
    called("enqueue", "burn", "--key", key, "--at", "2999-01-01", "--store", url)
    return f"burn#{key}"


def test_a_run_is_held_and_released_and_a_reason_is_kept(used: str) -> None:
    key = later(used)
    assert called("runs", "hold", key, "--reason", "not yet", "--store", used) == f"{key}: held\n"
    assert called_json("runs", "show", key, "--store", used)["held"] == ["operator"]
    assert [one["run_key"] for one in called_json("runs", "list", "--held", "--store", used)] == [key]
    assert "planned (held: operator)" in called("runs", "show", key, "--store", used)
    assert called("runs", "release", key, "--store", used) == f"{key}: released\n"
    (entry,) = called_json("log", "--action", "run.hold", "--store", used)
    assert (entry["subject"], entry["reason"]) == (key, "not yet")
    assert 'held: "no" -> "operator"' in entry["changes"]


def test_a_run_is_called_off_once(used: str) -> None:
    key = later(used)
    assert called_json("runs", "skip", key, "--store", used)["state"] == "skipped"
    assert call("runs", "hold", key, "--store", used).exit_code == 1
    assert call("runs", "release", key, "--store", used).exit_code == 1
    ended = call("runs", "skip", "double#ok", "--store", used)
    assert (ended.exit_code, ended.stdout) == (1, "double#ok: succeeded\n")


def test_ended_runs_are_replayed_and_others_are_left(used: str) -> None:
    key = later(used)
    result = call("runs", "replay", "double#ok", key, "--store", used)
    assert result.exit_code == 1
    assert result.stdout.splitlines()[0] == "double#ok: replayed"
    assert result.stdout.splitlines()[1].startswith(f"{key}: has not ended")
    run = called_json("runs", "show", "double#ok", "--store", used)
    assert (run["state"], run["origin"], run["attempt"], run["fence"]) == ("ready", "replay", 1, 0)
    again = call("runs", "replay", "double#ok", "--json", "--store", used)
    assert (again.exit_code, json.loads(again.stdout)) == (1, {"replayed": [], "left": ["double#ok"]})


def test_secrets_are_masked_wherever_people_look(used: str) -> None:
    payload = json.dumps({"region": "https://me:hidden@host/?api_key=hidden"})
    called(
        "schedules",
        "add",
        "secretive",
        "--job",
        "report",
        "--every",
        "1h",
        "--payload",
        payload,
        "--store",
        used,
    )
    key = called("schedules", "trigger", "secretive", "--store", used).strip()
    for arguments in (
        ("runs", "show", key),
        ("runs", "list"),
        ("schedules", "show", "secretive"),
        ("schedules", "list"),
        ("schedules", "history", "secretive"),
        ("log",),
    ):
        for form in ((), ("--json",)):
            assert "hidden" not in called(*arguments, *form, "--store", used)
    shown = called_json("runs", "show", key, "--store", used)
    assert shown["payload"] == {"region": "https://me:***@host/?api_key=***"}


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("runs", "list", "--origin", "lve"), "did you mean live?"),
        (("runs", "hold", "double#no"), "run double#no: not found"),
        (("runs", "list", "--state", "succeded"), "did you mean succeeded?"),
        (("runs", "list", "--since", "tomorrow"), "--since: "),
        (("runs", "list", "--until", "tomorrow"), "--until: "),
        (("runs", "list", "--tz", "Mars"), "time zone"),
        (("runs", "show", "double#no"), "run double#no: not found"),
        (("runs", "cancel", "double#no"), "run double#no: not found"),
        (("enqueue", "duble"), "did you mean double?"),
        (("enqueue", "burn", "--delay", "5 minutes"), "write 5m"),
        (("enqueue", "burn", "--delay", "5m", "--at", "2999-01-01"), "two ways to say one thing"),
        (("enqueue", "burn", "--unique", "always"), 'expected "queued", "unfinished"'),
        (("enqueue", "burn", "--unique-name", "a"), "has no meaning without unique"),
        (("enqueue", "burn", "--priority", "9"), "9 is not in the range 1<=x<=4"),
        (("enqueue", "burn", "--expires", "10 minutes"), "--expires 10 minutes: write 10m"),
        (("enqueue", "double"), "'number' is missing"),
        (("enqueue", "double", "--payload", '{"number": "x"}'), "expected integer"),
        (("enqueue", "double", "--payload", '{"numbr": 1}'), "unknown name 'numbr'"),
    ],
)
def test_what_the_store_does_not_know_is_refused(arguments: tuple[str, ...], said: str, used: str) -> None:
    assert said in refused(*arguments, "--store", used)


def test_a_namespace_sees_only_its_own(used: str) -> None:
    assert called_json("runs", "list", "--namespace", "other", "--store", used) == []
    assert "not found" in refused("runs", "show", "double#ok", "--namespace", "other", "--store", used)


def test_a_list_opens_with_what_happened(used: str) -> None:
    def keys(*options: str) -> list[str]:
        return [run["run_key"] for run in called_json("runs", "list", "--store", used, *options)]

    for key, at in (("near", "2999-01-01"), ("far", "2999-01-02")):
        called("enqueue", "burn", "--key", key, "--at", f"{at}T00:00:00Z", "--store", used)
    happened = [key for key in keys("--until", "0s") if key in ("burn#bad", "double#ok")]
    assert len(happened) == 2
    assert keys()[:2] == happened
    assert [key for key in keys() if "#near" in key or "#far" in key] == ["burn#far", "burn#near"]
    assert len(keys()) == len(set(keys()))
    assert keys("--limit", "2") == happened
    assert keys("--since", "1h")[:2] == happened
    assert (
        keys("--since", "2999-01-02T00:00:00Z")
        == keys("--until", "2999-01-03", "--limit", "1")
        == ["burn#far"]
    )
    assert "burn#near" in keys("--state", "planned")


def test_what_was_called_off_before_its_time_is_listed_too(used: str) -> None:
    called("enqueue", "burn", "--key", "off", "--at", "2999-01-01T00:00:00Z", "--store", used)
    called("runs", "cancel", "burn#off", "--store", used)
    assert "burn#off" in called("runs", "list", "--store", used)
