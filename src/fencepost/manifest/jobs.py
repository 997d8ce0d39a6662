"""`[jobs.NAME]`: commands, HTTP calls, Celery tasks and external work as jobs."""

from __future__ import annotations

from datetime import timedelta
from functools import partial
from typing import Any

from fencepost.app.specs import after_on_of, is_at_most_once, limit_of, names_after, retry_window_of
from fencepost.executors.command import AllowList
from fencepost.executors.secrets import Secrets
from fencepost.manifest.celery import read_celery
from fencepost.manifest.commands import COMMAND_KEYS, read_command_work
from fencepost.manifest.external import is_external, read_external
from fencepost.manifest.http import read_http
from fencepost.manifest.message import read_message_work, read_route
from fencepost.manifest.table import Table
from fencepost.model.durations import parse_duration
from fencepost.model.identifiers import DEFAULT_QUEUE, JobName, Queue, checked_name
from fencepost.model.job import PRIORITY_DEFAULT, DeliveryGuarantee, JobSpec, Parameter, Retry, RetryWindow
from fencepost.model.limits import JobLimit
from fencepost.model.quoting import quoted
from fencepost.ports.executor import Executor

KEYS = (
    *(*COMMAND_KEYS, "http", "celery", "external", "message", "parameters"),
    *("timeout", "progress_deadline", "queue", "priority", "retry", "delivery"),
    *("concurrency", "concurrency_key", "rate", "after", "after_on", "renamed_from", "retry_window"),
)
RETRY_KEYS = ("max_attempts", "base", "cap", "deadline", "budget", "backoff", "max_doublings")
NO_BUDGET = "none"
"""How a file, which cannot say None, switches the budget off."""


def read_job(
    name: str, table: Table, allowed: AllowList | None = None, secrets: Secrets | None = None
) -> tuple[JobSpec, Executor]:
    """A job and the way to do it."""
    table.only(*KEYS)
    route = read_route(name, table)
    executor, parameters = (
        read_message_work(table, route) if route is not None else _work(table, allowed, secrets)
    )
    timeout = table.length("timeout")
    with table.blaming():
        checked_name("job", name)
        after = _after(table)
        after_on = after_on_of(table.text("after_on"), after)
    made = partial(
        JobSpec,
        name=JobName(name),
        queue=Queue(table.queue() or DEFAULT_QUEUE),
        priority=table.priority() or PRIORITY_DEFAULT,
        retry=_retry(table),
        timeout=None if timeout is None else parse_duration(timeout),
        progress_deadline=_progress_deadline(table),
        at_most_once=_at_most_once(table),
        parameters=parameters,
        open_payload="parameters" not in table and (route is None or route.body is None),
        external=is_external(table),
        message=route,
        limit=_limit(table),
        after=after,
        after_on=after_on,
        renamed_from=_renamed_from(table),
        retry_window=_retry_window(table),
    )
    with table.blaming():
        return made(), executor


def _work(
    table: Table, allowed: AllowList | None, secrets: Secrets | None
) -> tuple[Executor, tuple[Parameter, ...]]:
    """The one thing that a job does."""
    if is_external(table):
        return read_external(table)
    kind = next((kind for kind in ("http", "celery") if kind in table), None)
    if kind is None:
        return read_command_work(table, allowed, secrets), ()
    for word in (*COMMAND_KEYS, "celery"):
        if word in table and word != kind:
            table.refuse(word, f"stands beside {kind}; a job does one thing, so leave one of them out")
    return read_http(table) if kind == "http" else (read_celery(table), ())


def _progress_deadline(table: Table) -> timedelta | None:
    """Of a command, which says by every line of its output that it gets on, or of a worker outside, which
    says so in its heartbeats. An HTTP call has only its deadline, a Celery task its timeout."""
    deadline = table.length("progress_deadline")
    if deadline is not None and "celery" in table:
        table.refuse("progress_deadline", "is not for Celery tasks; give it a timeout")
    if deadline is not None and "http" in table:
        table.refuse("progress_deadline", "is not for HTTP calls, which have a deadline; leave it out")
    return None if deadline is None else parse_duration(deadline)


def _after(table: Table) -> tuple[JobName, ...]:
    value = table.raw("after")
    names = [value] if isinstance(value, str) else value or []
    if not isinstance(names, list) or not all(isinstance(one, str) for one in names):
        table.refuse("after", f'= {quoted(value)}: expected the names of jobs, as in after = ["extract"]')
    return names_after(names)


def _limit(table: Table) -> JobLimit | None:
    with table.blaming():
        return limit_of(table.whole("concurrency"), table.text("concurrency_key"), table.text("rate"))


def _renamed_from(table: Table) -> tuple[JobName, ...]:
    value = table.raw("renamed_from")
    given = [value] if isinstance(value, str) else value or []
    if not isinstance(given, list) or not all(isinstance(one, str) for one in given):
        table.refuse("renamed_from", f"= {quoted(value)}: expected a name, or a list of names")
    with table.blaming("renamed_from"):
        return tuple(JobName(checked_name("job", one)) for one in given)


def _at_most_once(table: Table) -> bool:
    with table.blaming("delivery"):
        return is_at_most_once(table.text("delivery") or DeliveryGuarantee.AT_LEAST_ONCE)


def _retry_window(table: Table) -> RetryWindow:
    with table.blaming("retry_window"):
        return retry_window_of(table.text("retry_window") or RetryWindow.WARN)


def _retry(table: Table) -> Retry:
    inner = table.table("retry")
    inner.only(*RETRY_KEYS)
    given: dict[str, Any] = {
        "max_attempts": inner.whole("max_attempts"),
        "base": inner.length("base"),
        "cap": inner.length("cap"),
        "deadline": inner.length("deadline"),
        "backoff": inner.text("backoff"),
        "max_doublings": inner.whole("max_doublings"),
    }
    said = {key: value for key, value in given.items() if value is not None}
    if "budget" in inner:
        said["budget"] = _budget(inner)
    with table.blaming("retry"):
        return Retry(**said)


def _budget(inner: Table) -> float | None:
    value = inner.raw("budget")
    if value == NO_BUDGET:
        return None
    if type(value) not in (int, float) or not 0 <= value <= 1:
        inner.refuse("budget", f'= {quoted(value)}: expected a share from 0 to 1, or "{NO_BUDGET}"')
    return float(value)
