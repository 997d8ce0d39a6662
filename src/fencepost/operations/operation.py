"""An operation: one verb of the house, whoever asks for it and from where.

The request is a struct, and so is the response; both are promises, and the document of the API is
made of them. A field that stands in the path is taken from it. The other fields of a GET or a DELETE are its
query, those of any other method its body. But `expected_version` is the `If-Match` header.

An operation is declared by its function:

    @operation("runs.cancel", "POST /runs/{run_key}/cancel", Role.OPERATOR)
    async def cancel_run(control: Control, request: ChangeRunRequest) -> RunResponse:
        '''Cancel a run.

        One that waits ends at once, one that runs is asked to stop.'''

The first line of its prose is the summary. A change has a `reason` in its request (`ChangeRequest`), which
is the author's in the audit log.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable
from dataclasses import field
from inspect import getdoc
from typing import Annotated, Any, Generic, TypeAlias, TypeVar, get_type_hints

from msgspec import Meta, Struct

from fencepost.model.access import Role
from fencepost.model.dataclasses import dataclass

API = "/api/v1"
"""The root of every path, over HTTP."""
IN_PATH = re.compile(r"\{(\w+)\}")
REASON_LENGTH_MAX = 1_000
VERSION_FIELD = "expected_version"
BODILESS = frozenset({"GET", "DELETE"})

Reason: TypeAlias = Annotated[
    str, Meta(max_length=REASON_LENGTH_MAX, description="Why, in your own words, for the audit log.")
]


class Request(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The request: it has no fields, where none are added."""


class ChangeRequest(Request, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The request of an operation that changes something."""

    reason: Reason | None = None


Q = TypeVar("Q", bound=Struct)
A = TypeVar("A", bound=Struct)
C = TypeVar("C")


@dataclass(frozen=True, eq=False)
class Operation(Generic[C, Q, A]):
    """One verb. `C` is what it is carried out with: a `Control`, or what workers outside are served with."""

    name: str
    """The noun and the verb: `runs.cancel`."""
    method: str
    path: str
    """Below the root of the API, with `{names}`."""
    role: Role
    carry_out: Callable[[C, Q], Awaitable[A]]
    context: type[C]
    request: type[Q]
    response: type[A]
    whole_fleet: bool = False
    """Touches every tenant: only those who may act in all namespaces may ask for it."""
    versioned: str | None = None
    """The field of the answer, `version` or `revision`, which over HTTP is its ETag as well."""
    secret: bool = False
    """The answer has a secret, which is shown once: it is not kept, and a repeated call makes another one."""
    repeatable: bool = False
    """A question that has a body, or something that may happen any number of times."""
    example: dict[str, Any] = field(default_factory=dict)
    """A body, for the document of the API."""

    @property
    def tag(self) -> str:
        """The noun."""
        return self.name.partition(".")[0]

    @property
    def prose(self) -> str:
        """What it does, as its function says."""
        return getdoc(self.carry_out) or ""

    @property
    def in_path(self) -> tuple[str, ...]:
        """The fields that stand in the path."""
        return tuple(IN_PATH.findall(self.path))

    @property
    def changes(self) -> bool:
        """Whether something may be different afterwards, so that it is to happen once."""
        return self.method != "GET" and not self.repeatable

    @property
    def has_body(self) -> bool:
        """Whether what is asked comes in a body."""
        return self.method not in BODILESS


def operation(
    name: str,
    place: str,
    role: Role,
    *,
    whole_fleet: bool = False,
    versioned: str | None = None,
    secret: bool = False,
    repeatable: bool = False,
    example: dict[str, Any] | None = None,
) -> Callable[[Callable[[C, Q], Awaitable[A]]], Operation[C, Q, A]]:
    """Declare the function as an operation at `METHOD /path`."""
    assert isinstance(role, Role), f"{name}: every operation has a role"
    method, path = place.split(" ")

    def declare(function: Callable[[C, Q], Awaitable[A]]) -> Operation[C, Q, A]:
        hints: dict[str, Any] = get_type_hints(function)
        response = hints.pop("return")
        context, request = hints.values()
        missing = set(IN_PATH.findall(path)) - set(request.__struct_fields__)
        assert not missing, f"{name}: {missing} stand in the path and are not asked for"
        marks = whole_fleet, versioned, secret, repeatable, example or {}
        return Operation(name, method, path, role, function, context, request, response, *marks)

    return declare
