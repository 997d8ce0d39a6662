"""Which target is told of what, when alarms begin and end, and what a message says."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from fencepost.core.notifying import (
    delivery,
    fits,
    is_due,
    listened,
    notification,
    recovery,
    trial,
    turned,
    wants,
)
from fencepost.errors import InvalidSpec
from fencepost.model.clocks import StoreTime
from fencepost.model.identifiers import DEFAULT_NAMESPACE, JobName
from fencepost.model.notification import (
    DELIVERY,
    STATES,
    Alarm,
    Event,
    Item,
    Target,
    TargetKind,
    check_target,
)

NOW = StoreTime(datetime(2026, 3, 1, 12, tzinfo=UTC))
NS = DEFAULT_NAMESPACE
DEAD, STUCK, RECOVERED = Event.DEAD, Event.STUCK, Event.RECOVERED
HOOK = Target("hook", TargetKind.HOOK, job=JobName("tell"), parameter="notice")


def told_of(*events: Event, jobs: tuple[str, ...] = (), schedules: tuple[str, ...] = ()) -> Target:
    return Target("ops", TargetKind.WEBHOOK, events, jobs, schedules, url="https://hooks.example")


def item(event: Event = DEAD, subject: str = "report#1", job: str | None = "report", **more: object) -> Item:
    return Item(event, subject, NOW, "boom", job, **more)  # type: ignore[arg-type]


def alarm(subject: str = "report#1", *, told: bool = True, ended: bool = False) -> Alarm:
    return Alarm(STUCK, subject, "report", None, "no life", NOW, told, NOW if ended else None)


@pytest.mark.parametrize(
    ("target", "one", "wanted"),
    [
        (told_of(), item(), True),
        (told_of(DEAD), item(), True),
        (told_of(STUCK), item(), False),
        (told_of(jobs=("report",)), item(), True),
        (told_of(jobs=("rep*",)), item(), True),
        (told_of(jobs=("reports", "re")), item(), False),
        (told_of(schedules=("nightly",)), item(schedule_id="nightly"), True),
        (told_of(schedules=("nightly",)), item(), False),
        (told_of(jobs=("report",), schedules=("daily",)), item(schedule_id="nightly"), False),
        (told_of(STUCK, RECOVERED), item(RECOVERED, of=STUCK), True),
        (told_of(STUCK, RECOVERED), item(RECOVERED, of=Event.UNSERVED), False),
        (told_of(DEAD, RECOVERED), item(RECOVERED, of=Event.UNSERVED), True),
        (told_of(), item(RECOVERED, of=STUCK), True),
        (told_of(STUCK), item(RECOVERED, of=STUCK), False),
    ],
)
def test_a_target_is_told_of_what_its_filters_let_through(target: Target, one: Item, wanted: bool) -> None:
    assert wants(target, one) is wanted


def test_a_star_stands_only_at_the_end() -> None:
    assert fits(("*",), ["anything"])
    assert not fits(("*port",), ["report"])
    assert not fits(("report",), [])


BEFORE = {"report": ("old",)}


def test_a_filter_that_names_a_job_as_it_was_called_before_lets_it_through() -> None:
    by_schedule, made_by_code = told_of(schedules=("old",)), item(schedule_id=item().job)
    assert wants(told_of(jobs=("old",)), item(), BEFORE)
    assert wants(by_schedule, made_by_code, BEFORE)
    assert not wants(by_schedule, item(schedule_id="nightly"), BEFORE)


def test_a_filter_that_names_a_job_as_it_is_called_now_lets_its_older_runs_through() -> None:
    assert wants(told_of(jobs=("report",)), item(job="old"), BEFORE)
    assert wants(told_of(schedules=("report",)), item(job="old", schedule_id="old"), BEFORE)
    assert not wants(told_of(jobs=("daily",)), item(job="old"), BEFORE)


def test_a_target_of_ends_has_all_states_watched() -> None:
    assert listened([]) == frozenset()
    assert listened([told_of(DEAD)]) == {DEAD}
    assert listened([told_of(RECOVERED)]) == {RECOVERED, *STATES}
    assert listened([told_of(STUCK, RECOVERED)]) == {RECOVERED, STUCK}
    assert listened([told_of()]) == set(Event)


@pytest.mark.parametrize(
    ("known", "judged", "begun", "ended", "resumed", "dropped"),
    [
        ([], [item(STUCK)], 1, 0, 0, 0),
        ([alarm()], [item(STUCK)], 0, 0, 0, 0),
        ([alarm()], [], 0, 1, 0, 0),
        ([alarm(told=False)], [], 0, 0, 0, 1),
        ([alarm(ended=True)], [], 0, 0, 0, 0),
        ([alarm(ended=True)], [item(STUCK)], 0, 0, 1, 0),
        ([], [item(STUCK, job="tell")], 0, 0, 0, 0),
        ([], [item(STUCK, job=DELIVERY)], 0, 0, 0, 0),
        ([alarm("report#2")], [item(STUCK)], 1, 1, 0, 0),
    ],
)
def test_alarms_begin_and_end_once(
    known: list[Alarm], judged: list[Item], begun: int, ended: int, resumed: int, dropped: int
) -> None:
    turn = turned(known, judged, frozenset({DELIVERY, "tell"}))
    assert [len(one) for one in turn] == [begun, ended, resumed, dropped]


def test_what_waits_is_due_when_the_window_has_passed() -> None:
    assert not is_due(None, NOW, 60)
    assert not is_due(NOW, NOW + timedelta(seconds=59), 60)
    assert is_due(NOW, NOW + timedelta(seconds=60), 60)


def test_a_clock_that_is_set_back_does_not_keep_a_message_waiting() -> None:
    assert is_due(NOW, NOW - timedelta(days=1), 60)


def test_a_notification_names_the_first_and_counts_all() -> None:
    items = [item(subject=f"report#{number}") for number in range(1_000)]
    told = notification(NS, DEAD, items, "https://cron.example/")
    assert (told["count"], told["title"], len(told["items"])) == (1_000, "1,000 runs are dead", 10)
    assert told["link"] == "https://cron.example/dead"
    assert told["items"][0] == {
        "subject": "report#0",
        "job": "report",
        "schedule": None,
        "words": "boom",
        "at": "2026-03-01T12:00:00Z",
        "ticks": 1,
        "link": "https://cron.example/runs/report%230",
    }


def test_without_a_public_url_nothing_has_a_link() -> None:
    told = notification(NS, DEAD, [item()], "")
    assert told["link"] is told["items"][0]["link"] is None
    assert told["title"] == "1 run is dead"


def test_a_message_has_one_line_of_an_error() -> None:
    long = Item(DEAD, "report#1", NOW, "x" * 1_000)
    several = Item(DEAD, "report#1", NOW, "ValueError: no\n  at line 7")
    told = notification(NS, DEAD, [long, several], "")
    assert [len(one["words"]) for one in told["items"]] == [300, 14]


def test_slack_reads_text_as_text() -> None:
    one = Item(DEAD, "report#1", NOW, "<!channel> & <https://evil.example|click>")
    told = notification(NS, DEAD, [one], "https://cron.example")
    run = delivery(Target("chat", TargetKind.SLACK, url="https://hooks.slack.example"), told, "k")
    text = run.payload["message"]["text"]  # type: ignore[index, call-overload]
    assert text == (
        "*1 run is dead* (default)\n"
        "• <https://cron.example/runs/report%231|report#1: &lt;!channel&gt; &amp; "
        "&lt;https://evil.example¦click&gt;>\n"
        "<https://cron.example/dead|Open>"
    )


def test_an_e_mail_says_how_many_more_there_are() -> None:
    items = [item(subject=f"report#{number}") for number in range(12)]
    mail = Target("mail", TargetKind.EMAIL, to=("ops@example.org",))
    message = delivery(mail, notification(NS, DEAD, items, ""), "k").payload["message"]
    assert isinstance(message, dict)
    assert message["subject"] == "[fencepost] default: 12 runs are dead"
    assert str(message["text"]).splitlines()[-2:] == ["- report#9: boom", "and 2 more"]


def test_a_hook_gets_the_notification_under_the_name_of_its_argument() -> None:
    told = trial(NS, "")
    run = delivery(HOOK, told, "k")
    assert (run.job, run.payload, run.run_key) == ("tell", {"notice": told}, "tell#k")


def test_the_end_of_an_alarm_says_what_has_ended() -> None:
    over = recovery(alarm(ended=True))
    assert (over.event, over.of, over.subject, over.words) == (RECOVERED, STUCK, "report#1", "stuck, for 0s")


@pytest.mark.parametrize(
    ("target", "complaint"),
    [
        (Target("a b", TargetKind.SLACK, url="https://x"), "notify 'a b': expected"),
        (Target("ops", TargetKind.WEBHOOK), "url is missing"),
        (Target("ops", TargetKind.WEBHOOK, url="https://[bad"), "url: its host or port cannot be read"),
        (Target("ops", TargetKind.WEBHOOK, url="https://x:99999/y"), "url: its host or port cannot be read"),
        (Target("ops", TargetKind.SLACK, url="https://"), "url: its host or port cannot be read"),
        (Target("ops", TargetKind.EMAIL), "to is missing"),
        (Target("ops", TargetKind.EMAIL, to=("anna",)), "expected an e-mail address"),
        (Target("ops", TargetKind.EMAIL, to=("a@b, c@d",)), "expected an e-mail address"),
        (Target("ops", TargetKind.SLACK, url="https://x", secret="env:S"), "secret is not for kind slack"),
    ],
)
def test_a_target_that_cannot_be_is_refused(target: Target, complaint: str) -> None:
    with pytest.raises(InvalidSpec, match=complaint):
        check_target(target)
