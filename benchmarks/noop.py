"""The application under the watch: a job that does nothing."""

from __future__ import annotations

from fencepost import Fencepost, Run

CONCURRENCY = 200


def make(store: str) -> Fencepost:
    """An application with the one job."""
    app = Fencepost(store, concurrency=CONCURRENCY)

    @app.job()
    async def noop(run: Run) -> None:
        return None

    return app
