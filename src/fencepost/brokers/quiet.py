"""Silences the drivers of brokers, which log each loss of a connection with a traceback. Ours is one line."""

from __future__ import annotations

import logging


def silence_driver(name: str) -> None:
    """Keep a driver's log from people's terminals, unless they have asked for it."""
    log = logging.getLogger(name)
    if log.level == logging.NOTSET:
        log.setLevel(logging.CRITICAL + 1)
