"""The check-up before production: ten points, each with what was found, why it matters, and the mend.

Facts in, findings out. A point at which nothing is wrong says so in one line, with what was looked at; what
cannot be seen from here is `unknown`, never `ok`. Only what breaks the promise, a tick that nobody can
account for, is a `fail`.
"""

from fencepost.core.checkup.findings import POINTS, SEVERITIES, Finding, Point, Severity, some_of, worst
from fencepost.core.checkup.points import check_up

__all__ = ["POINTS", "SEVERITIES", "Finding", "Point", "Severity", "check_up", "some_of", "worst"]
