"""Jobs, and runs by hand."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, Struct

from fencepost.model.job import AfterOn, Backoff, DeliveryGuarantee, JobSpec, Parameter, Retry
from fencepost.model.limits import JobLimit
from fencepost.model.message import Reply, Route
from fencepost.operations.job_words import described
from fencepost.operations.paging import Next


class ParameterResponse(Struct, kw_only=True):
    """One name that a job takes from its payload."""

    name: str
    required: bool
    kind: Annotated[
        str,
        Meta(
            description="A type of JSON, `any`, or `secret` (`secret or null`): a reference such as "
            "`secret:stripe`.",
            examples=["integer"],
        ),
    ]


class RetryResponse(Struct, kw_only=True):
    """How failures are treated: after delays that grow from `base_s` by `backoff`, to `cap_s` at most."""

    max_attempts: int
    base_s: float
    cap_s: float
    deadline_s: float | None
    only: Annotated[list[str], Meta(description="The errors that are tried again; all where it is empty.")]
    never: list[str]
    budget: Annotated[float | None, Meta(description="How many retries may come for each first attempt.")]
    backoff: Annotated[Backoff, Meta(description="`function` where the code says how long it waits.")]
    max_doublings: Annotated[int | None, Meta(description="After so many it grows by as much each time.")]


class LimitResponse(Struct, kw_only=True):
    """What a job may do at most, across the fleet."""

    concurrency: int | None
    key: Annotated[str | None, Meta(description="The name in the payload that `concurrency` is counted by.")]
    rate: Annotated[str | None, Meta(examples=["10/m"])]


class RouteResponse(Struct, kw_only=True):
    """How the runs of a message job are sent."""

    destination: str
    reply: Annotated[Reply, Meta(description="`none`: sent is done. `result`: a processor reports.")]
    start_within_s: float
    ahead_max: int
    body: Annotated[
        str | None,
        Meta(description="The name in the payload whose bytes are sent; null: the payload as JSON."),
    ]


class JobResponse(Struct, kw_only=True):
    """A job, as the store knows it."""

    job: str
    description: Annotated[str, Meta(description="What follows from all of it, in plain words.")]
    queue: str
    priority: int
    retry: RetryResponse
    timeout_s: float | None
    progress_deadline_s: float | None
    delivery: DeliveryGuarantee
    external: Annotated[bool, Meta(description="Done by workers that ask for runs over HTTP.")]
    message: Annotated[RouteResponse | None, Meta(description="How a message broker sends its runs.")]
    parameters: list[ParameterResponse]
    open_payload: Annotated[bool, Meta(description="Whether it takes other names as well.")]
    limit: LimitResponse | None
    after: Annotated[list[str], Meta(description="The jobs that it runs after.")]
    after_on: Annotated[AfterOn, Meta(description="After which of their ends.")]


class JobPage(Struct, kw_only=True):
    """Jobs, by name."""

    items: list[JobResponse]
    next: Next


class Enqueued(Struct, kw_only=True):
    """A run by hand."""

    run_key: Annotated[str, Meta(examples=["resize#resize-7"])]
    new: Annotated[
        bool, Meta(description="False where a run of that key, or one that it is unique with, is there.")
    ]


def job_response(spec: JobSpec) -> JobResponse:
    """A job."""
    return JobResponse(
        job=spec.name,
        description=described(spec),
        queue=spec.queue,
        priority=spec.priority,
        retry=_retry_response(spec.retry),
        timeout_s=None if spec.timeout is None else spec.timeout.total_seconds(),
        progress_deadline_s=(
            None if spec.progress_deadline is None else spec.progress_deadline.total_seconds()
        ),
        delivery=DeliveryGuarantee.AT_MOST_ONCE if spec.at_most_once else DeliveryGuarantee.AT_LEAST_ONCE,
        external=spec.external,
        message=None if spec.message is None else _route_response(spec.message),
        parameters=[_parameter_response(one) for one in spec.parameters],
        open_payload=spec.open_payload,
        limit=None if spec.limit is None else _limit_response(spec.limit),
        after=list(spec.after),
        after_on=spec.after_on,
    )


def _retry_response(retry: Retry) -> RetryResponse:
    return RetryResponse(
        max_attempts=retry.max_attempts,
        base_s=retry.base.total_seconds(),
        cap_s=retry.cap.total_seconds(),
        deadline_s=None if retry.deadline is None else retry.deadline.total_seconds(),
        only=list(retry.only),
        never=list(retry.never),
        budget=retry.budget,
        backoff=retry.backoff if isinstance(retry.backoff, Backoff) else Backoff.FUNCTION,
        max_doublings=retry.max_doublings,
    )


def _parameter_response(parameter: Parameter) -> ParameterResponse:
    return ParameterResponse(name=parameter.name, required=parameter.required, kind=parameter.kind)


def _route_response(route: Route) -> RouteResponse:
    return RouteResponse(
        destination=route.destination,
        reply=route.reply,
        start_within_s=route.start_within_s,
        ahead_max=route.ahead_max,
        body=route.body,
    )


def _limit_response(limit: JobLimit) -> LimitResponse:
    return LimitResponse(concurrency=limit.concurrency, key=limit.key, rate=limit.rate)
