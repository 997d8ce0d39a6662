"""Who may come in.

`Guarded` is the outermost layer: it lets nobody pass without a credential, but for a few paths. `inside` are
the layers behind `RequestLimits`, which reads requests whole: against forged requests, and the way in and
out. Both ask the `Doorkeeper`, who knows credentials. `behind` stands before them all where there are
proxies.

Whoever was let in is at `scope["state"]["principal"]`, what the forms of their session carry at `"csrf"`, and
at `"still_good"` what an answer without an end calls now and then, to see whether they may stay.
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
    """What stands between `RequestLimits` and the routes."""
    return Unforged(Entrance(app, doorkeeper) if doorkeeper.signs_in else app)
