"""Events reach everybody who listens, and never come back to whoever told."""

import logging
import threading

import pytest

from fencepost.telemetry.events import Event, PlanRefused, SkewMeasured, emit, is_heard, listen


def test_without_listeners_nothing_happens() -> None:
    assert not is_heard()
    emit(SkewMeasured(0.5))


def test_every_listener_hears_an_event_once_and_none_after_it_has_left() -> None:
    first: list[Event] = []
    second: list[Event] = []
    leave, also_leave = listen(first.append), listen(second.append)
    assert is_heard()
    emit(SkewMeasured(1.0))
    leave()
    leave()
    emit(SkewMeasured(2.0))
    also_leave()
    emit(SkewMeasured(3.0))
    assert (first, second) == ([SkewMeasured(1.0)], [SkewMeasured(1.0), SkewMeasured(2.0)])
    assert not is_heard()


def test_what_a_listener_raises_does_not_reach_the_service_nor_keep_others_from_hearing(
    caplog: pytest.LogCaptureFixture,
) -> None:
    def break_down(event: Event) -> None:
        raise RuntimeError("no room")

    heard: list[Event] = []
    leave = [listen(break_down), listen(heard.append)]
    try:
        with caplog.at_level(logging.ERROR, "fencepost"):
            emit(PlanRefused(3, 7))  # type: ignore[arg-type]
    finally:
        for one in leave:
            one()
    assert len(heard) == 1
    assert "a listener failed" in caplog.text


def test_listeners_may_come_and_go_while_others_tell() -> None:
    stop = threading.Event()

    def tell() -> None:
        while not stop.is_set():
            emit(SkewMeasured(0.0))

    teller = threading.Thread(target=tell)
    teller.start()
    for _ in range(200):
        listen(lambda event: None)()
    stop.set()
    teller.join(30)
    assert not is_heard()
