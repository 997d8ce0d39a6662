"""The words that every kind of job takes, and the spec that they make. Each kind adds its own."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from difflib import get_close_matches
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypedDict

from fencepost.app.specs import (
    after_on_of,
    is_at_most_once,
    length_of,
    limit_of,
    names_after,
    names_before,
    retry_of,
    retry_window_of,
)
from fencepost.errors import InvalidSpec
from fencepost.model.durations import Duration
from fencepost.model.identifiers import DEFAULT_QUEUE, JobName, Queue
from fencepost.model.job import PRIORITY_DEFAULT, DeliveryGuarantee, JobSpec, Parameter, RetryWindow
from fencepost.model.sizes import Size

if TYPE_CHECKING:
    from fencepost.model.job import AfterOnWord, Retry, RetryWindowWord
    from fencepost.model.message import Route


Followed: TypeAlias = str | Callable[..., Any]
After: TypeAlias = Followed | Sequence[Followed]
"""A job that another follows, or its name; or several, of which all are waited for."""


class JobWords(TypedDict, total=False):
    """How a job is treated, whatever its work is."""

    retry: Retry | None
    timeout: Duration | None
    progress_deadline: Duration | None
    queue: str
    priority: int
    delivery: Literal["at_least_once", "at_most_once"]
    concurrency: int | None
    concurrency_key: str | None
    rate: str | None
    after: After | None
    after_on: AfterOnWord | None
    renamed_from: str | Sequence[str]
    retry_window: RetryWindowWord


class Place(StrEnum):
    """Where a function runs."""

    AUTO = "auto"
    """On the worker's event loop if it is async, in a thread if it is not."""
    PROCESS = "process"


class PlaceWords(TypedDict, total=False):
    """What `@app.job()` takes about where the function runs."""

    executor: Literal["auto", "process"]
    memory_limit: Size | None
    recycle_after: int | None


class FunctionWords(JobWords, PlaceWords, total=False):
    """What `@app.job()` takes beside its schedule."""


def job_spec(
    name: str,
    words: Mapping[str, Any],
    *,
    parameters: tuple[Parameter, ...] = (),
    open_payload: bool = True,
    external: bool = False,
    message: Route | None = None,
) -> JobSpec:
    """The spec of a job; of the words only those of `JobWords` are read."""
    after = names_after(words.get("after"))
    return JobSpec(
        name=JobName(name),
        queue=Queue(words.get("queue", DEFAULT_QUEUE)),
        priority=words.get("priority", PRIORITY_DEFAULT),
        retry=retry_of(words.get("retry")),
        timeout=length_of(words.get("timeout")),
        progress_deadline=length_of(words.get("progress_deadline")),
        at_most_once=is_at_most_once(words.get("delivery", DeliveryGuarantee.AT_LEAST_ONCE)),
        limit=limit_of(words.get("concurrency"), words.get("concurrency_key"), words.get("rate")),
        parameters=parameters,
        open_payload=open_payload,
        external=external,
        message=message,
        after=after,
        after_on=after_on_of(words.get("after_on"), after),
        renamed_from=names_before(words.get("renamed_from", ())),
        retry_window=retry_window_of(words.get("retry_window", RetryWindow.WARN)),
    )


def own_words(name: str, kind: type[Any], words: Mapping[str, Any]) -> dict[str, Any]:
    """What a kind of job says beside `JobWords`; a word that it does not know is refused."""
    known = kind.__annotations__
    for word in words:
        if word not in known:
            near = get_close_matches(word, known, n=1)
            hint = f"did you mean {near[0]}?" if near else f"known: {', '.join(sorted(known))}"
            raise InvalidSpec(f"job {name}: unknown word {word!r}; {hint}")
    return {word: value for word, value in words.items() if word not in JobWords.__annotations__}
