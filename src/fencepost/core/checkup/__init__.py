"""The check-up before production: ten points, each with what was found, why it matters, and the remedy.

Facts in, findings out. A point without a problem says so in one line, and names what was looked at. What the
check-up cannot see is `unknown`, never `ok`. Only what breaks the promise, a tick that is not accounted for,
is a `fail`.
"""

from fencepost.core.checkup.findings import POINTS, SEVERITIES, Finding, Point, Severity, some_of, worst
from fencepost.core.checkup.points import check_up

__all__ = ["POINTS", "SEVERITIES", "Finding", "Point", "Severity", "check_up", "some_of", "worst"]
