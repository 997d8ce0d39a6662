"""The page about message brokers says what is so: its tables are the code's, its examples are run."""

from __future__ import annotations

import json
import re
from base64 import b64encode
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from examples.processors import shop
from fencepost import wiring
from fencepost.core.messages import (
    PROCESSORS,
    Outcome,
    ReplyForm,
    StopForm,
    control_topic,
    message_of,
    read_reply,
    read_stop,
)
from fencepost.core.payload import PAYLOAD_BYTES_MAX, check_payload
from fencepost.manifest import load
from fencepost.model.clocks import StoreTime
from fencepost.model.identifiers import DEFAULT_NAMESPACE, Epoch, Fence, JobName, RunKey, ScheduleId
from fencepost.model.job import JobSpec
from fencepost.model.message import Reply, Route
from fencepost.model.run import Claim, Predecessor, RunState
from fencepost.services.intake import SHOWN_MAX
from fencepost.services.processor import DELIVERIES_MAX
from tests.brokers.post import START

ROOT = Path(__file__).parents[2]
GUIDE = ROOT / "docs" / "guides" / "brokers.md"
PAGE = GUIDE.read_text("utf-8")
EXAMPLES = ROOT / "examples" / "processors"
SENT = ("order-placed", "thumbs")
HELD_BY = {
    "the broker is away": "test_nothing_is_claimed_while_the_broker_is_away",
    "the broker is away while processors work, or no worker takes replies": (
        "test_no_attempt_is_spent_while_no_worker_reaches_the_broker"
    ),
    "the broker's confirm does not come": "test_no_attempt_is_spent_where_the_broker_did_not_answer",
    "the broker refuses the message": "test_what_the_broker_refuses_is_not_taken_for_sent",
    "a queue, stream or topic is missing, and the worker may not create it": (
        "test_a_user_who_may_create_no_stream_is_told_the_command"
    ),
    "the destination is deleted": "test_a_destination_that_was_deleted_is_there_again_for_the_next_attempt",
    "the message is too large": "test_what_the_broker_will_always_refuse_is_not_tried_again",
    "the store is away after a confirm or a reply": "test_no_reply_is_lost_while_the_store_is_away",
    "processors are slow": "test_no_more_is_sent_than_may_wait_for_processors",
    "no processor starts within `start_within`": "test_a_run_that_no_processor_starts_does_not_wait_for_ever",
    "a processor dies": "test_a_run_of_which_no_more_is_heard_is_not_left_running",
    "a processor never says that it has ended": "test_no_heartbeat_keeps_a_run_beyond_its_timeout",
    "a processor replies twice": "test_the_first_of_two_replies_of_one_batch_counts",
    "a processor replies late": "test_nothing_changes_by_a_reply_with_an_old_fence",
    "a reply cannot be read": "test_a_reply_without_sense_does_not_block_the_others",
    "a reply is about no run that was sent": "test_a_reply_to_no_run_is_let_go",
    "the worker that sent the run dies": "test_a_reply_is_not_lost_with_the_process_that_sent_the_run",
}
"""Which test holds what a row says."""


def blocks(language: str) -> list[str]:
    found = re.findall(rf"^ *```{language}\n(.*?)^ *```$", PAGE, re.MULTILINE | re.DOTALL)
    assert found, language
    return [str(one) for one in found]


def table_after(heading: str) -> list[list[str]]:
    section = PAGE.split(heading, 1)[1]
    rows = re.search(r"(?:^\|.*\n)+", section, re.MULTILINE)
    assert rows is not None
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in rows[0].splitlines()[2:]]


def names(cell: str) -> list[str]:
    return re.findall(r"`([^`]+)`", cell)


def test_no_kind_of_block_is_left_untried() -> None:
    assert set(re.findall(r"^ *```(\w+)$", PAGE, re.MULTILINE)) == {
        "console",
        "python",
        "toml",
        "json",
        "sql",
    }


def test_no_link_of_the_page_leads_nowhere() -> None:
    for target in re.findall(r"\]\(([^)]+)\)", PAGE):
        path, _, part = target.partition("#")
        file = (GUIDE.parent / path).resolve() if path else GUIDE
        assert file.is_file(), target
        headings = re.findall(r"^#+ (.*)$", file.read_text("utf-8"), re.MULTILINE)
        assert not part or part in {anchor(one) for one in headings}, target


def anchor(heading: str) -> str:
    return re.sub(r"[^a-z0-9 -]", "", heading.lower()).replace(" ", "-")


def test_no_broker_is_missing_on_the_page() -> None:
    for scheme, kind in wiring.BROKER_SCHEMES.items():
        assert f"`{scheme}://host`" in PAGE, scheme
        assert f"(brokers/{kind}.md)" in PAGE, kind


@pytest.mark.parametrize("code", blocks("python"))
def test_the_page_shows_no_code_but_the_examples(code: str) -> None:
    assert code in (EXAMPLES / "shop.py").read_text("utf-8")


def test_the_pages_file_says_what_its_code_says(tmp_path: Path) -> None:
    (text,) = blocks("toml")
    assert text == (EXAMPLES / "shop.toml").read_text("utf-8")
    app = load(EXAMPLES / "shop.toml")
    for name in SENT:
        assert app.jobs[JobName(name)].spec == shop.app.jobs[JobName(name)].spec
    (intake,) = app.intakes
    assert (intake.source, intake.key) == ("shop.orders", "order")
    place = tmp_path / "shop.toml"
    place.write_text(f'broker = "nats://localhost"\n{text}')
    assert load(place).settings.broker == "nats://localhost"


def test_no_header_is_left_out_and_none_is_made_up() -> None:
    told = [name for row in table_after("## The message") for name in names(row[0])]
    sent = {name for reply in Reply for name in message(reply).headers}
    assert set(told) == sent
    assert len(told) == len(set(told))
    always = message(Reply.NONE, plain=True).headers
    missing = {name for row in table_after("## The message") for name in names(row[0]) if "missing" in row[1]}
    assert missing.isdisjoint(always)


def message(reply: Reply, *, plain: bool = False) -> Any:
    """One with all that there can be, or with as little as possible."""
    schedule = None if plain else ScheduleId("hourly")
    claim = Claim(
        DEFAULT_NAMESPACE,
        RunKey("thumbs#7"),
        schedule,
        JobName("thumbs"),
        START,
        0,
        1,
        Fence(42),
        Epoch(0),
        {"data": "AAH/"},
        START,
        StoreTime(START),
        previous=None if plain else START,
        after=() if plain else (Predecessor(RunKey("shots#7"), JobName("shots"), RunState.SUCCEEDED),),
    )
    limit = None if plain else timedelta(minutes=2)
    route = Route("thumbs", reply, body=None if plain else "data")
    job = JobSpec(JobName("thumbs"), message=route, timeout=limit, at_most_once=not plain)
    carried = {} if plain else {"traceparent": "00-…", "tracestate": "a=b"}
    return message_of(claim, job, carried, 5.0)


def test_the_pages_bytes_are_those_of_its_payload() -> None:
    assert message(Reply.NONE).body == b"\x00\x01\xff"
    check_payload(JobSpec(JobName("a"), open_payload=True), {"data": b64encode(bytes(190 * 1024)).decode()})


def test_the_id_of_a_message_is_what_the_page_says() -> None:
    assert [message(reply).id for reply in Reply] == ["thumbs#7", "thumbs#7/1"]


def test_no_field_of_a_reply_is_left_out_and_none_is_made_up() -> None:
    told = [name for row in table_after("## The reply") for name in names(row[0])]
    assert sorted(told) == sorted(ReplyForm.__struct_fields__)


def test_the_pages_replies_and_announcements_are_read() -> None:
    replies, announcement = blocks("json")
    forms = [read_reply(line.encode()) for line in replies.splitlines()]
    assert [one.outcome for one in forms] == list(Outcome)
    for form, line in zip(forms, replies.splitlines(), strict=True):
        assert json.loads(line).keys() <= set(ReplyForm.__struct_fields__)
        assert (form.run_key, form.attempt, form.fence) == ("thumbs#7", 1, 42)
    assert read_stop(announcement.encode()) == StopForm(
        run_key="thumbs#7", attempt=1, fence=42, why="cancelled"
    )
    assert f"`{control_topic(DEFAULT_NAMESPACE).replace('default', 'NAMESPACE')}`" in PAGE


def test_the_fence_of_the_pages_statement_refuses_a_straggler() -> None:
    import sqlite3

    (statement,) = blocks("sql")
    connection = sqlite3.connect(":memory:")
    connection.execute("create table thumbs (image integer primary key, file text, fence integer)")
    for fence, written in ((41, 1), (42, 1), (43, 0)):
        connection.execute("insert or replace into thumbs values (7, 'a.png', ?)", (fence,))
        assert connection.execute(statement).rowcount == written
    connection.close()


def test_the_pages_numbers_are_the_codes() -> None:
    route = Route("thumbs")
    assert (route.start_within_s, route.ahead_max) == (600.0, 1_000)
    assert DELIVERIES_MAX == 5
    assert SHOWN_MAX == 2_000
    assert PAYLOAD_BYTES_MAX == 256 * 1024
    assert shop.app.settings.heartbeat_timeout_s == 30.0
    assert f"group `{PROCESSORS}`" in PAGE


def test_no_row_of_bad_days_is_without_a_test() -> None:
    assert [row[0] for row in table_after("## What happens on bad days")] == list(HELD_BY)
    tests = "".join(one.read_text("utf-8") for one in (ROOT / "tests" / "brokers").glob("test_*.py"))
    for test in HELD_BY.values():
        assert f"async def {test}(" in tests, test
