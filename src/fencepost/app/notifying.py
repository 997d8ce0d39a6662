"""Who is notified, from the words people use, and the job that does it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any, TypedDict

from fencepost.app.specs import job_name
from fencepost.app.words import Followed
from fencepost.clock import SystemClock
from fencepost.config import Settings
from fencepost.core.retry_after import parse_retry_after
from fencepost.errors import InvalidSpec
from fencepost.executors.mail import parse_mail_server
from fencepost.executors.notify import NotifyExecutor, check_call
from fencepost.executors.secrets import Secrets
from fencepost.model.identifiers import DEFAULT_QUEUE, JobName
from fencepost.model.job import JobSpec
from fencepost.model.notification import (
    DELIVERY,
    DELIVERY_SPEC,
    EventWord,
    Target,
    TargetKind,
    check_target,
    parse_events,
)
from fencepost.model.quoting import quoted
from fencepost.ports.executor import Job
from fencepost.ports.store import Store

KINDS = (TargetKind.WEBHOOK, TargetKind.SLACK, TargetKind.EMAIL)


class NotifyWords(TypedDict, total=False):
    """What a target says beside its kind."""

    events: Sequence[EventWord]
    jobs: Sequence[Followed]
    schedules: Sequence[str]
    url: str
    secret: str | None
    allow_private: bool
    to: Sequence[str]


def notify_target(name: str, kind: str, words: NotifyWords, secrets: Secrets) -> Target:
    """A target of code or of a file."""
    if kind not in KINDS:
        raise InvalidSpec(f"notify {name}: kind {quoted(kind)}: expected one of {', '.join(KINDS)}")
    target = Target(
        name=name,
        kind=TargetKind(kind),
        url=words.get("url", ""),
        secret=words.get("secret"),
        allow_private=words.get("allow_private", False),
        to=tuple(words.get("to", ())),
        from_code=True,
        **_filters(words.get("events", ()), words.get("jobs", ()), words.get("schedules", ())),
    )
    check_target(target)
    if target.url:
        try:
            check_call(target, secrets)
        except InvalidSpec as error:
            raise InvalidSpec(f"notify {name}: {error}") from None
    return target


def hook(
    name: str,
    events: Sequence[str],
    jobs: Sequence[Followed],
    schedules: Sequence[str],
    parameters: Sequence[str],
) -> Target:
    """A target that is a function of the application."""
    if len(parameters) != 1:
        raise InvalidSpec(f"hook {name}: expected a function of one argument, the notification")
    return Target(
        name=name,
        kind=TargetKind.HOOK,
        job=JobName(name),
        parameter=parameters[0],
        from_code=True,
        **_filters(events, jobs, schedules),
    )


def delivery_jobs(store: Store, settings: Settings, secrets: Secrets) -> dict[JobName, Job]:
    """The job that every worker has beside those of its application."""

    async def find(name: str) -> Target | None:
        targets = await store.notifications.all(settings.namespace)
        return next((one for one in targets if one.name == name), None)

    server = parse_mail_server(settings.smtp, settings.smtp_from) if settings.smtp else None
    executor = NotifyExecutor(find, secrets, server, SystemClock(), parse_retry_after)
    return {DELIVERY: Job(DELIVERY_SPEC, executor)}


def delivery_specs(targets: Iterable[Target], settings: Settings) -> dict[str, JobSpec]:
    """What the store is told of it where there are targets: it goes by a queue that workers have."""
    if all(one.job != DELIVERY for one in targets):
        return {}
    queue = DEFAULT_QUEUE if DEFAULT_QUEUE in settings.queues else settings.queues[0]
    return {DELIVERY: replace(DELIVERY_SPEC, queue=queue)}


def _filters(events: Sequence[str], jobs: Sequence[Followed], schedules: Sequence[str]) -> dict[str, Any]:
    for word, given in (("events", events), ("jobs", jobs), ("schedules", schedules)):
        if isinstance(given, str):
            raise InvalidSpec(f"{word}: {quoted(given)}: expected a list")
    names = tuple(job_name(one) for one in jobs)
    return {"events": parse_events(events), "jobs": names, "schedules": tuple(schedules)}
