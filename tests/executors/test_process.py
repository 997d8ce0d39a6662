"""Functions in child processes: called as anywhere else, heard while they work, and told of as text."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import AsyncIterator, Callable
from dataclasses import fields
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from fencepost.errors import InvalidPayload, InvalidSpec, PermanentFailure, RemoteFailure
from fencepost.executors.process import ProcessExecutor, ProcessPool
from fencepost.executors.process.wire import claim_from_json, claim_to_json
from fencepost.model.clocks import StoreTime
from fencepost.model.job import Parameter, error_names
from fencepost.model.run import Claim
from fencepost.ports.run import Run, Said
from tests.executors import far_functions as far
from tests.executors.processes import until
from tests.executors.runs import NOW, make_run

Work = Callable[..., Any]


@pytest.fixture
async def pool() -> AsyncIterator[ProcessPool]:
    pool = ProcessPool(lambda: 2)
    yield pool
    await pool.close()


async def done(pool: ProcessPool, function: Work, /, **payload: Any) -> str | None:
    return await ProcessExecutor(function, pool).execute(make_run(payload))


async def failure(pool: ProcessPool, function: Work, /, **payload: Any) -> RemoteFailure:
    with pytest.raises(RemoteFailure) as caught:
        await done(pool, function, **payload)
    return caught.value


def heard_run(payload: dict[str, Any] | None = None) -> tuple[Run, list[str]]:
    """A run whose log can be read."""
    lines: list[str] = []
    return Run(make_run(payload).claim, keep=lines.append), lines


async def test_a_function_is_called_in_another_process_with_its_own_types(pool: ProcessPool) -> None:
    assert await done(pool, far.add, left=2) == "3"
    assert await done(pool, far.pid) != str(os.getpid())
    greeted = await done(pool, far.greet, to={"city": "Bern"}, day="2026-03-01")
    assert greeted == "Address(city='Bern', number=1) datetime.date(2026, 3, 1)"


async def test_a_function_in_a_class_is_found(pool: ProcessPool) -> None:
    assert await done(pool, far.Shop.sell, count=3) == "sold 3"


async def test_the_run_is_the_one_that_was_claimed(pool: ProcessPool) -> None:
    run = make_run()
    told = f"{run.key} 17 2 {NOW} None {{}}"
    assert await ProcessExecutor(far.about, pool).execute(run) == told


def test_every_field_of_a_claim_survives_the_way() -> None:
    claim = make_run({"a": [1, None, {"b": 10**40}], "text": "\0\n\ud800 ü"}).claim
    later = StoreTime(NOW + timedelta(microseconds=1))
    for one in (
        claim,
        Claim(**{**_plain(claim), "previous": NOW, "first_started_at": later, "attempts_before_replay": 3}),
    ):
        assert claim_from_json(json.loads(json.dumps(claim_to_json(one)))) == one


def _plain(claim: Claim) -> dict[str, Any]:
    return {one.name: getattr(claim, one.name) for one in fields(claim)}


async def test_progress_and_log_are_heard_while_the_function_works(pool: ProcessPool, tmp_path: Path) -> None:
    go_on = tmp_path / "go-on"
    run, lines = heard_run({"path": str(go_on)})
    working = asyncio.create_task(ProcessExecutor(far.tell_and_wait, pool).execute(run))
    await until(lambda: bool(lines))
    assert run.said == Said("0.5", "waiting")
    assert lines == ["heard?"]
    assert not working.done()
    go_on.touch()
    await working


async def test_what_needs_the_ledger_is_out_of_reach(pool: ProcessPool) -> None:
    error = await failure(pool, far.run_context)
    assert str(error).startswith("OutOfReach: run.transaction() needs the ledger")


async def test_everything_written_is_logged_before_the_answer_and_kept_where_nothing_was_returned(
    pool: ProcessPool,
) -> None:
    run, lines = heard_run({"count": 2000})
    assert await ProcessExecutor(far.write, pool).execute(run) == "returned"
    assert "\n".join(lines).split("\n") == ["printed"] * 2000 + ["by hand", "by a grandchild"]
    assert await done(pool, far.write_only) == "only printed\n"


async def test_what_was_written_is_read_before_the_answer_counts_whatever_the_loop_sees_first(
    pool: ProcessPool,
) -> None:
    await done(pool, far.pid)
    (child,) = pool._idle
    asyncio.get_running_loop().remove_reader(child._output_fd)
    run, lines = heard_run()
    assert await ProcessExecutor(far.write_only, pool).execute(run) == "only printed\n"
    assert lines == ["only printed"]


async def test_what_one_run_wrote_is_not_told_of_the_next(pool: ProcessPool) -> None:
    await done(pool, far.write)
    run, lines = heard_run()
    assert await ProcessExecutor(far.pid, pool).execute(run) is not None
    assert lines == []


async def test_an_error_arrives_as_text_with_the_names_of_its_class_and_bases(pool: ProcessPool) -> None:
    error = await failure(pool, far.busy)
    assert str(error) == "Busy: try later"
    assert error.kinds == error_names(far.Busy)
    assert "ConnectionError" in error.kinds
    assert not error.permanent
    assert error.detail is not None
    assert error.detail.startswith("Traceback")
    assert 'raise Busy("try later")' in error.detail


async def test_a_permanent_failure_and_a_wait_keep_their_meaning(pool: ProcessPool) -> None:
    permanent = await failure(pool, far.forbidden)
    assert permanent.permanent
    assert str(permanent) == "PermanentFailure: never again"
    waiting = await failure(pool, far.later, seconds=90)
    assert waiting.retry_after == 90.0
    assert not waiting.permanent


@pytest.mark.parametrize(
    ("function", "words"),
    [
        (far.unspeakable, "Unspeakable: (its text cannot be had)"),
        (far.interrupted, "KeyboardInterrupt"),
    ],
)
async def test_whatever_is_raised_fails_the_run_and_not_the_child(
    function: Work, words: str, pool: ProcessPool
) -> None:
    before = await done(pool, far.pid)
    assert str(await failure(pool, function)) == words
    assert await done(pool, far.pid) == before


@pytest.mark.parametrize(
    ("payload", "complaint"),
    [
        ({"left": "x"}, "payload: left: Expected `int`, got `str`"),
        ({}, "payload: 'left' is missing; the job takes: left, right"),
        (
            {"left": 1, "function": "os.system"},
            "payload: unknown name 'function'; the job takes: left, right",
        ),
    ],
)
async def test_a_payload_that_does_not_fit_is_refused_and_never_retried(
    payload: dict[str, Any], complaint: str, pool: ProcessPool
) -> None:
    executor = ProcessExecutor(far.add, pool)
    with pytest.raises(InvalidPayload) as caught:
        executor.check(payload)
    assert str(caught.value).startswith(complaint)
    with pytest.raises(PermanentFailure) as failed:
        await executor.execute(make_run(payload))
    assert str(failed.value) == str(caught.value)
    assert pool.pids == set(), "no child was started for it"


async def test_a_long_result_is_cut(pool: ProcessPool) -> None:
    result = await done(pool, far.mention, value="\0" + "x" * 1_000_000)
    assert result is not None
    assert len(result) <= 64 * 1024
    assert result.startswith("�xx")
    assert result.endswith("(1000001 characters; the rest is not kept)")


async def test_what_is_logged_with_logging_is_in_the_runs_log(pool: ProcessPool) -> None:
    run, lines = heard_run()
    await ProcessExecutor(far.log_it, pool).execute(run)
    said = "\n".join(lines).splitlines()  # the pipe may hand over two lines at once
    assert [line.split(None, 1)[1] for line in said] == ["info    shop sold=1", "warning shop sold out"]


def test_parameters_are_told_to_those_without_the_function() -> None:
    executor = ProcessExecutor(far.add, ProcessPool(lambda: 1))
    assert executor.parameters == (Parameter("left", True, "integer"), Parameter("right", False, "integer"))
    assert not executor.open_payload
    assert executor.stoppable


def in_the_script() -> None: ...


in_the_script.__module__ = "__main__"


def test_a_function_that_no_other_process_can_find_is_refused_with_the_mend() -> None:
    def local() -> None: ...

    class Nameless:
        def __call__(self) -> None: ...

    refusals: list[tuple[Work, str]] = [
        (lambda: None, "is a lambda, where no child process can find it; write it as a def in a module"),
        (local, "is defined inside a function, where no child process can find it; move it to the top"),
        (in_the_script, "job in_the_script: is defined in the script that was started, where no child"),
        (Nameless(), "has no name of its own"),
        (
            far.asynchronous,
            "job asynchronous: is async, and a child process has no event loop; write a plain",
        ),
    ]
    for function, complaint in refusals:
        with pytest.raises(InvalidSpec) as caught:
            ProcessExecutor(function, ProcessPool(lambda: 1))
        assert complaint in str(caught.value)


async def test_a_function_that_has_gone_is_not_tried_again(pool: ProcessPool) -> None:
    def gone() -> None: ...

    gone.__module__, gone.__qualname__ = far.__name__, "gone"
    error = await failure(pool, gone)
    assert error.permanent
    assert str(error) == (
        "PermanentFailure: tests.executors.far_functions has no function gone when a child process imports it"
    )


async def test_a_module_that_cannot_be_imported_fails_the_run_as_it_says(pool: ProcessPool) -> None:
    def lost() -> None: ...

    lost.__module__, lost.__qualname__ = "no.such.module", "lost"
    error = await failure(pool, lost)
    assert str(error) == "ModuleNotFoundError: No module named 'no'"
    assert not error.permanent


async def test_the_loop_is_free_while_a_function_burns_its_processor(
    pool: ProcessPool, tmp_path: Path
) -> None:
    file, loop = tmp_path / "pid", asyncio.get_running_loop()
    payload = {"path": str(file), "seconds": 0.5}
    working = asyncio.create_task(ProcessExecutor(far.spin, pool).execute(make_run(payload)))
    await until(file.exists)
    turns, begun = 0, loop.time()
    while not working.done():
        await asyncio.sleep(0.001)
        turns += 1
    assert turns > 20, f"{turns} turns in {loop.time() - begun:.2f}s"


def test_times_of_a_claim_are_found_by_their_type() -> None:
    moments = {name for name, value in _plain(make_run().claim).items() if isinstance(value, datetime)}
    assert moments >= {"fire_time", "run_at", "started_at"}
    assert NOW.tzinfo is UTC
