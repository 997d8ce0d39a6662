"""Commands: what they are told, what is kept of them, and that none of them outlives its run."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from pathlib import Path
from typing import Any

import pytest

from fencepost.errors import InvalidPayload, PermanentFailure, RetryableFailure, RunFailure
from fencepost.executors import command
from fencepost.executors.command import OUTPUT_KEPT_BYTES, PAYLOAD_BYTES_MAX, CommandExecutor
from tests.executors.runs import make_run

PATIENCE_S = 10.0


def shell(script: str) -> CommandExecutor:
    return CommandExecutor(["/bin/sh", "-c", script])


async def test_a_command_learns_about_its_run_from_its_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.startswith("FENCEPOST_")]:
        monkeypatch.delenv(name)
    names = "{k: v for k, v in os.environ.items() if k.startswith('FENCEPOST_')}"
    code = f"import json, os; print(json.dumps({names}))"
    executor = CommandExecutor([sys.executable, "-c", code])
    output = await executor.execute(make_run({"month": 3}))
    assert json.loads(output or "") == {
        "FENCEPOST_RUN_KEY": "beat#2026-03-01T12:00:00Z#3",
        "FENCEPOST_SCHEDULE": "beat",
        "FENCEPOST_JOB": "report",
        "FENCEPOST_FIRE_TIME": "2026-03-01T12:00:00Z",
        "FENCEPOST_ATTEMPT": "2",
        "FENCEPOST_FENCE": "17",
        "FENCEPOST_PAYLOAD": '{"month": 3}',
    }


async def test_the_run_cannot_be_faked_by_the_jobs_own_environment() -> None:
    own = {"FENCEPOST_FENCE": "99", "MODE": "fast"}
    executor = CommandExecutor(["/bin/sh", "-c", 'echo "$FENCEPOST_FENCE $MODE $FENCEPOST_SCHEDULE."'], own)
    assert await executor.execute(make_run(schedule_id=None)) == "17 fast .\n"


async def test_no_shell_reads_the_argv() -> None:
    executor = CommandExecutor(["/bin/echo", "$HOME; exit 1", "*"])
    assert await executor.execute(make_run()) == "$HOME; exit 1 *\n"


async def test_both_streams_are_kept_and_silence_is_nothing() -> None:
    assert await shell("echo out; echo err >&2").execute(make_run()) == "out\nerr\n"
    assert await shell("true").execute(make_run()) is None


async def test_only_the_tail_of_a_long_output_is_kept() -> None:
    output = await shell("yes 0123456789 | head -n 20000; echo the end").execute(make_run())
    assert output is not None
    assert len(output) == OUTPUT_KEPT_BYTES
    assert output.endswith("0123456789\nthe end\n")


async def test_output_that_is_no_text_does_not_fail_the_run() -> None:
    assert await shell(r"printf 'a\377b'").execute(make_run()) == "a�b"


async def test_a_command_that_reads_its_input_does_not_hang() -> None:
    assert await asyncio.wait_for(shell("cat; echo done").execute(make_run()), PATIENCE_S) == "done\n"


@pytest.mark.parametrize(
    ("script", "kind", "text"),
    [
        ("exit 1", RetryableFailure, "exit 1"),
        ("exit 63", RetryableFailure, "exit 63"),
        ("exit 64", PermanentFailure, "exit 64"),
        ("exit 78", PermanentFailure, "exit 78"),
        ("exit 79", RetryableFailure, "exit 79"),
        ("exit 255", RetryableFailure, "exit 255"),
        ("kill -KILL $$", RetryableFailure, "killed by SIGKILL"),
        ("kill -40 $$", RetryableFailure, "killed by signal 40"),
    ],
)
async def test_the_exit_status_says_whether_to_try_again(
    script: str, kind: type[RunFailure], text: str
) -> None:
    with pytest.raises(kind) as caught:
        await shell(f"echo last words; {script}").execute(make_run())
    assert str(caught.value) == text
    assert caught.value.output == "last words\n"


@pytest.mark.parametrize("name", ["missing", "not-executable"])
async def test_a_command_that_cannot_start_is_not_retried(name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    if name == "not-executable":
        path.write_text("#!/bin/sh\n")
    with pytest.raises(PermanentFailure, match=f"cannot start .*{name}"):
        await CommandExecutor([str(path)]).execute(make_run())


def test_a_payload_too_large_for_an_environment_is_refused() -> None:
    executor = shell("true")
    executor.check({"text": "x" * 1000})
    with pytest.raises(InvalidPayload):
        executor.check({"text": "x" * PAYLOAD_BYTES_MAX})


def is_alive(pid: int) -> bool:
    """Whether the process does anything still: a zombie that nobody has reaped does not."""
    try:
        status = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False
    return status.rpartition(")")[2].split()[0] != "Z"


def open_files() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


def written(path: Path) -> list[int]:
    return [int(one) for one in path.read_text().split()] if path.exists() else []


async def pids_of(path: Path, count: int) -> list[int]:
    """The pids that the command wrote down, once they are all there."""
    async with asyncio.timeout(PATIENCE_S):
        while len(written(path)) < count:  # noqa: ASYNC110 - a file sends no signal
            await asyncio.sleep(0.005)
    return written(path)


async def until_dead(*pids: int) -> None:
    async with asyncio.timeout(PATIENCE_S):
        while any(map(is_alive, pids)):  # noqa: ASYNC110 - a process that is not ours sends no signal
            await asyncio.sleep(0.005)


FAMILY = "sh -c 'echo $$ >> {file}; sleep 100' & echo $$ >> {file}; wait"
STUBBORN = "trap '' TERM; sh -c 'trap \"\" TERM; echo $$ >> {file}; sleep 100' & echo $$ >> {file}; wait"


@pytest.mark.parametrize("script", [FAMILY, STUBBORN], ids=["obedient", "stubborn"])
async def test_a_cancelled_command_dies_with_all_its_children(
    script: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(command, "TERM_GRACE_S", 0.05)
    file = tmp_path / "pids"
    running = asyncio.create_task(shell(script.format(file=file)).execute(make_run()))
    pids = await pids_of(file, 2)
    assert all(map(is_alive, pids))
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    await until_dead(*pids)


async def test_a_child_that_ignores_the_parents_end_does_not_outlive_a_cancelled_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The leader obeys at once; its child does not, and gets the harder signal all the same."""
    monkeypatch.setattr(command, "TERM_GRACE_S", 0.05)
    file = tmp_path / "pids"
    script = f"sh -c 'trap \"\" TERM; echo $$ >> {file}; sleep 100' & echo $$ >> {file}; wait"
    running = asyncio.create_task(shell(script).execute(make_run()))
    pids = await pids_of(file, 2)
    running.cancel()
    await asyncio.wait({running})
    await until_dead(*pids)


async def test_a_command_that_is_cancelled_while_it_starts_leaves_nothing_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    go_on = asyncio.Event()
    loop = asyncio.get_running_loop()
    really_start = loop.subprocess_exec

    async def start_slowly(*arguments: Any, **options: Any) -> Any:
        started = await really_start(*arguments, **options)
        await go_on.wait()
        return started

    monkeypatch.setattr(loop, "subprocess_exec", start_slowly)
    file = tmp_path / "pids"
    running = asyncio.create_task(shell(FAMILY.format(file=file)).execute(make_run()))
    pids = await pids_of(file, 2)
    running.cancel()
    await asyncio.sleep(0)
    go_on.set()
    with pytest.raises(asyncio.CancelledError):
        await running
    await until_dead(*pids)


async def test_a_cancelled_command_may_still_clean_up(tmp_path: Path) -> None:
    file, ready = tmp_path / "cleaned", tmp_path / "ready"
    script = f"trap 'echo yes > {file}; exit 0' TERM; echo $$ > {ready}; while :; do sleep 0.01; done"
    running = asyncio.create_task(shell(script).execute(make_run()))
    await pids_of(ready, 1)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert file.read_text() == "yes\n"


async def test_what_was_left_in_the_background_neither_holds_the_run_up_nor_dies_with_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(command, "LAST_WORDS_S", 0.05)
    file = tmp_path / "pids"
    script = (
        f"sh -c 'echo $$ >> {file}; exec sleep 100' & while ! [ -s {file} ]; do sleep 0.01; done; echo ok"
    )
    open_before = open_files()
    assert await asyncio.wait_for(shell(script).execute(make_run()), PATIENCE_S) == "ok\n"
    (pid,) = await pids_of(file, 1)
    assert is_alive(pid)
    await asyncio.sleep(0)
    assert open_files() <= open_before
    os.kill(pid, signal.SIGKILL)


async def test_a_command_is_not_in_our_own_process_group() -> None:
    output = await shell("ps -o pgid= -p $$ 2>/dev/null || cut -d' ' -f5 /proc/$$/stat").execute(make_run())
    assert int(output or "0") != os.getpgrp()
