"""Authentication.

`Guarded` is the outermost layer: it refuses requests without a credential, except to a few paths. `inside`
are the layers behind `RequestLimits`, which reads requests whole: protection against forged requests, and
sign-in and sign-out. Both ask the `Doorkeeper`, which knows credentials. `behind` stands before them all
where there are proxies.

The authenticated caller is at `scope["state"]["principal"]`, the value that the forms of its session carry at
`"csrf"`. An answer without an end calls `"still_good"` now and then, to see whether the credential is still
good.
"""

from __future__ import annotations

from litestar.types import ASGIApp

from fencepost.web.auth.doorkeeper import Doorkeeper
from fencepost.web.auth.entrance import Entrance
from fencepost.web.auth.forgery import Unforged
from fencepost.web.auth.guard import OPEN_PATHS, Guarded
from fencepost.web.auth.proxies import behind
from fencepost.web.auth.setting import TOKEN_LENGTH_MIN, checked_token

__all__ = ["OPEN_PATHS", "TOKEN_LENGTH_MIN", "Doorkeeper", "Guarded", "behind", "checked_token", "inside"]


def inside(app: ASGIApp, doorkeeper: Doorkeeper) -> ASGIApp:
    """The layers between `RequestLimits` and the routes."""
    return Unforged(Entrance(app, doorkeeper) if doorkeeper.signs_in else app)
