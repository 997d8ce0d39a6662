"""Jobs: listed in words, and enqueued once for each key."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from msgspec import ValidationError
from msgspec.structs import replace

from fencepost.errors import InvalidSpec, UsageError
from fencepost.model.audit import Action, LogFilter
from fencepost.model.clocks import StoreTime
from fencepost.model.identifiers import JobName, Queue
from fencepost.model.job import JobSpec, Parameter, Retry
from fencepost.model.limits import JobLimit
from fencepost.operations.control import Control
from fencepost.operations.job_words import described
from fencepost.operations.jobs import (
    EnqueueRequest,
    JobRequest,
    ListJobsRequest,
    enqueue,
    list_jobs,
    show_job,
)
from fencepost.operations.wire import Parts, Refused, from_call
from tests.operations.asking import asked, refused, there_and_back
from tests.services.house import NS, House
from tests.services.verbs_work import ANNA, at

RESIZE = JobSpec(
    JobName("resize"),
    Queue("media"),
    parameters=(Parameter("image_id", required=True, kind="integer"), Parameter("width", required=False)),
)


async def registered(house: House, *specs: JobSpec) -> Control:
    await house.memory.jobs.register(NS, list(specs) or [RESIZE])
    return Control(house.store, NS, ANNA)


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        (
            JobSpec(JobName("j")),
            "takes nothing; up to 5 attempts, a retry after at most 5m",
        ),
        (
            JobSpec(JobName("j"), retry=Retry(1), timeout=timedelta(minutes=10), priority=1),
            "takes nothing; one attempt; each at most 10m; priority 1",
        ),
        (
            JobSpec(JobName("j"), at_most_once=True, open_payload=True, external=True),
            (
                "takes any names; started at most once, never tried again by itself; "
                "done by workers outside, over HTTP"
            ),
        ),
        (
            JobSpec(
                JobName("j"),
                parameters=RESIZE.parameters,
                open_payload=True,
                retry=Retry(3, deadline="1h", only="ConnectionError", never=("KeyError", "ValueError")),
                progress_deadline=timedelta(seconds=30),
                limit=JobLimit(4, "image_id", "10/m"),
            ),
            (
                "takes image_id, width (optional), others; up to 3 attempts, a retry after at most 5m, none "
                "later than 1h after the first, only of ConnectionError, never of KeyError, ValueError; "
                "never silent for longer than 30s; at most 4 at a time for each image_id; at most 10/m"
            ),
        ),
    ],
)
def test_a_spec_is_said_in_words(spec: JobSpec, words: str) -> None:
    assert described(spec) == words


async def test_jobs_are_listed_by_name_a_page_at_a_time() -> None:
    specs = [JobSpec(JobName(name), Queue("mail")) for name in ("send", "bounce")]
    control = await registered(House(), RESIZE, *specs)
    first = await asked(control, list_jobs, ListJobsRequest(limit=2))
    assert [one.job for one in first.items] == ["bounce", "resize"]
    second = await asked(control, list_jobs, ListJobsRequest(limit=2, after=first.next))
    assert ([one.job for one in second.items], second.next) == (["send"], None)
    mail = await asked(control, list_jobs, ListJobsRequest(queue="mail", text="en"))
    assert [one.job for one in mail.items] == ["send"]


async def test_a_job_is_shown_as_the_store_knows_it() -> None:
    control = await registered(House())
    shown = await asked(control, show_job, JobRequest(job="resize"))
    assert (shown.queue, shown.retry.max_attempts, shown.retry.cap_s) == ("media", 5, 300)
    assert [(one.name, one.required, one.kind) for one in shown.parameters] == [
        ("image_id", True, "integer"),
        ("width", False, "any"),
    ]
    assert "did you mean resize?" in await refused(control, show_job, JobRequest(job="resise"))


async def test_a_second_enqueue_of_a_key_changes_nothing() -> None:
    house = House()
    control = await registered(house)
    wanted = EnqueueRequest(job="resize", key="7", at="2026-03-01T12:05:00Z", payload={"image_id": 7})
    first, second = [await asked(control, enqueue, wanted) for _ in range(2)]
    assert (first.run_key, first.new) == ("resize#7", True)
    assert (second.run_key, second.new) == ("resize#7", False)
    run = await house.run("resize#7")
    assert (run.run_at, run.queue, run.payload) == (at(300), "media", {"image_id": 7})
    (entry,) = await house.memory.audit_log.list(NS, LogFilter(action=Action.RUN_ENQUEUE))
    assert (entry.subject, entry.author) == ("resize#7", ANNA)


async def test_a_call_that_may_be_repeated_lends_its_key_where_none_is_given() -> None:
    house = House()
    await registered(house)
    first = await house.store.now()
    control = Control(house.store, NS, ANNA, idempotency_key="once-1", requested_at=first)
    payload = {"image_id": 7}
    wanted = EnqueueRequest(job="resize", payload=payload)
    assert [(await asked(control, enqueue, wanted)).new for _ in range(2)] == [True, False]
    later = Control(
        house.store, NS, ANNA, idempotency_key="once-1", requested_at=StoreTime(first + timedelta(days=2))
    )
    assert (await asked(later, enqueue, wanted)).new
    named = await asked(control, enqueue, EnqueueRequest(job="resize", key="7", payload=payload))
    assert named.run_key == "resize#7"


async def test_without_any_key_every_enqueue_is_new() -> None:
    control = await registered(House())
    wanted = EnqueueRequest(job="resize", payload={"image_id": 7})
    first, second = [await asked(control, enqueue, wanted) for _ in range(2)]
    assert (first.new, second.new) == (True, True)
    assert first.run_key != second.run_key


async def test_a_call_says_where_when_and_until_when_it_wants_a_run() -> None:
    house = House()
    control = await registered(house)
    words: dict[str, Any] = {"delay": "5m", "queue": "images", "priority": 1, "expires": "10m"}
    await asked(control, enqueue, EnqueueRequest(job="resize", key="7", payload={"image_id": 7}, **words))
    run = await house.run("resize#7")
    assert (run.run_at, run.queue, run.priority, run.expires_at) == (at(300), "images", 1, at(900))
    instant = EnqueueRequest(job="resize", key="8", payload={"image_id": 7}, expires="2026-03-01T12:30:00Z")
    await asked(control, enqueue, instant)
    assert (await house.run("resize#8")).expires_at == at(1800)


async def test_a_run_that_is_unique_is_written_once_and_named_to_the_second_caller() -> None:
    control = await registered(House())
    by_payload = EnqueueRequest(job="resize", key="7", payload={"image_id": 7}, unique="unfinished")
    assert (await asked(control, enqueue, by_payload)).new
    again = await asked(control, enqueue, replace(by_payload, key="8"))
    assert (again.run_key, again.new) == ("resize#7", False)
    assert (await asked(control, enqueue, replace(by_payload, key="9", payload={"image_id": 9}))).new
    named = replace(by_payload, key="a", unique="1h", unique_name="customer-3")
    assert (await asked(control, enqueue, named)).new
    again = await asked(control, enqueue, replace(named, key="b", payload={"image_id": 9}))
    assert (again.run_key, again.new) == ("resize#a", False)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ({"at": "2026-03-01T12:05:00Z", "delay": "5m"}, "at and delay are two ways to say one thing"),
        ({"delay": "soon"}, 'duration "soon"'),
        ({"queue": "q", "unique": "always"}, 'unique "always": expected "queued", "unfinished"'),
        ({"unique": "400d"}, "a period is above nothing and at most 366d"),
        ({"unique_name": "a"}, "unique_name: has no meaning without unique"),
        ({"expires": "0s"}, "expires: expected a length of time above nothing"),
        ({"expires": "10 minutes"}, "expires 10 minutes: write 10m"),
        ({"expires": "soon"}, "expires: "),
        ({"at": "2026-03-01T12:05:00Z", "expires": "2026-03-01T12:05:00Z"}, "it is not after"),
    ],
)
async def test_options_that_cannot_be_meant_are_refused(words: dict[str, Any], said: str) -> None:
    house = House()
    control = await registered(house)
    assert said in await refused(
        control, enqueue, EnqueueRequest(job="resize", payload={"image_id": 1}, **words)
    )
    assert await house.runs() == []


@pytest.mark.parametrize("words", [{"queue": "two words"}, {"priority": 9}])
async def test_options_out_of_bounds_do_not_arrive_and_are_refused_in_the_store(words: Any) -> None:
    house = House()
    control = await registered(house)
    wanted = EnqueueRequest(job="resize", payload={"image_id": 1}, **words)
    with pytest.raises(ValidationError):
        there_and_back(enqueue, wanted)
    with pytest.raises(InvalidSpec):
        await enqueue.carry_out(control, wanted)
    assert await house.runs() == []


@pytest.mark.parametrize(
    ("wanted", "said"),
    [
        (EnqueueRequest(job="resise"), "did you mean resize?"),
        (EnqueueRequest(job="resize"), "'image_id' is missing"),
        (EnqueueRequest(job="resize", payload={"image_id": "x"}), "expected integer"),
        (EnqueueRequest(job="resize", payload={"image_id": 1}, key="a#b"), "other than #"),
        (EnqueueRequest(job="resize", payload={"image_id": 1}, at="tomorrow"), "at: "),
        (EnqueueRequest(job="resize", payload={"image_id": 1}, at="0001-01-01T00:00:00Z"), "at "),
    ],
)
async def test_what_cannot_run_is_refused_and_nothing_is_written(wanted: EnqueueRequest, said: str) -> None:
    house = House()
    control = await registered(house)
    assert said in await refused(control, enqueue, wanted)
    assert await house.runs() == []


@pytest.mark.parametrize("more", [{"author": "eve"}, {"namespace": "other"}, {"state": "succeeded"}])
def test_nothing_that_is_not_asked_for_can_be_set(more: dict[str, str]) -> None:
    with pytest.raises(ValidationError):
        from_call(enqueue, Parts({"job": "resize"}, body=more))
    with pytest.raises(Refused):
        from_call(enqueue, Parts({"job": "resize"}, body={"job": "other"}))


def test_a_key_that_is_too_long_does_not_arrive() -> None:
    with pytest.raises(ValidationError):
        there_and_back(enqueue, EnqueueRequest(job="resize", key="x" * 501))
    with pytest.raises((ValidationError, UsageError)):
        there_and_back(enqueue, EnqueueRequest(job="no such name!"))
