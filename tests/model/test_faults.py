"""A traceback has the user's frames, and none of ours or of the event loop."""

from __future__ import annotations

import asyncio

import pytest

from fencepost.errors import RetryableFailure, TimedOut
from fencepost.executors.callable import CallableExecutor
from fencepost.executors.mail import Mail, MailServer, send
from fencepost.model.faults import traceback_of
from tests.servers.ports import free_port


def broken() -> None:
    raise ValueError("no")


async def waits() -> None:
    async with asyncio.timeout(0.01):
        await asyncio.sleep(60)


async def failing() -> None:
    try:
        broken()
    except ValueError as error:
        raise RuntimeError("worse") from error


def caught(work: object) -> BaseException:
    async def call() -> BaseException:
        try:
            await asyncio.create_task(work)  # type: ignore[arg-type]
        except BaseException as error:
            return error
        raise AssertionError("it did not fail")

    return asyncio.run(call())


def test_the_frames_of_the_event_loop_are_left_out() -> None:
    told = traceback_of(caught(waits()))
    assert "in waits" in told
    assert "/asyncio/" not in told
    assert told.rstrip().endswith("TimeoutError")


def test_the_error_behind_an_error_is_told_with_its_own_frames() -> None:
    told = traceback_of(caught(failing()))
    assert told.index("ValueError: no") < told.index("direct cause") < told.index("RuntimeError: worse")
    assert "in broken" in told


def test_a_failure_that_our_own_kinds_of_work_raise_has_no_traceback() -> None:
    mail = Mail(("a@b",), "subject", "text", "key")
    with pytest.raises(RetryableFailure) as failed:
        send(MailServer("127.0.0.1", free_port(), tls=False), mail)
    assert "in test_a_failure" in traceback_of(failed.value)
    assert traceback_of(failed.value.with_traceback(failed.tb.tb_next)) == ""


def test_an_attempt_that_took_too_long_has_no_traceback() -> None:
    assert traceback_of(TimedOut("no end in 1s")) == ""


def test_an_error_of_ours_alone_keeps_its_frames() -> None:
    try:
        CallableExecutor(broken, None).check({"unknown": 1})
    except Exception as error:
        ours = error.with_traceback(error.__traceback__.tb_next if error.__traceback__ else None)
        assert "fencepost" in traceback_of(ours)
