"""`GET /api/v1/openapi.json`: what the API is, for programs."""

from __future__ import annotations

from typing import Any

from litestar import Response, Router, get
from litestar.di import NamedDependency
from litestar.params import SkipValidation


@get("/openapi.json", operation_id="openapi", summary="This document", tags=["document"])
async def openapi(document: NamedDependency[SkipValidation[dict[str, Any]]]) -> Response[Any]:
    """OpenAPI 3.1."""
    return Response(document, media_type="application/json")


def router() -> Router:
    """The routes of this resource."""
    return Router("/", route_handlers=[openapi])
