"""What a job's spec says, in plain words."""

from __future__ import annotations

from collections.abc import Iterator

from fencepost.model.durations import format_duration
from fencepost.model.job import PRIORITY_DEFAULT, AfterOn, JobSpec, Retry
from fencepost.model.limits import JobLimit
from fencepost.model.message import Reply


def described(spec: JobSpec) -> str:
    """`takes image_id, width (optional); up to 5 attempts, a retry after at most 5m; each at most 10m`."""
    return "; ".join(_parts(spec))


def _parts(spec: JobSpec) -> Iterator[str]:
    yield f"takes {_payload(spec)}"
    yield "started at most once, never tried again by itself" if spec.at_most_once else _attempts(spec.retry)
    if spec.timeout is not None:
        yield f"each at most {format_duration(spec.timeout)}"
    if spec.progress_deadline is not None:
        yield f"never silent for longer than {format_duration(spec.progress_deadline)}"
    if spec.limit is not None:
        yield from _limits(spec.limit)
    if spec.after:
        ends = {AfterOn.SUCCESS: "success", AfterOn.FAILURE: "failure", AfterOn.ANY: "end"}[spec.after_on]
        yield f"runs after each {ends} of {' and '.join(spec.after)}"
    if spec.priority != PRIORITY_DEFAULT:
        yield f"priority {spec.priority}"
    if spec.external:
        yield "done by workers outside, over HTTP"
    if spec.message is not None:
        told = ", whose result is awaited" if spec.message.reply is Reply.RESULT else ""
        what = "sent" if spec.message.body is None else f"the bytes of {spec.message.body} are sent"
        yield f"{what} to {spec.message.destination} by the message broker{told}"


def _payload(spec: JobSpec) -> str:
    names = [one.name if one.required else f"{one.name} (optional)" for one in spec.parameters]
    others = ["any names"] if spec.open_payload and not names else ["others"] if spec.open_payload else []
    return ", ".join([*names, *others]) or "nothing"


def _attempts(retry: Retry) -> str:
    if retry.max_attempts == 1:
        return "one attempt"
    words = f"up to {retry.max_attempts} attempts, a retry after at most {format_duration(retry.cap)}"
    if retry.deadline is not None:
        words += f", none later than {format_duration(retry.deadline)} after the first"
    if retry.only:
        words += f", only of {', '.join(retry.only)}"
    if retry.never:
        words += f", never of {', '.join(retry.never)}"
    return words


def _limits(limit: JobLimit) -> Iterator[str]:
    if limit.concurrency is not None:
        each = f" for each {limit.key}" if limit.key else ""
        yield f"at most {limit.concurrency} at a time{each}"
    if limit.rate is not None:
        yield f"at most {limit.rate}"
