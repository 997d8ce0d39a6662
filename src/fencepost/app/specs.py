"""Specs of jobs and schedules from the words people use."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import timedelta
from typing import Any

from fencepost.errors import InvalidSpec
from fencepost.executors.callable import plain_payload
from fencepost.model.durations import Duration, parse_duration
from fencepost.model.identifiers import JobName, Queue
from fencepost.model.job import AfterOn, DeliveryGuarantee, Retry, RetryWindow
from fencepost.model.limits import JobLimit
from fencepost.model.policies import CatchUp, Overlap, parse_overlap
from fencepost.model.quoting import quoted
from fencepost.model.schedule import ScheduleSpec, parse_absent
from fencepost.model.stretch import StretchLike, parse_stretch
from fencepost.model.trigger import Trigger

JOB_MARK = "__fencepost_job__"


def schedule_spec(
    *,
    job: str | Callable[..., Any],
    trigger: Trigger,
    payload: Mapping[str, Any] | None = None,
    overlap: Overlap | str = "skip",
    catch_up: CatchUp | str | None = None,
    spread: StretchLike | None = None,
    jitter: StretchLike | None = None,
    queue: str | None = None,
    priority: int | None = None,
    labels: Mapping[str, str] | None = None,
    absent: str = "keep",
) -> ScheduleSpec:
    """A spec from the words people use."""
    if not hasattr(trigger, "to_json"):
        raise InvalidSpec(
            f"trigger {trigger!r}: expected a trigger, such as Cron('0 6 * * *') or Every('5m')"
        )
    chosen = catch_up if isinstance(catch_up, CatchUp) else CatchUp(catch_up or "none")
    return ScheduleSpec(
        job=JobName(job_name(job)),
        trigger=trigger.to_json(),
        payload=plain_payload(dict(payload or {})),
        overlap=parse_overlap(overlap),
        catch_up=chosen,
        queue=Queue(queue) if queue is not None else None,
        priority=priority,
        labels=dict(labels or {}),
        spread=None if spread is None else parse_stretch(spread),
        jitter=None if jitter is None else parse_stretch(jitter),
        absent=parse_absent(absent),
    )


def job_name(job: str | Callable[..., Any]) -> str:
    """A function knows the name under which it was registered."""
    return job if isinstance(job, str) else getattr(job, JOB_MARK, job.__name__)


def name_of(function: Callable[..., Any]) -> str:
    """The name of a job that was given none."""
    name = getattr(function, "__name__", None)
    if not isinstance(name, str):
        raise InvalidSpec(f'job: {function!r} has no name of its own; give it one: @app.job("name")')
    return name


def length_of(duration: Duration | None) -> timedelta | None:
    """A length of time where one was given."""
    return None if duration is None else parse_duration(duration)


def retry_of(retry: object) -> Retry:
    """How failures are treated; as usual unless said."""
    if retry is None or isinstance(retry, Retry):
        return retry or Retry()
    raise InvalidSpec(f"job: retry {quoted(retry)}: expected Retry(…), such as Retry(max_attempts=3)")


def retry_window_of(word: str) -> RetryWindow:
    """What becomes of schedules whose period the retries may outgrow."""
    try:
        return RetryWindow(word)
    except ValueError:
        known = ", ".join(RetryWindow)
        raise InvalidSpec(f"retry_window {quoted(word)}: expected one of {known}") from None


def is_at_most_once(delivery: str) -> bool:
    """Whether an attempt that may have begun is never repeated by itself."""
    try:
        return DeliveryGuarantee(delivery) is DeliveryGuarantee.AT_MOST_ONCE
    except ValueError:
        known = " or ".join(DeliveryGuarantee)
        raise InvalidSpec(f"job: delivery {quoted(delivery)}: expected {known}") from None


def names_after(after: object) -> tuple[JobName, ...]:
    """The jobs that one follows: a job or its name, or several."""
    given: list[Any] = list(after) if isinstance(after, list | tuple) else [] if after is None else [after]
    for one in given:
        if not isinstance(one, str) and not callable(one) and not hasattr(one, JOB_MARK):
            raise InvalidSpec(f"job: after {quoted(one)}: expected a job, its name, or a list of those")
    return tuple(dict.fromkeys(JobName(job_name(one)) for one in given))


def after_on_of(on: str | None, after: Collection[JobName]) -> AfterOn:
    """Which ends it follows: success unless said."""
    if on is not None and not after:
        raise InvalidSpec(f"job: after_on {quoted(on)}: it says after which ends, and no job; add after=")
    try:
        return AfterOn(AfterOn.SUCCESS if on is None else on)
    except ValueError:
        known = " or ".join(AfterOn)
        raise InvalidSpec(f"job: after_on {quoted(on)}: expected {known}") from None


def names_before(renamed_from: str | Sequence[str]) -> tuple[JobName, ...]:
    """The names that a job had before, the first one first."""
    given = (renamed_from,) if isinstance(renamed_from, str) else renamed_from
    if not isinstance(given, Sequence):
        raise InvalidSpec(f"job: renamed_from {quoted(renamed_from)}: expected a name, or a list of names")
    return tuple(JobName(one) for one in given)


def limit_of(concurrency: int | None, key: str | None, rate: str | None) -> JobLimit | None:
    """The limits of a job; None where nothing is limited."""
    nothing = concurrency is None and key is None and rate is None
    return None if nothing else JobLimit(concurrency, key, rate)
