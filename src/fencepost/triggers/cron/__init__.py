"""Cron expressions: their fields, the search for matching wall times, and their words."""

from fencepost.triggers.cron.trigger import Cron

__all__ = ["Cron"]
