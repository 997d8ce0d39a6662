"""What every store does alike with specs before it writes them."""

from __future__ import annotations

from dataclasses import replace

from fencepost.model.schedule import ScheduleSpec


def applied_by_code(
    spec: ScheduleSpec, code_spec: ScheduleSpec | None, code_digest: str | None
) -> ScheduleSpec | None:
    """What is to be recorded as code's own, if anything: no calendars, their days come from the store."""
    assert code_digest is not None or code_spec is None, "code that gives its spec also gives its digest"
    return None if code_digest is None else replace(code_spec or spec, calendars={})
