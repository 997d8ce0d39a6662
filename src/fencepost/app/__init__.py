"""The application: jobs and schedules in code, and the way to run and steer them."""

from __future__ import annotations

from fencepost.app.application import Fencepost
from fencepost.app.definitions import JOB_THREAD
from fencepost.app.specs import schedule_spec

__all__ = ["JOB_THREAD", "Fencepost", "schedule_spec"]
