"""Process jobs from their definition to the ledger."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from fencepost import Fencepost, Retry
from fencepost.errors import InvalidSpec
from fencepost.executors.process import peer
from fencepost.model.run import Attempt, RunRecord, RunState
from fencepost.operations import runs as run_operations
from tests.executors import far_functions as far
from tests.executors.processes import PATIENCE_S, is_alive, pids_of, until_dead

ENDED = (RunState.SUCCEEDED, RunState.DEAD, RunState.CANCELLED)
ONCE = Retry(max_attempts=1)


@pytest.fixture
async def app(tmp_path: Path) -> AsyncIterator[Fencepost]:
    app = Fencepost(f"sqlite:///{tmp_path}/app.db", heartbeat_every_s=0.1, processes=2)
    async with app:
        yield app


async def ended(
    app: Fencepost, job: Callable[..., Any], **payload: Any
) -> tuple[RunRecord, Sequence[Attempt]]:
    """The run, once it has ended."""
    key = await app.enqueue(job, **payload)
    return await until_ended(app, key)


async def until_ended(app: Fencepost, key: str) -> tuple[RunRecord, Sequence[Attempt]]:
    control = await app.control()
    async with asyncio.timeout(PATIENCE_S):
        while (found := await run_operations.run_with_attempts(control, key))[0].state not in ENDED:  # noqa: ASYNC110 - a ledger sends no signal
            await asyncio.sleep(0.01)
    return found


async def until_state(app: Fencepost, key: str, state: RunState) -> None:
    control = await app.control()
    async with asyncio.timeout(PATIENCE_S):
        while (await run_operations.run_with_attempts(control, key))[0].state is not state:  # noqa: ASYNC110 - a ledger sends no signal
            await asyncio.sleep(0.01)


async def test_a_process_job_runs_and_its_children_end_with_the_application(app: Fencepost) -> None:
    job = app.job("pid", executor="process", memory_limit="2GB", recycle_after=100)(far.pid)
    async with app.running(plans=False):
        run, (attempt,) = await ended(app, job)
    assert run.state is RunState.SUCCEEDED
    pid = int(attempt.output or "")
    assert is_alive(pid), "kept for the next run"
    await app.close()
    assert not is_alive(pid)


async def test_a_retiring_application_leaves_no_children(app: Fencepost) -> None:
    job = app.job("pid", executor="process")(far.pid)
    async with app.running(plans=False):
        _, (attempt,) = await ended(app, job)
    app.retire()
    await until_dead(int(attempt.output or ""))


async def test_a_job_that_hangs_in_c_code_is_ended_at_its_timeout(
    app: Fencepost, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(peer, "STOP_GRACE_S", 0.1)
    file = tmp_path / "pid"
    hang = app.job("hang", executor="process", timeout="2s", retry=ONCE)(far.note_and_hang_in_c)
    async with app.running(plans=False):
        run, _ = await ended(app, hang, path=str(file))
        (pid,) = await pids_of(file)
        assert not is_alive(pid)
    assert run.state is RunState.DEAD
    assert run.error == "TimedOut: longer than 2s"


async def test_a_job_that_hangs_in_c_code_is_ended_on_request_beside_others_that_go_on(
    app: Fencepost, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(peer, "STOP_GRACE_S", 0.1)
    file = tmp_path / "pid"
    hang = app.job("hang", executor="process")(far.note_and_hang_in_c)
    add = app.job("add", executor="process")(far.add)
    async with app.running(plans=False):
        key = await app.enqueue(hang, path=str(file))
        (pid,) = await pids_of(file)
        assert (await ended(app, add, left=1))[0].state is RunState.SUCCEEDED
        await run_operations.cancel(await app.control(), key)
        run, _ = await until_ended(app, key)
        await until_dead(pid)
    assert run.state is RunState.CANCELLED


async def test_a_retry_policy_knows_errors_of_a_child_by_the_names_of_their_bases(app: Fencepost) -> None:
    never: Any = app.job("never", executor="process", retry=Retry(never=ConnectionError))(far.busy)
    async with app.running(plans=False):
        run, (attempt,) = await ended(app, never)
    assert (run.state, run.attempt, run.error) == (RunState.DEAD, 1, "Busy: try later")
    assert 'raise Busy("try later")' in (attempt.detail or "")


@pytest.mark.parametrize(
    ("function", "payload", "attempts", "error"),
    [
        (far.forbidden, {}, 1, "PermanentFailure: never again"),
        (far.vanish, {"code": 7}, 2, "RetryableFailure: the child process ended: exit 7"),
        (far.later, {"seconds": 0.01}, 2, "RetryableFailure: wait"),
    ],
)
async def test_a_failure_means_the_same_as_in_a_thread(
    function: Callable[..., Any], payload: dict[str, Any], attempts: int, error: str, app: Fencepost
) -> None:
    retry = Retry(max_attempts=2, base="10ms", cap="10ms")
    job = app.job("fail", executor="process", retry=retry)(function)
    async with app.running(plans=False):
        run, tries = await ended(app, job, **payload)
    assert (run.state, run.attempt, run.error) == (RunState.DEAD, attempts, error)
    assert len(tries) == attempts


@pytest.mark.parametrize("word", ["timeout", "progress_deadline"])
async def test_waiting_for_a_child_counts_against_no_bound(word: str, tmp_path: Path) -> None:
    go_on = tmp_path / "go-on"
    async with Fencepost(f"sqlite:///{tmp_path}/app.db", heartbeat_every_s=0.1, processes=1) as app:
        hold = app.job("hold", executor="process")(far.tell_and_wait)
        words: dict[str, Any] = {word: "3s", "retry": ONCE, "delivery": "at_most_once"}
        add = app.job("add", executor="process", **words)(far.add)

        @app.job(timeout="4s", retry=ONCE)
        async def outlast() -> None:
            await asyncio.Event().wait()

        async with app.running(plans=False):
            holding = await app.enqueue(hold, path=str(go_on))
            await until_state(app, holding, RunState.RUNNING)
            waiting = await app.enqueue(add, left=1)
            await until_state(app, waiting, RunState.RUNNING)
            assert (await ended(app, outlast))[0].error == "TimedOut: longer than 4s", "so long it has waited"
            go_on.touch()
            run, _ = await until_ended(app, waiting)
    assert (run.state, run.attempt, run.error) == (RunState.SUCCEEDED, 1, None)


async def test_a_worker_takes_on_no_more_process_runs_than_it_has_children_for_and_one(
    tmp_path: Path,
) -> None:
    """Another worker may have a child free; other work goes on beside them."""
    go_on = tmp_path / "go-on"
    async with Fencepost(f"sqlite:///{tmp_path}/app.db", processes=1, poll_s=20) as app:
        hold = app.job("hold", executor="process")(far.tell_and_wait)

        @app.job()
        async def beside() -> None: ...

        async with app.running(plans=False):
            keys = [await app.enqueue(hold, path=str(go_on)) for _ in range(5)]
            await until_state(app, keys[1], RunState.RUNNING)
            for _ in range(3):
                assert (await ended(app, beside))[0].state is RunState.SUCCEEDED
            control = await app.control()
            states = [(await run_operations.run_with_attempts(control, key))[0].state for key in keys]
            go_on.touch()
            outcomes = [(await until_ended(app, key))[0].state for key in keys]
    assert [one is RunState.RUNNING for one in states] == [True, True, False, False, False]
    assert set(outcomes) == {RunState.SUCCEEDED}


async def test_what_a_child_says_is_in_the_ledger(app: Fencepost) -> None:
    job = app.job("tell", executor="process")(far.tell)
    async with app.running(plans=False):
        run, _ = await ended(app, job)
    chunks = await run_operations.log_tail(await app.control(), run.run_key)
    assert any("a line of the log" in str(chunk) for chunk in chunks)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ({"timout": "5s"}, "job add: unknown word 'timout'"),
        ({"executor": "fast"}, 'job add: executor "fast": expected "auto" or "process"'),
        ({"memory_limit": "1GB"}, 'job add: memory_limit needs a process of its own; add executor="process"'),
        ({"recycle_after": 5}, 'job add: recycle_after needs a process of its own; add executor="process"'),
        (
            {"executor": "process", "memory_limit": "much"},
            'job add: memory_limit: size "much": expected',
        ),
        (
            {"executor": "process", "memory_limit": "1MB"},
            "job add: memory_limit 1MB: an interpreter alone needs more than 64MB",
        ),
        (
            {"executor": "process", "recycle_after": 0},
            "job add: recycle_after 0: expected a whole number from 1",
        ),
    ],
)
def test_words_that_mean_nothing_are_refused_at_once(words: Any, said: str, app: Fencepost) -> None:
    with pytest.raises(InvalidSpec) as caught:
        app.job(**words)(far.add)
    assert str(caught.value).startswith(said)


def test_a_function_without_a_home_and_an_async_one_are_refused_at_once(app: Fencepost) -> None:
    with pytest.raises(InvalidSpec, match="is a lambda, where no child process can find it"):
        app.job("x", executor="process")(lambda: None)
    with pytest.raises(InvalidSpec, match="is async, and a child process has no event loop"):
        app.job("x", executor="process")(far.asynchronous)


class Stall:
    """A thing with a method."""

    def restock(self) -> None: ...


@pytest.mark.parametrize(
    ("function", "said"),
    [
        (
            Stall().restock,
            "job Stall.restock: is a bound method, which cannot be marked as a job; write a def",
        ),
        (print, "job print: is a builtin_function_or_method, which cannot be marked as a job; write a def"),
    ],
)
@pytest.mark.parametrize("words", [{}, {"executor": "process"}])
def test_a_function_that_takes_no_mark_is_refused_in_one_line(
    function: Any, said: str, words: Any, app: Fencepost
) -> None:
    with pytest.raises(InvalidSpec) as caught:
        app.job("x", **words)(function)
    assert str(caught.value).startswith(said)


async def test_a_command_in_code_takes_the_words_of_a_command(app: Fencepost) -> None:
    app.add_command("greet", ["printenv", "MODE"], environment={"MODE": "fast"}, retry=ONCE)
    async with app.running(plans=False):
        key = await app.enqueue("greet")
        run, (attempt,) = await until_ended(app, key)
    assert (run.state, attempt.output) == (RunState.SUCCEEDED, "fast\n")
    for words, said in (
        ({"timout": "5s"}, "job bad: unknown word 'timout'; did you mean timeout?"),
        ({"limits": {"cpus": 1}}, "job bad: limits: cpus is unknown"),
        ({"umask": "9"}, 'job bad: umask "9": expected'),
        ({"pass_environment": "HOME"}, 'job bad: pass_environment "HOME": expected a list'),
    ):
        with pytest.raises(InvalidSpec) as caught:
            app.add_command("bad", ["true"], **words)
        assert str(caught.value).startswith(said)
    with pytest.raises(InvalidSpec, match=r"job bad: command .*no shell reads them"):
        app.add_command("bad", "true --all")


def test_a_command_in_code_is_held_to_the_allow_list(tmp_path: Path) -> None:
    app = Fencepost(f"sqlite:///{tmp_path}/app.db", commands_allowed="/usr/bin/env")
    app.add_command("env", ["/usr/bin/env"])
    with pytest.raises(InvalidSpec, match="job sh: command /bin/sh: is not among the programs allowed here"):
        app.add_command("sh", ["/bin/sh"])
