"""Each house rule catches a planted offender and lets its honest neighbour pass."""

import pytest

from tests.tidy import rules


@pytest.mark.parametrize(
    "source",
    [
        "import time\ntime.time()",
        "import time as t\nt.monotonic_ns()",
        "import time\nclock = time.perf_counter",
        "from time import monotonic",
        "from time import time as now",
        "from datetime import datetime\ndatetime.now(tz)",
        "from datetime import datetime as dt\ndt.utcnow()",
        "import datetime\ndatetime.datetime.now()",
        "import datetime as d\nd.date.today()",
        "def f():\n    from datetime import date\n    return date.today()",
    ],
)
def test_a_clock_read_is_caught(source: str) -> None:
    assert list(rules.clock_reads(source))


@pytest.mark.parametrize(
    "source",
    [
        "import asyncio\nasyncio.get_running_loop().time()",
        "from time import sleep",
        "from datetime import datetime, time\ntime(3)\ndatetime.fromisoformat(s)",
        "clock.now()",
        "time = run.time\ntime.time()",
    ],
)
def test_what_reads_no_clock_is_not_caught(source: str) -> None:
    assert not list(rules.clock_reads(source))


@pytest.mark.parametrize(
    "source",
    [
        "import random\nrandom.choice([1, 2])",
        "from random import shuffle",
        "import asyncio as a\na.to_thread(work)",
        "from uuid import uuid4",
        "import time\ntime.monotonic()",
        "for one in {1, 2}: pass",
        "[one for one in set(many)]",
    ],
)
def test_what_would_make_two_runs_differ_is_caught(source: str) -> None:
    assert list(rules.real_things(source))


@pytest.mark.parametrize(
    "source",
    [
        "import random\ndice = random.Random(1)\ndice.choice([1, 2])",
        "for one in sorted({1, 2}): pass",
        "one in {1, 2}",
        "import asyncio\nasyncio.get_running_loop().time()",
    ],
)
def test_what_keeps_two_runs_alike_is_not_caught(source: str) -> None:
    assert not list(rules.real_things(source))


@pytest.mark.parametrize(
    "statement",
    [
        "select 1 from runs",
        "SELECT run_key\n  FROM runs",
        "insert into runs values (1)",
        "\n    update runs set state = 'dead'",
        "DELETE FROM runs",
        "create table runs (run_key text)",
        "with due as (select 1)",
    ],
)
@pytest.mark.parametrize("prefix", ["", "f"])
def test_sql_in_a_literal_is_caught(prefix: str, statement: str) -> None:
    assert list(rules.sql_literals(f"query = {prefix}{statement!r}"))


@pytest.mark.parametrize(
    "source",
    [
        '"""\nselect 1 from runs\n"""',
        'def f():\n    """\n    insert into runs\n    """',
        'help = "Select a job from the list"',
        'text = "the update was set aside"',
        'name = "select"',
    ],
)
def test_prose_is_not_taken_for_sql(source: str) -> None:
    assert not list(rules.sql_literals(source))


TAKE = "SELECT key FROM fencepost.runs LIMIT 1 FOR UPDATE SKIP LOCKED"


@pytest.mark.parametrize(
    "statement",
    [
        f"UPDATE fencepost.runs AS run SET held = 0 FROM ({TAKE}) AS next WHERE run.key = next.key",
        f"DELETE FROM fencepost.runs WHERE key IN ({TAKE})",
        f"WITH next AS ({TAKE}) DELETE FROM fencepost.runs USING next",
    ],
)
def test_a_lock_that_may_be_taken_twice_is_caught(statement: str) -> None:
    assert list(rules.repeatable_locks(f"-- name: take\n{statement};"))


@pytest.mark.parametrize(
    "statement",
    [
        f"{TAKE};",
        f"SELECT next.key FROM lanes CROSS JOIN LATERAL ({TAKE}) AS next;",
        f"WITH next AS MATERIALIZED (SELECT key FROM ({TAKE}) AS own) DELETE FROM fencepost.runs USING next;",
        f"{TAKE};\n-- name: remove\nDELETE FROM fencepost.runs;",
    ],
)
def test_a_lock_that_is_taken_once_is_not_caught(statement: str) -> None:
    assert not list(rules.repeatable_locks(f"-- name: take\n{statement}"))


@pytest.mark.parametrize("comment", ["type: ignore", "noqa", "ruff: noqa", "mypy: ignore-errors"])
def test_a_suppression_without_a_code_is_caught(comment: str) -> None:
    assert list(rules.bare_suppressions(f"x = 1  # {comment}\n"))


@pytest.mark.parametrize("comment", ["type: ignore[arg-type]", "noqa: E501", "a plain remark"])
def test_a_suppression_with_a_code_is_not_caught(comment: str) -> None:
    assert not list(rules.bare_suppressions(f"x = 'noqa'  # {comment}\n"))


def test_a_module_without_a_docstring_is_caught() -> None:
    assert list(rules.missing_docstring("x = 1"))
    assert not list(rules.missing_docstring('"""Says what it is."""\nx = 1'))
    assert not list(rules.missing_docstring(""))


@pytest.mark.parametrize(
    "source",
    [
        "# Nobody reads it.",
        "def test_somebody_is_told() -> None: ...",
        "ANYBODY = 1",
        "for everybody's sake",
        "for whoever asks",
        'TEXT = "so many of them"',
        "it looks so\nmany times",
        "with a word about it",
    ],
)
def test_a_word_that_hides_who_acts_is_caught(source: str) -> None:
    assert [fault.line for fault in rules.vague_words(f"first\n{source}")] == [2]


@pytest.mark.parametrize("source", ["class NoBody: ...", "runs_held_by_somebody", 'USERS = {"nobody"}'])
def test_a_name_that_stays_is_not_caught(source: str) -> None:
    assert not list(rules.vague_words(source))


@pytest.mark.parametrize("name", ["pypi", "files.pythonhosted", "registry.npmjs", "deb.debian"])
def test_a_registry_host_is_caught(name: str) -> None:
    host = ".".join((name, "org"))
    assert list(rules.registry_hosts(f"fetched from {host}/simple"))
    assert not list(rules.registry_hosts(f"fetched from {name}"))


def test_an_address_is_caught() -> None:
    assert [fault.line for fault in rules.addresses("a==1\n--index-url https://host/simple")] == [2]
    assert not list(rules.addresses("a==1 \\\n    --hash=sha256:00"))


def test_functions_are_measured_by_qualified_name() -> None:
    source = "class A:\n    async def f(self):\n        def g():\n            pass\n        return g"
    assert rules.function_lines(source) == {"A.f": 4, "A.f.g": 2}


@pytest.mark.parametrize(
    ("size", "known", "said"),
    [
        (11, {}, "at most 10"),
        (15, {"f": 14}, "at most 14"),
        (13, {"f": 14}, "lower it"),
        (10, {"f": 14}, "remove it"),
    ],
)
def test_the_ratchet_does_not_turn_back(size: int, known: dict[str, int], said: str) -> None:
    (fault,) = rules.ratchet_faults({"f": size}, 10, known)
    assert said in fault


@pytest.mark.parametrize(("size", "known"), [(10, {}), (14, {"f": 14})])
def test_the_ratchet_holds_what_it_knows(size: int, known: dict[str, int]) -> None:
    assert not list(rules.ratchet_faults({"f": size}, 10, known))


def test_the_ratchet_forgets_what_is_gone() -> None:
    (fault,) = rules.ratchet_faults({}, 10, {"f": 14})
    assert "remove it" in fault


def test_an_import_in_a_function_is_seen_once() -> None:
    source = "import a\ndef f():\n    import b\n    async def g():\n        from c import d\n"
    assert [fault.text for fault in rules.imports_in_functions(source)] == ["import b", "from c import d"]
