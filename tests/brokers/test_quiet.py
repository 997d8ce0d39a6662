"""A driver's log is kept from people's terminals."""

from __future__ import annotations

import logging

import pytest

from fencepost.brokers.quiet import silence_driver


@pytest.mark.parametrize(("chosen", "shown"), [(logging.NOTSET, False), (logging.WARNING, True)])
def test_a_driver_is_not_heard_unless_asked_for(
    chosen: int, shown: bool, caplog: pytest.LogCaptureFixture
) -> None:
    log = logging.getLogger("tests.a_driver")
    log.setLevel(chosen)
    silence_driver("tests.a_driver")
    log.warning("lost the connection, and here is a traceback")
    assert bool(caplog.records) is shown
