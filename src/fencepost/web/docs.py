"""The built documentation under `/docs`, if the setting `docs` names its folder. It is behind the guard."""

from __future__ import annotations

from pathlib import Path

from litestar import Router, get
from litestar.response import Redirect
from litestar.static_files import create_static_files_router
from litestar.types import ControllerRouterHandler

DOCS = "/docs"
FRONT = "index.html"


def docs_routes(folder: str) -> list[ControllerRouterHandler]:
    """The routes of the folder's files; none where no folder is named."""
    return [_front(), _files(folder)] if folder else []


def _front() -> ControllerRouterHandler:
    @get(DOCS, include_in_schema=False, status_code=302)
    async def front() -> Redirect:
        return Redirect(f"{DOCS}/{FRONT}")

    return front


def _files(folder: str) -> Router:
    return create_static_files_router(DOCS, [Path(folder).resolve()], name="docs")
