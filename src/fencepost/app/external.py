"""Specs of external jobs, from the words of code and files."""

from __future__ import annotations

from collections.abc import Mapping

from fencepost.app.words import JobWords, job_spec, own_words
from fencepost.errors import InvalidSpec
from fencepost.model.job import JobSpec, Parameter
from fencepost.model.quoting import quoted

KINDS = ("any", "boolean", "integer", "number", "string", "array", "object")
OPTIONAL = "?"


def external_spec(name: str, parameters: Mapping[str, str] | None, words: JobWords) -> JobSpec:
    """The spec of a job that is done outside. Without parameters it takes any payload."""
    own_words(name, JobWords, words)
    return job_spec(
        name,
        words,
        parameters=external_parameters(name, parameters or {}),
        open_payload=parameters is None,
        external=True,
    )


def external_parameters(job: str, parameters: Mapping[str, str]) -> tuple[Parameter, ...]:
    """`{"image_id": "integer", "width": "integer?"}`: names, each with a JSON type, and `?` where it may be
    left out."""
    return tuple(_parameter(job, name, kind) for name, kind in parameters.items())


def _parameter(job: str, name: str, said: str) -> Parameter:
    kind = str(said).removesuffix(OPTIONAL)
    if kind not in KINDS:
        expected = f"expected one of {', '.join(KINDS)}, with a {OPTIONAL} behind it where it may be left out"
        raise InvalidSpec(f"job {job}: parameter {name} is {quoted(said)}: {expected}")
    return Parameter(name, not str(said).endswith(OPTIONAL), kind)
