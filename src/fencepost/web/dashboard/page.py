"""A page: where it is, who may see it, and the function that gathers what it shows.

The registry is the modules of `pages/`. A page without a role cannot be declared, and `routes.py` serves
nothing else, so that whoever walks `all_pages()` has seen every page there is.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import field
from datetime import datetime
from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from typing import Any, Generic, TypeAlias, TypeVar
from zoneinfo import ZoneInfo

from msgspec import Struct

from fencepost.model.access import Principal, Role
from fencepost.model.dataclasses import dataclass
from fencepost.model.views import Attention
from fencepost.operations.control import Control
from fencepost.web.dashboard.forecasts import Forecasts
from fencepost.web.dashboard.said import Said

PAGES = "fencepost.web.dashboard.pages"
IN_PATH = re.compile(r"\{(\w+)\}")
Q = TypeVar("Q", bound=Struct)


class NoQuery(Struct, frozen=True):
    """A page that has nothing to choose."""


@dataclass(frozen=True)
class Visit(Generic[Q]):
    """Somebody looks at a page: who, what they asked for, and when and where they are."""

    control: Control
    principal: Principal
    csrf: str
    path: Mapping[str, str]
    """The values in the path, decoded."""
    query: Q
    attention: Attention
    """What waits for a person."""
    zone: ZoneInfo
    url: str
    """The path and the query, as they were asked for."""
    theme: str = "auto"
    said: Said | None = None
    posted: bool = False
    """Whether the query came by a form, and not by the address."""
    forecasts: Forecasts = field(default_factory=Forecasts)
    """What is known of the load to come; one for all visits."""

    @property
    def now(self) -> datetime:
        """The store's time."""
        return self.attention.at

    def may(self, role: str) -> bool:
        """Whether they may do what that role may."""
        return self.principal.role.covers(Role(role))


@dataclass(frozen=True)
class Rendered:
    """An answer that is more than its template's values."""

    values: Mapping[str, Any] = field(default_factory=dict)
    title: str | None = None
    template: str | None = None
    status: int = 200


Shown: TypeAlias = Mapping[str, Any] | Rendered


@dataclass(frozen=True, eq=False)
class Page(Generic[Q]):
    """One page."""

    path: str
    role: Role
    title: str
    template: str
    section: str
    """The word of the navigation under which it stands."""
    query: type[Q]
    gather: Callable[[Visit[Q]], Awaitable[Shown]]
    posted: tuple[str, ...] = ()
    """The fields of the query that no address carries, because they may hold secrets. A page that has some
    takes its query from a posted form too, and these from nowhere else."""

    @property
    def in_path(self) -> tuple[str, ...]:
        return tuple(IN_PATH.findall(self.path))

    @property
    def route(self) -> str:
        """The path as the router takes it."""
        return IN_PATH.sub(r"{\1:str}", self.path)


def page(
    path: str,
    role: Role,
    *,
    title: str,
    template: str,
    section: str,
    query: type[Q] = NoQuery,  # type: ignore[assignment]
    posted: tuple[str, ...] = (),
) -> Callable[[Callable[[Visit[Q]], Awaitable[Shown]]], Page[Q]]:
    """Declare the function as the page at this path."""
    assert isinstance(role, Role), f"{path}: every page has a role"
    assert set(posted) <= set(query.__struct_fields__), f"{path}: what is posted is a part of its query"

    def declare(gather: Callable[[Visit[Q]], Awaitable[Shown]]) -> Page[Q]:
        return Page(path, role, title, template, section, query, gather, posted)

    return declare


@cache
def all_pages() -> tuple[Page[Any], ...]:
    """Every page, by its path."""
    names = [one.name for one in iter_modules(import_module(PAGES).__path__)]
    modules = [import_module(f"{PAGES}.{name}") for name in names]
    found = {one.path: one for module in modules for one in vars(module).values() if isinstance(one, Page)}
    return tuple(found[path] for path in sorted(found))
