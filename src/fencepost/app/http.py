"""HTTP calls as jobs, from the words people use."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from fencepost.app.words import JobWords, job_spec, own_words
from fencepost.clock import SystemClock
from fencepost.core.retry_after import parse_retry_after
from fencepost.errors import InvalidSpec, UsageError
from fencepost.executors.http import http_call, http_executor
from fencepost.model.durations import Duration
from fencepost.model.job import JobSpec, Parameter
from fencepost.model.json import JsonValue
from fencepost.ports.executor import Executor


class HttpWords(JobWords, total=False):
    """What a job says beside its URL; `http_call` has the defaults."""

    method: str
    headers: Mapping[str, str]
    body: JsonValue
    success: Iterable[int | str]
    secret: str | Iterable[str]
    deadline: Duration
    answer_max: int | str
    allow_private: bool
    ports: Iterable[int]
    schemes: Iterable[str]
    redirects: int


def http_job(name: str, url: str, words: HttpWords) -> tuple[JobSpec, Executor]:
    """The job, and the way to do it."""
    inner = own_words(name, HttpWords, words)
    if words.get("progress_deadline") is not None:
        raise InvalidSpec(f"job {name}: progress_deadline is not for HTTP calls, which have a deadline")
    try:
        executor, parameters = http_work(url=url, **inner)
    except UsageError as error:
        raise type(error)(f"job {name}: {error}") from None
    return job_spec(name, words, parameters=parameters), executor


def http_work(**words: Any) -> tuple[Executor, tuple[Parameter, ...]]:
    """The doer of a call, and the names that it takes from a payload, beside any others."""
    executor = http_executor(http_call(**words), SystemClock(), parse_retry_after)
    return executor, tuple(Parameter(name, required=True) for name in executor.names)
