"""The dashboard and the HTTP API in a Django project under ASGI, behind Django's own sign-in.

    application = with_fencepost(get_asgi_application(), "/ops/fencepost", role_of=role_of)

`role_of(user)` answers `viewer`, `operator`, `admin`, or None for a user who may see nothing; it may ask the
database. Who has not signed in is sent to `LOGIN_URL`. Django's middlewares do not see these requests: the
session and the user are looked up here, as Django does it.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from io import BytesIO
from typing import Any

from asgiref.sync import sync_to_async
from django.conf import settings
from django.contrib import auth
from django.core.exceptions import ImproperlyConfigured
from django.core.handlers.asgi import ASGIRequest
from django.db import connections
from django.shortcuts import resolve_url

from fencepost.contrib.asgi import MountedWeb, User, fencepost_web
from fencepost.contrib.django.configuration import SETTING, application, fresh_connections, is_ledger

RoleOf = Callable[[Any], str | None]
SiteApp = Callable[[Any, Any, Any], Any]


def with_fencepost(site: SiteApp, path: str, *, role_of: RoleOf) -> SiteApp:
    """The site, with Fencepost under a path. It answers the lifespan, which Django does not."""
    if not path.startswith("/") or path.endswith("/"):
        raise ImproperlyConfigured(f"with_fencepost: path {path!r}: expected one such as /ops/fencepost")
    app = application()
    if any(is_ledger(app, connections[one]) for one in connections):
        raise ImproperlyConfigured(
            "with_fencepost: the ledger is in a SQLite file of DATABASES, which one process cannot open both "
            f'ways; say {SETTING}["STORE"] with a file of its own, or use PostgreSQL'
        )

    @sync_to_async
    def authorize(scope: Any) -> User | None:
        return _user_of(scope, role_of)

    web: MountedWeb = fencepost_web(app, authorize=authorize, sign_in=resolve_url(settings.LOGIN_URL))

    async def serve(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "lifespan":
            await web(scope, receive, send)
            return
        root = f"{scope.get('root_path') or ''}{path}"
        if scope["path"] == root or scope["path"].startswith(f"{root}/"):
            scope["root_path"] = root
            await web(scope, receive, send)
        else:
            await site(scope, receive, send)

    return serve


def _user_of(scope: Any, role_of: RoleOf) -> User | None:
    """Who Django says this is."""
    with fresh_connections():
        request = ASGIRequest({**scope, "method": "GET"}, BytesIO())
        key = request.COOKIES.get(settings.SESSION_COOKIE_NAME)
        request.session = import_module(settings.SESSION_ENGINE).SessionStore(key)
        user = auth.get_user(request)
        return User(user.get_username(), role_of(user)) if user.is_authenticated else None
