"""Commands: what they are told, what is kept of them, and that none of them outlives its run."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any, cast

import pytest

from fencepost.errors import InvalidPayload, InvalidSpec, PermanentFailure, RetryableFailure, RunFailure
from fencepost.executors.command import PAYLOAD_BYTES_MAX, Command, CommandExecutor, group
from fencepost.executors.command.executor import LAUNCHER
from fencepost.executors.command.spec import read_command
from fencepost.executors.output import OUTPUT_KEPT_BYTES, Output
from tests.executors.processes import PATIENCE_S, is_alive, open_files, pids_of, until_dead
from tests.executors.runs import make_run

ROOT = Path(__file__).parents[2]


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
        "FENCEPOST_AFTER": "[]",
    }


async def test_the_run_cannot_be_faked_by_the_jobs_own_environment() -> None:
    own = {"FENCEPOST_FENCE": "99", "MODE": "fast"}
    argv = ("/bin/sh", "-c", 'echo "$FENCEPOST_FENCE $MODE $FENCEPOST_SCHEDULE."')
    with pytest.raises(InvalidSpec, match="environment FENCEPOST_FENCE: only the run itself says that"):
        CommandExecutor(argv, own)
    with pytest.raises(InvalidSpec, match="environment FENCEPOST_PAYLOAD: only the run itself says that"):
        read_command(argv, pass_environment=["FENCEPOST_PAYLOAD"])
    executor = CommandExecutor(Command(argv, environment=own))
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


FAMILY = "sh -c 'echo $$ >> {file}; sleep 100' & echo $$ >> {file}; wait"
STUBBORN = "trap '' TERM; sh -c 'trap \"\" TERM; echo $$ >> {file}; sleep 100' & echo $$ >> {file}; wait"


@pytest.mark.parametrize("script", [FAMILY, STUBBORN], ids=["obedient", "stubborn"])
async def test_a_cancelled_command_dies_with_all_its_children(
    script: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(group, "TERM_GRACE_S", 0.05)
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
    monkeypatch.setattr(group, "TERM_GRACE_S", 0.05)
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
    monkeypatch.setattr(group, "LAST_WORDS_S", 0.05)
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


WORKER = """
import asyncio, sys
from fencepost.executors.command import CommandExecutor
from tests.executors.runs import make_run

argv = ["/bin/sh", "-c", 'echo $$ > "$0"; trap "" TERM HUP; while :; do sleep 1; done', sys.argv[1]]
asyncio.run(CommandExecutor(argv).execute(make_run()))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere no kernel ties a process to its parent")
async def test_a_command_does_not_outlive_a_worker_that_is_killed(tmp_path: Path) -> None:
    """The rescued run would start a second copy beside it."""
    file = tmp_path / "pid"
    worker = await asyncio.create_subprocess_exec(
        *[sys.executable, "-c", WORKER, str(file)],
        env={**os.environ, "PYTHONPATH": f"{ROOT}/src:{ROOT}"},
    )
    try:
        (pid,) = await pids_of(file)
        assert is_alive(pid)
    finally:
        worker.kill()
        await worker.wait()
    try:
        await until_dead(pid)
    finally:
        with suppress(ProcessLookupError):
            os.killpg(pid, signal.SIGKILL)


def test_a_launcher_whose_worker_has_gone_starts_nothing(tmp_path: Path) -> None:
    reading, writing = os.pipe()
    settings = json.dumps({"limits": [], "has_lc_ctype": False, "worker_pid": os.getpid() + 1})
    program = ["/usr/bin/touch", "touch", str(tmp_path / "touched")]
    launched = subprocess.run(
        [sys.executable, "-I", "-S", LAUNCHER, str(writing), settings, *program],
        pass_fds=(writing,),
        check=False,
    )
    os.close(writing)
    os.close(reading)
    assert launched.returncode != 0
    assert not (tmp_path / "touched").exists()


async def test_asking_why_a_command_was_refused_never_waits() -> None:
    """Whatever forked at a bad moment may hold the other end open."""
    reading, writing = os.pipe()
    asked = group.Group(Output(make_run()), lambda: None)
    asked.lead(cast("asyncio.SubprocessTransport", None), reading)
    try:
        asking = asyncio.create_task(asyncio.to_thread(asked.refusal))
        await asyncio.wait({asking}, timeout=5)
        assert asking.done(), "it waits for whoever holds the other end"
        assert asking.result() is None
        os.write(writing, b"no such file")
        assert asked.refusal() == "no such file"
    finally:
        os.close(writing)
        await asyncio.wait({asking})
        os.close(reading)
