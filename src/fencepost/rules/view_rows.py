"""Rows about what people watch as values of the model; see `rows` for what a row is."""

from __future__ import annotations

from fencepost.model.run import Origin, RunState
from fencepost.model.views import RunMark, RunNews, Standing
from fencepost.rules.rows import Row


def to_run_mark(row: Row) -> RunMark:
    """A cell of a strip, with `late_s` and `took_s`; `state` is the one to show."""
    return RunMark(
        run_key=row["run_key"],
        fire_time=row["fire_time"],
        state=RunState(row["state"]),
        origin=Origin(row["origin"]),
        late_s=row["late_s"],
        took_s=row["took_s"],
        attempt=row["attempt"],
    )


def to_run_news(row: Row) -> RunNews:
    """What happened of late to a run, and `at`; `error` is cut already."""
    return RunNews(
        namespace=row["namespace"],
        run_key=row["run_key"],
        schedule_id=row["schedule_id"],
        job=row["job"],
        state=RunState(row["state"]),
        origin=Origin(row["origin"]),
        fire_time=row["fire_time"],
        run_at=row["run_at"],
        started_at=row["started_at"],
        finished_at=row["finished_at"],
        attempt=row["attempt"],
        fence=row["fence"],
        worker=row["worker"],
        error=row["error"],
        at=row["at"],
    )


def to_standing(row: Row) -> Standing:
    """Counts of `ready`, `running`, `dead`, `held` and `gates`, `oldest_ready_s` and `schedules_at`."""
    counts = row["ready"], row["running"], row["dead"], row["held"], row["gates"]
    return Standing(*counts, row["oldest_ready_s"], row["schedules_at"])
