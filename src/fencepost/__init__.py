"""Fencepost: a distributed cron in which every tick is accounted for, exactly once."""

from __future__ import annotations

from fencepost.model.lazy import lazy

TYPE_CHECKING = False  # As `model.lazy`, this module does without `typing`.
if TYPE_CHECKING:
    from fencepost.app import Fencepost
    from fencepost.errors import FencepostError, PermanentFailure, RetryableFailure, Snooze
    from fencepost.model.enqueueing import Unique
    from fencepost.model.job import Retry
    from fencepost.model.policies import CatchUp, GateTerms, Overlap
    from fencepost.model.secret import Secret
    from fencepost.ports.run import Run
    from fencepost.triggers import At, Calendar, Cron, Every, RRule, Solar
    from fencepost.version import __version__

__all__ = [
    "At",
    "Calendar",
    "CatchUp",
    "Cron",
    "Every",
    "Fencepost",
    "FencepostError",
    "GateTerms",
    "Overlap",
    "PermanentFailure",
    "RRule",
    "Retry",
    "RetryableFailure",
    "Run",
    "Secret",
    "Snooze",
    "Solar",
    "Unique",
    "__version__",
]

# The command line answers `--help` without paying for the application behind these names.
__getattr__, __dir__ = lazy(
    __name__,
    {
        "At": "fencepost.triggers",
        "Calendar": "fencepost.triggers",
        "CatchUp": "fencepost.model.policies",
        "Cron": "fencepost.triggers",
        "Every": "fencepost.triggers",
        "Fencepost": "fencepost.app",
        "FencepostError": "fencepost.errors",
        "GateTerms": "fencepost.model.policies",
        "Overlap": "fencepost.model.policies",
        "PermanentFailure": "fencepost.errors",
        "RRule": "fencepost.triggers",
        "Retry": "fencepost.model.job",
        "RetryableFailure": "fencepost.errors",
        "Run": "fencepost.ports.run",
        "Secret": "fencepost.model.secret",
        "Snooze": "fencepost.errors",
        "Solar": "fencepost.triggers",
        "Unique": "fencepost.model.enqueueing",
        "__version__": "fencepost.version",
    },
)
