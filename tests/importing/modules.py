"""Generated modules, looked at as a user's program would."""

from typing import Any

from fencepost import Fencepost
from fencepost.model.schedule import ScheduleSpec


def executed(text: str) -> dict[str, ScheduleSpec]:
    """The schedules of the application that a module defines."""
    names: dict[str, Any] = {}
    exec(compile(text, "schedules.py", "exec"), names)
    app = names["app"]
    assert isinstance(app, Fencepost)
    return {str(name): spec for name, spec in app.code_schedules.items()}
