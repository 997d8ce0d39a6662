"""Recurrence rules of RFC 5545."""

from fencepost.triggers.rrule.trigger import RRule

__all__ = ["RRule"]
