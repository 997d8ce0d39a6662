"""The sun: when it rises and sets at a place."""

from fencepost.triggers.solar.trigger import Solar

__all__ = ["Solar"]
