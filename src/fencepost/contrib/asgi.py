"""The dashboard and the HTTP API inside an ASGI application of yours, behind its sign-in.

    ops = fencepost_web(jobs, authorize=user_of)
    web = FastAPI(lifespan=ops.lifespan)
    web.mount("/ops/fencepost", ops)

`authorize` is called with the ASGI scope of each request, awaited where it is a coroutine function, and says
who is there: `User("anna", "operator")`, `User("ben", None)` for a user who may see nothing, or None for a
request without a user. With `sign_in="/login"` a browser without a user is sent there, with the page that it
asked for in `next`. What `authorize` raises is answered by your application.
"""

from __future__ import annotations

from fencepost.app import Fencepost
from fencepost.errors import MissingExtra
from fencepost.wiring import leases_elsewhere, open_store

try:
    from fencepost.web.mounted.application import MountedWeb
    from fencepost.web.mounted.people import Authorize, User
except ModuleNotFoundError:
    raise MissingExtra('fencepost.contrib.asgi needs the extra: pip install "fencepost[web]"') from None

__all__ = ["Authorize", "MountedWeb", "User", "fencepost_web"]


def fencepost_web(app: Fencepost, *, authorize: Authorize, sign_in: str | None = None) -> MountedWeb:
    """What you mount under a path. It opens a store of its own with the settings of `app`."""
    return MountedWeb(
        lambda: open_store(app.settings),
        lambda: app.settings,
        authorize,
        sign_in,
        lambda store: leases_elsewhere(app.settings, store),
    )
