"""The pytest plugin, in projects of its own: it is light, and works under every async plugin."""

import subprocess
import sys

import pytest

APP = """
    from fencepost import Every, Fencepost, Run

    app = Fencepost()
    seen = []

    @app.job(schedule=Every("1h"))
    async def hourly(run: Run) -> None:
        seen.append(run.key)

    @app.job()
    def add(left: int, right: int) -> int:
        return left + right
"""
CONFTEST = """
    import pytest, shop

    @pytest.fixture
    def fencepost_app():
        return shop.app
"""
ASYNC = """
    import pytest
    from shop import add, app
    {mark}

    async def test_it(fencepost_bench, fencepost_clock):
        await app.enqueue(add, left=1, right=2, key="sum")
        fencepost_bench.assert_enqueued(add, key="sum")
        assert len(await fencepost_bench.advance("3h")) == 4
        assert fencepost_bench.output("add#sum") == "3"
        assert fencepost_clock.wall() == fencepost_bench.now

    async def test_it_begins_anew(fencepost_bench):
        fencepost_bench.assert_not_enqueued(add)
        assert f"{fencepost_bench.now:%Y-%m-%d}" == "2026-01-01"
"""
PLAIN = """
    import pytest
    from shop import add

    @pytest.fixture
    def fencepost_now():
        return "2026-06-01T12:00:00Z"

    def test_it(fencepost_plain_bench):
        bench = fencepost_plain_bench
        bench.enqueue(add, left=1, right=2, key="sum")
        assert [one.run_key for one in bench.advance("1h")] == ["add#sum", "hourly#2026-06-01T13:00:00Z#1"]
"""
STRICT = ("-W", "error", "-o", "asyncio_default_fixture_loop_scope=function")


@pytest.fixture
def project(pytester: pytest.Pytester) -> pytest.Pytester:
    pytester.makepyfile(shop=APP)
    pytester.makeconftest(CONFTEST)
    pytester.syspathinsert()
    return pytester


@pytest.mark.parametrize(
    ("mark", "options"),
    [
        ("", ["-o", "asyncio_mode=auto"]),
        ("pytestmark = pytest.mark.asyncio", ["-o", "asyncio_mode=strict"]),
        ("pytestmark = pytest.mark.anyio", ["-p", "no:asyncio", "-W", "ignore::pytest.PytestConfigWarning"]),
    ],
    ids=["auto", "strict", "anyio"],
)
def test_the_bench_works_under(mark: str, options: list[str], project: pytest.Pytester) -> None:
    project.makepyfile(ASYNC.replace("{mark}", mark))
    if "anyio" in mark:
        project.makeconftest(
            CONFTEST + "\n    @pytest.fixture\n    def anyio_backend():\n        return 'asyncio'\n"
        )
    result = project.runpytest_subprocess(*STRICT, *options)
    result.assert_outcomes(passed=2)


def test_the_plain_bench_needs_no_other_plugin(project: pytest.Pytester) -> None:
    """Pytest as a process of its own."""
    project.makepyfile(PLAIN)
    result = project.runpytest_subprocess("-W", "error", "-p", "no:asyncio", "-p", "no:anyio")
    result.assert_outcomes(passed=1)


def test_a_project_that_names_no_application_is_told_how(pytester: pytest.Pytester) -> None:
    pytester.makepyfile("def test_it(fencepost_plain_bench): ...")
    result = pytester.runpytest_subprocess(*STRICT)
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["*define a fixture fencepost_app*"])


def test_the_plugin_loads_nothing_heavy() -> None:
    heavy = (
        "fencepost.app",
        "fencepost.services",
        "fencepost.stores",
        "fencepost.triggers",
        "msgspec",
        "apsw",
    )
    code = (
        "import sys, pytest\n"
        "before = set(sys.modules)\n"
        "import fencepost.testing.plugin\n"
        f"print([one for one in {heavy!r} if one in set(sys.modules) - before])"
    )
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert said.stdout.strip() == "[]"


def test_the_plugin_is_announced() -> None:
    from importlib.metadata import entry_points

    (found,) = entry_points(group="pytest11", name="fencepost")
    assert found.value == "fencepost.testing.plugin"
