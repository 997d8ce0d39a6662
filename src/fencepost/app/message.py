"""Message jobs and intakes, from the words people use."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from fencepost.app.external import external_parameters
from fencepost.app.specs import length_of
from fencepost.app.words import JobWords, job_spec, own_words
from fencepost.errors import InvalidSpec
from fencepost.model.durations import Duration
from fencepost.model.identifiers import JobName
from fencepost.model.intake import Intake
from fencepost.model.job import JobSpec, Parameter
from fencepost.model.message import Reply, Route, checked_destination
from fencepost.model.quoting import quoted


class RouteWords(JobWords, total=False):
    """What a message job says of its way; `Route` has the defaults."""

    reply: str
    start_within: Duration
    ahead_max: int
    body: str


def message_spec(
    name: str, destination: str | None, parameters: Mapping[str, str] | None, words: RouteWords
) -> JobSpec:
    """The spec of a message job. Without parameters it takes any payload."""
    inner = own_words(name, RouteWords, words)
    route = message_route(name, destination, **inner)
    return job_spec(
        name,
        words,
        parameters=message_parameters(name, route, parameters or {}),
        open_payload=parameters is None and route.body is None,
        message=route,
    )


def message_parameters(name: str, route: Route, parameters: Mapping[str, str]) -> tuple[Parameter, ...]:
    """What the job takes. One that sends bytes takes these and nothing else, because nothing else is sent."""
    if route.body is None:
        return external_parameters(name, parameters)
    if parameters:
        raise InvalidSpec(f"job {name}: with body only {quoted(route.body)} is sent; leave parameters out")
    return external_parameters(name, {route.body: "string"})


def told_by_function(spec: JobSpec, parameters: tuple[Parameter, ...], open_payload: bool) -> JobSpec:
    """The spec with what the function behind it takes."""
    body = None if spec.message is None else spec.message.body
    if body is None:
        return replace(spec, parameters=parameters, open_payload=open_payload)
    others = [one.name for one in parameters if one.name != body and one.required]
    if others or body not in {one.name for one in parameters}:
        raise InvalidSpec(
            f"job {spec.name}: the function takes {quoted(body)} and nothing else, as bytes are sent"
        )
    return spec


def intake(source: str, job: JobName, key: str | None, group: str | None) -> Intake:
    """Messages of a source that become runs of a job."""
    try:
        checked_destination(source)
    except InvalidSpec as error:
        raise InvalidSpec(f"intake of job {job}: {error}") from None
    return Intake(source, job, key) if group is None else Intake(source, job, key, group)


def message_route(
    job: str,
    destination: str | None = None,
    reply: str = Reply.NONE,
    start_within: Duration | None = None,
    ahead_max: int | None = None,
    body: str | None = None,
) -> Route:
    """How the runs of a job are sent; to a destination of its own name unless another is given."""
    try:
        known = Reply(reply)
    except ValueError:
        expected = " or ".join(f'"{one}"' for one in Reply)
        raise InvalidSpec(f"job {job}: reply {quoted(reply)}: expected {expected}") from None
    wait = length_of(start_within)
    given = {
        "start_within_s": None if wait is None else wait.total_seconds(),
        "ahead_max": ahead_max,
    }
    said = {name: value for name, value in given.items() if value is not None}
    if said and known is Reply.NONE:
        raise InvalidSpec(f'job {job}: start_within and ahead_max are for reply="result"; leave them out')
    try:
        return Route(destination or job, known, body=body, **said)  # type: ignore[arg-type]
    except InvalidSpec as error:
        raise InvalidSpec(f"job {job}: {error}") from None
