"""What a hostile payload, environment, program or neighbour cannot do through a command.

That a command which ignores SIGTERM dies all the same, with what it forked, is in `test_command`.
"""

from __future__ import annotations

import asyncio
import json
import os
import pwd
import resource
import signal
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from fencepost.errors import InvalidSpec, PermanentFailure, RetryableFailure
from fencepost.executors.command import AllowList, Command, CommandExecutor, group
from fencepost.executors.command.environment import OF_THE_RUN
from fencepost.executors.command.spec import read_command
from fencepost.executors.output import OUTPUT_KEPT_BYTES
from fencepost.model.identifiers import RunKey
from fencepost.ports.run import Run
from fencepost.services.run_log import RunLog
from tests.executors.processes import PATIENCE_S, is_alive, pids_of, until_dead
from tests.executors.runs import make_run

HOSTILE = [
    "; rm -rf /",
    "--flag",
    "$(id)",
    "`id`",
    "| cat /etc/passwd",
    "a\nFENCEPOST_FENCE=99",
    "nul\0in the middle",
    "' OR 1=1 --",
    "\ud800 half a pair",
]
INHERITED = (
    "LD_PRELOAD",
    "LD_LIBRARY_PATH",
    "PYTHONPATH",
    "PYTHONSTARTUP",
    "BASH_ENV",
    "ENV",
    "IFS",
    "SECRET",
)


def keyed(key: str) -> Run:
    return Run(replace(make_run().claim, run_key=RunKey(key)))


async def environment_seen(executor: CommandExecutor, run: Run | None = None) -> dict[str, str]:
    output = await executor.execute(run or make_run())
    return dict(one.split("=", 1) for one in (output or "").split("\0") if one)


def env(**words: Any) -> CommandExecutor:
    return CommandExecutor(read_command(["/usr/bin/env", "-0"], **words))


@pytest.mark.parametrize("text", HOSTILE)
async def test_a_payload_reaches_neither_the_argv_nor_a_shell_nor_another_variable(text: str) -> None:
    payload = {"text": text, "--all": text, "PATH": text, "FENCEPOST_FENCE": "99"}
    argv = ["/bin/cat", "/proc/self/cmdline", "/proc/self/environ"]
    output = await CommandExecutor(argv).execute(make_run(payload))
    words = (output or "").split("\0")
    assert words[:3] == argv
    seen = dict(one.split("=", 1) for one in words[3:] if one)
    assert json.loads(seen.pop("FENCEPOST_PAYLOAD")) == payload
    assert seen["FENCEPOST_FENCE"] == "17"
    assert text not in seen.values()


async def test_nothing_of_the_workers_own_environment_reaches_a_command(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in (*INHERITED, "PATH", "HOME", "LANG"):
        monkeypatch.setenv(name, "/attack")
    seen = await environment_seen(env())
    user = pwd.getpwuid(os.geteuid())
    assert {name: value for name, value in seen.items() if name not in OF_THE_RUN} == {
        "PATH": "/usr/local/bin:/usr/bin:/bin",
        "HOME": user.pw_dir,
        "USER": user.pw_name,
        "LOGNAME": user.pw_name,
        "SHELL": user.pw_shell,
        "LANG": "C.UTF-8",
    }
    assert set(OF_THE_RUN) <= set(seen)


async def test_only_what_the_job_names_is_passed_on_and_what_it_declares_wins(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("REGION", "eu")
    monkeypatch.setenv("SECRET", "hidden")
    monkeypatch.setenv("MODE", "slow")
    monkeypatch.delenv("ABSENT", raising=False)
    executor = env(pass_environment=["REGION", "MODE", "ABSENT"], environment={"MODE": "fast", "LANG": "C"})
    seen = await environment_seen(executor)
    own = {name: value for name, value in seen.items() if name not in OF_THE_RUN}
    assert (own["REGION"], own["MODE"], own["LANG"]) == ("eu", "fast", "C")
    assert not {"SECRET", "ABSENT", "LC_CTYPE"} & set(own), "nor what the launcher's interpreter sets"


async def test_what_the_run_says_wins_over_everything_declared() -> None:
    faked = dict.fromkeys(OF_THE_RUN, "faked")
    seen = await environment_seen(CommandExecutor(Command(("/usr/bin/env", "-0"), environment=faked)))
    assert "faked" not in seen.values()


async def test_a_newline_in_a_key_makes_no_variable_and_a_nul_fails_for_good() -> None:
    seen = await environment_seen(env(), keyed("a\nFENCEPOST_FENCE=99"))
    assert seen["FENCEPOST_RUN_KEY"] == "a\nFENCEPOST_FENCE=99"
    assert seen["FENCEPOST_FENCE"] == "17"
    for key in ("a\0b", "half \ud800"):
        with pytest.raises(PermanentFailure, match="cannot start /usr/bin/env: its environment cannot be"):
            await env().execute(keyed(key))


FLOOD = "head -c 300000000 /dev/zero; yes 'one of many lines' | head -n 3000000; echo the end"


@pytest.mark.proof
async def test_a_flood_of_output_neither_fills_the_memory_nor_fails_the_run() -> None:
    """About 7 s: a command writes as fast as it can until its output is cut."""
    claim = make_run().claim
    log = RunLog(claim.ticket)
    run = Run(claim, keep=log.write)
    before_kb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    output = await CommandExecutor(["/bin/sh", "-c", FLOOD]).execute(run)
    grown_kb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before_kb
    assert output is not None
    assert len(output) == OUTPUT_KEPT_BYTES
    assert output.endswith("one of many lines\nthe end\n")
    assert grown_kb < 50_000, f"{grown_kb} KB for 350 MB of output"
    page = log.page()
    assert page is not None
    assert page.chunks[-1].text.endswith("one of many lines\nthe end")


async def test_the_output_is_logged_line_by_line_while_the_command_works(tmp_path: Path) -> None:
    lines: asyncio.Queue[str] = asyncio.Queue()
    run = Run(make_run().claim, keep=lines.put_nowait)
    script = f"echo one; echo two >&2; while ! [ -e {tmp_path}/go-on ]; do sleep 0.01; done; printf three"
    working = asyncio.create_task(CommandExecutor(["/bin/sh", "-c", script]).execute(run))
    async with asyncio.timeout(PATIENCE_S):
        first = await lines.get()
        assert (first if "two" in first else f"{first}\n{await lines.get()}") == "one\ntwo"
        assert not working.done()
        (tmp_path / "go-on").touch()
        assert await working == "one\ntwo\nthree"
    assert lines.get_nowait() == "three"


async def test_garbage_is_logged_and_kept_as_text() -> None:
    lines: list[str] = []
    run = Run(make_run().claim, keep=lines.append)
    argv = ["/bin/sh", "-c", r"head -c 100000 /dev/urandom; printf '\n\377\376\0\033[2J\n'"]
    output = await CommandExecutor(argv).execute(run)
    assert (output or "").endswith("\n��\0\x1b[2J\n")
    assert "\n".join(lines).split("\n")[-1] == "��\0\x1b[2J"


async def test_a_daemon_that_leaves_the_group_is_out_of_reach(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Said in the guide: whoever makes a session of its own is not ended with the command."""
    monkeypatch.setattr(group, "TERM_GRACE_S", 0.05)
    file, stayed = tmp_path / "daemon", tmp_path / "stayed"
    script = (
        f"setsid sh -c 'echo $$ > {file}; exec sleep 600' >/dev/null 2>&1 & "
        f"(trap '' TERM HUP; sh -c 'echo $PPID' > {stayed}; sleep 600) & wait"
    )
    working = asyncio.create_task(CommandExecutor(["/bin/sh", "-c", script]).execute(make_run()))
    (daemon,), (child,) = await pids_of(file), await pids_of(stayed)
    working.cancel()
    await asyncio.wait({working}, timeout=PATIENCE_S)
    await until_dead(child)
    assert is_alive(daemon)
    os.kill(daemon, signal.SIGKILL)


def allowing(*entries: str | Path) -> AllowList:
    return AllowList(lambda: tuple(map(str, entries)))


def program(path: Path, says: str) -> Path:
    path.parent.mkdir(exist_ok=True)
    path.write_text(f"#!/bin/sh\necho {says}\n")
    path.chmod(0o755)
    return path


async def test_a_link_out_of_the_allow_list_is_refused_when_defined_and_when_started(tmp_path: Path) -> None:
    good, evil = program(tmp_path / "good" / "tool", "good"), program(tmp_path / "evil" / "tool", "evil")
    link = tmp_path / "good" / "link"
    link.symlink_to(evil)
    folder = allowing(f"{tmp_path}/good/")
    for path in (link, evil, tmp_path / "good" / ".." / "evil" / "tool", tmp_path / "goodish" / "tool"):
        with pytest.raises(InvalidSpec, match="is not among the programs allowed here"):
            CommandExecutor([str(path)], allowed=folder)
    link.unlink()
    link.symlink_to(good)
    executor = CommandExecutor([str(link)], allowed=folder)
    assert await executor.execute(make_run()) == "good\n"
    link.unlink()
    link.symlink_to(evil)
    with pytest.raises(PermanentFailure, match="is not among the programs allowed here"):
        await executor.execute(make_run())


async def test_a_link_that_is_turned_between_the_check_and_the_start_changes_nothing(tmp_path: Path) -> None:
    good, evil = program(tmp_path / "good" / "tool", "good"), program(tmp_path / "evil" / "tool", "evil")
    link = tmp_path / "good" / "link"
    link.symlink_to(good)

    class Turning(AllowList):
        turns = False

        def real_path(self, program: str) -> str | None:
            real = super().real_path(program)
            if self.turns:
                link.unlink()
                link.symlink_to(evil)
            return real

    allowed = Turning(lambda: (f"{tmp_path}/good/",))
    executor = CommandExecutor([str(link)], allowed=allowed)
    allowed.turns = True
    assert await executor.execute(make_run()) == "good\n"
    assert link.resolve() == evil


async def test_a_listed_program_is_allowed_by_itself_and_through_its_own_link(tmp_path: Path) -> None:
    tool, other = program(tmp_path / "bin" / "tool", "tool"), program(tmp_path / "bin" / "other", "other")
    link = tmp_path / "link"
    link.symlink_to(tool)
    for allowed, path in ((allowing(tool), link), (allowing(link), tool), (allowing(link), link)):
        assert await CommandExecutor([str(path)], allowed=allowed).execute(make_run()) == "tool\n"
        with pytest.raises(InvalidSpec):
            CommandExecutor([str(other)], allowed=allowed)


def test_a_bare_name_that_is_nowhere_is_not_allowed() -> None:
    with pytest.raises(InvalidSpec, match="command no-such-tool: is not among"):
        CommandExecutor(["no-such-tool"], allowed=allowing("/usr/bin/"))


async def test_a_bare_name_is_never_found_where_the_worker_happens_to_be(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program(tmp_path / "printenv", "evil")
    program(tmp_path / "mytool", "mine")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", f".:{tmp_path}")
    assert await CommandExecutor(["printenv", "FENCEPOST_FENCE"]).execute(make_run()) == "17\n"
    with pytest.raises(PermanentFailure, match="cannot start mytool: it is not on the job's PATH"):
        await CommandExecutor(["mytool"]).execute(make_run())
    named = {"PATH": f"{tmp_path}:/usr/bin:/bin"}
    assert await CommandExecutor(["mytool"], named).execute(make_run()) == "mine\n"
    for relative in ("./mytool", "bin/mytool", "../mytool"):
        with pytest.raises(InvalidSpec, match="is relative to wherever the worker was started"):
            CommandExecutor([relative])
    beside = CommandExecutor(read_command(["./mytool"], cwd=str(tmp_path)))
    assert await beside.execute(make_run()) == "mine\n"


async def test_no_descriptor_of_the_worker_is_open_in_a_command(tmp_path: Path) -> None:
    kept = os.open(tmp_path, os.O_RDONLY)
    os.set_inheritable(kept, True)
    try:
        output = await CommandExecutor(["/bin/sh", "-c", "ls /proc/$$/fd"]).execute(make_run())
    finally:
        os.close(kept)
    assert (output or "").split() == ["0", "1", "2"]


async def test_a_broken_pipe_ends_what_writes_to_it_as_in_any_shell() -> None:
    assert await CommandExecutor(["/bin/sh", "-c", "yes | head -n 1"]).execute(make_run()) == "y\n"


@pytest.mark.parametrize(
    ("limits", "script", "how"),
    [
        ({"cpu": "1s"}, "while :; do :; done", "killed by SIGXCPU"),
        ({"file_size": 1000}, "exec head -c 2000 /dev/zero > file", "killed by SIGXFSZ"),
        ({"files": 16}, f"exec {sys.executable} -c 'import os; [os.dup(1) for _ in range(20)]'", "exit 1"),
        ({"memory": "100MB"}, "exec dd bs=500M count=1 if=/dev/zero of=/dev/null", "exit 1"),
    ],
)
async def test_a_command_cannot_use_more_than_its_limits(
    limits: dict[str, Any], script: str, how: str, tmp_path: Path
) -> None:
    command = read_command(["/bin/sh", "-c", script], limits=limits, cwd=str(tmp_path))
    with pytest.raises(RetryableFailure) as caught:
        await asyncio.wait_for(CommandExecutor(command).execute(make_run()), PATIENCE_S)
    assert str(caught.value) == how


async def test_the_limits_are_there_at_the_first_instruction_and_the_worker_keeps_its_own() -> None:
    before = [resource.getrlimit(kind) for kind in range(16)]
    limits = {"files": 64, "processes": 1234, "memory": "1GB"}
    output = await CommandExecutor(read_command(["/bin/cat", "/proc/self/limits"], limits=limits)).execute(
        make_run()
    )
    rows = [line.split() for line in (output or "").splitlines()]
    seen = {" ".join(row[1:-3]): row[-3:-1] for row in rows if row[0] == "Max"}
    assert seen["core file size"] == ["0", "0"]
    assert seen["open files"] == ["64", "64"]
    assert seen["address space"] == ["1000000000", "1000000000"]
    assert next(row for row in rows if row[1] == "processes")[2:4] == ["1234", "1234"]
    assert [resource.getrlimit(kind) for kind in range(16)] == before


@pytest.mark.parametrize("text", ["not a program", "#!/no/such/interpreter\n"])
async def test_a_file_that_is_no_program_fails_for_good(text: str, tmp_path: Path) -> None:
    path = tmp_path / "tool"
    path.write_text(text)
    path.chmod(0o755)
    with pytest.raises(PermanentFailure, match=r"cannot start .*/tool: (Exec format|No such file)"):
        await CommandExecutor([str(path)]).execute(make_run())


async def test_a_folder_that_is_not_there_is_named(tmp_path: Path) -> None:
    command = read_command(["/bin/true"], cwd=str(tmp_path / "gone"))
    with pytest.raises(PermanentFailure, match=r"cannot start /bin/true: .*/gone: No such file or directory"):
        await CommandExecutor(command).execute(make_run())
