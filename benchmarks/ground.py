"""The ground that pages are measured on: 10,000 schedules, a million runs, and what lies beside them.

What a schedule says is what its runs are: eight fire every minute, 500 every hour in zones that change their
clocks, the rest once a day at midnight UTC or at a minute of their own, as clocks elsewhere show it.
"""

from __future__ import annotations

from datetime import timedelta

import asyncpg

from benchmarks.report import heading
from fencepost.model.codec import job_to_text, schedule_to_text
from fencepost.model.identifiers import JobName, NodeId, ScheduleId
from fencepost.model.job import JobSpec
from fencepost.model.node import Node
from fencepost.model.node_codec import node_to_text
from fencepost.model.schedule import ScheduleSpec
from fencepost.model.stretch import Stretch
from fencepost.stores.queries import load_queries
from fencepost.triggers import Combinable, Cron, Every

SQL = load_queries("benchmarks", "pages.sql")
SCHEDULES, JOBS, TEAMS = 10_000, 200, 12
MINUTELY, HOURLY = 8, 508
"""Schedules below the first number fire every minute, those below the second every hour."""
BUSY, DAILY, JOB = ScheduleId("schedule-00003"), ScheduleId("schedule-05000"), JobName("job-7")
CHANGING = ("Europe/Berlin", "America/New_York", "Australia/Sydney", "UTC")
STEADY = (("UTC", 0), ("Asia/Tokyo", 540), ("Asia/Kolkata", 330), ("America/Bogota", -300))
"""Zones whose clocks never change, with the minutes by which they are ahead."""
DAY_MIN = 1_440
BESIDE = (
    "by_hand",
    "other_tenant",
    "attempts",
    "audit_log",
    "leaders",
    "terms",
    "backfills",
    "gates",
    "tokens",
)
WORKER = Node(NodeId("a-node"), "a-host", 4711, plans=False, works=True, concurrency=16)


async def fill(url: str) -> None:
    """Put all of it into a database that has the schema."""
    heading("10,000 schedules and 1,000,000 runs")
    connection = await asyncpg.connect(url, command_timeout=600)
    try:
        await connection.execute(SQL["clear"])
        await connection.execute(SQL["jobs"], job_to_text(JobSpec(JobName("a-job"))))
        texts = [schedule_to_text(spec_of(number)) for number in range(SCHEDULES)]
        await connection.execute(SQL["schedules"], texts)
        for name in ("versions", "cursors", "runs", *BESIDE):
            await connection.execute(SQL[name])
        await connection.execute(SQL["fleet"], node_to_text(WORKER))
        key = await connection.fetchval(SQL["a_key"])
        await connection.execute(SQL["run_log"], key)
        await connection.execute(SQL["settle"])
    finally:
        await connection.close()


def spec_of(number: int) -> ScheduleSpec:
    """What the schedule of this number says."""
    return ScheduleSpec(
        JobName(f"job-{number % JOBS}"),
        trigger_of(number).to_json(),
        payload={"region": f"region-{number % 5}", "batch": 100},
        labels={"team": f"team-{number % TEAMS}", "tier": "gold" if number % 10 == 0 else "plain"},
        spread=Stretch(length=timedelta(minutes=10)) if number % 3 == 0 and number >= HOURLY else None,
    )


def trigger_of(number: int) -> Combinable:
    """When it fires."""
    if number < MINUTELY:
        return Every("1m")
    if number < HOURLY:
        return Cron(f"{number % 10} * * * *", CHANGING[number % len(CHANGING)])
    zone, ahead = STEADY[number // 4 % len(STEADY)]
    minute = (ahead + (number % 1000 if number % 4 == 0 else 0)) % DAY_MIN
    return Cron(f"{minute % 60} {minute // 60} * * *", zone)
