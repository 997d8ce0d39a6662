"""The site and the dashboard in one server: `uvicorn shop.asgi:application`."""

import os
from typing import Any

from django.core.asgi import get_asgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "shop.settings")
site = get_asgi_application()

from fencepost.contrib.django.asgi import with_fencepost  # noqa: E402 - after Django is set up


def role_of(user: Any) -> str | None:
    if user.is_superuser:
        return "admin"
    return "viewer" if user.has_perm("fencepost.view_schedule") else None


application = with_fencepost(site, "/ops/fencepost", role_of=role_of)
