"""The house rules that no linter knows, each a function from source text to its faults."""

import ast
import io
import re
import tokenize
from collections.abc import Iterator, Mapping
from typing import NamedTuple

FILE_LINES_MAX = 400
FUNCTION_LINES_MAX = 60

CLOCKS = frozenset(
    {f"time.{name}" for name in ("time", "monotonic", "perf_counter", "process_time")}
    | {f"time.{name}_ns" for name in ("time", "monotonic", "perf_counter", "process_time")}
    | {f"time.{name}" for name in ("clock_gettime", "ctime", "gmtime", "localtime")}
    | {f"datetime.datetime.{name}" for name in ("now", "today", "utcnow")}
    | {"datetime.date.today"}
)

REAL = CLOCKS | frozenset(
    {f"random.{name}" for name in ("random", "choice", "choices", "randint", "randrange", "uniform")}
    | {f"random.{name}" for name in ("shuffle", "sample", "SystemRandom", "getrandbits")}
    | {f"uuid.uuid{version}" for version in (1, 4)}
    | {"os.urandom", "time.sleep", "threading.Thread", "asyncio.to_thread"}
    | {f"secrets.token_{kind}" for kind in ("bytes", "hex", "urlsafe")}
    | {f"concurrent.futures.{kind}PoolExecutor" for kind in ("Thread", "Process")}
)
"""What would make two runs of one seed differ."""

SQL = re.compile(
    r"""^\s*(?:
        (select)\s.+?\sfrom\s
      | (insert)\s+into\s
      | (update)\s.+?\sset\s
      | (delete)\s+from\s
      | (with)\s+(?:recursive\s+)?\w+\s+as\s*(?:materialized\s*)?\(
      | (create|alter|drop)\s+(?:table|index|unique\s+index|view|schema|function|trigger)\s
    )""",
    re.DOTALL | re.IGNORECASE | re.MULTILINE | re.VERBOSE,
)

_SQL_COMMENT = re.compile(r"--(?! name:).*")
_SQL_BLOCK = re.compile(r"^-- name:.*$", re.MULTILINE)
_SQL_WRITE = re.compile(r"\b(?:INSERT INTO|UPDATE fencepost|DELETE FROM)\b")
_SQL_LOCK = re.compile(r"\bFOR (?:NO KEY )?UPDATE\b")

BARE_SUPPRESSION = re.compile(
    r"type:\s*ignore(?!\[[\w-]+)|noqa(?!:\s*[A-Z]+\d+)|mypy:\s*ignore-errors", re.IGNORECASE
)

VAGUE = re.compile(
    r"(?<![A-Za-z])(?:(?:[Nn]o|[Ss]ome|[Aa]ny|[Ee]very)body|(?:NO|SOME|ANY|EVERY)BODY|[Ww]hoever)(?![A-Za-z])"
    r"|(?<![A-Za-z])(?:[Ss]o\s+many|a\s+word\s+about)(?![A-Za-z])"
)
"""Words that hide who acts, or how much."""
NAMES_THAT_STAY = re.compile(r'runs_held_by_somebody|"nobody"')
"""An index of databases that exist, and a user of Unix."""

REGISTRY = re.compile(r"\b(?:pypi|pythonhosted|npmjs|debian|ubuntu|docker)\.(?:org|com|io)\b", re.IGNORECASE)


class Fault(NamedTuple):
    """What is wrong, and on which line."""

    line: int
    text: str


def clock_reads(source: str) -> Iterator[Fault]:
    """Every mention of a clock, under whatever name it was imported."""
    return _mentions(source, CLOCKS, "reads")


def real_things(source: str) -> Iterator[Fault]:
    """Every mention of real time, real chance or a real thread, and every walk over a set that was just made:
    its order is the hash's."""
    yield from _mentions(source, REAL, "reaches for")
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.For(iter=walked) | ast.AsyncFor(iter=walked) | ast.comprehension(iter=walked):
                if _is_a_set(walked):
                    yield Fault(walked.lineno, "walks over a set: sort it")


def _is_a_set(node: ast.expr) -> bool:
    match node:
        case ast.Set() | ast.SetComp() | ast.Call(func=ast.Name(id="set" | "frozenset")):
            return True
    return False


def _mentions(source: str, banned: frozenset[str], verb: str) -> Iterator[Fault]:
    tree = ast.parse(source)
    names = _imported_names(tree)
    for node in ast.walk(tree):
        match node:
            case ast.ImportFrom(module=str(module), level=0):
                paths = [f"{module}.{alias.name}" for alias in node.names]
            case ast.Attribute():
                paths = [_dotted_path(node, names)]
            case _:
                continue
        yield from (Fault(node.lineno, f"{verb} {path}") for path in paths if path in banned)


def sql_literals(source: str) -> Iterator[Fault]:
    """Every string that holds an SQL statement. Docstrings may."""
    tree = ast.parse(source)
    docstrings = {id(node) for node in _docstring_nodes(tree)}
    for node in ast.walk(tree):
        match node:
            case ast.Constant(value=str(text)) if id(node) not in docstrings and _is_sql(text):
                yield Fault(node.lineno, f"holds SQL: {' '.join(text.split())[:40]}")


def repeatable_locks(source: str) -> Iterator[Fault]:
    """Locks in nested queries of a writing statement: PostgreSQL may ask those twice, and take more rows."""
    for block in _SQL_BLOCK.split(_SQL_COMMENT.sub("", source)):
        if not _SQL_WRITE.search(block):
            continue
        for lock in _SQL_LOCK.finditer(block):
            opening = _outermost_opening(block[: lock.start()])
            if opening is not None and not block[:opening].endswith("AS MATERIALIZED "):
                yield Fault(
                    0, f"{' '.join(block[opening : lock.end()].split())[:80]} is no materialized part"
                )


def bare_suppressions(source: str) -> Iterator[Fault]:
    """Every comment that silences a checker without saying about what."""
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT and BARE_SUPPRESSION.search(token.string):
            yield Fault(token.start[0], f"names no code: {token.string}")


def missing_docstring(source: str) -> Iterator[Fault]:
    """A module that holds something and does not say what."""
    tree = ast.parse(source)
    if tree.body and ast.get_docstring(tree) is None:
        yield Fault(1, "has no module docstring")


def registry_hosts(text: str) -> Iterator[Fault]:
    """Every host of a package registry: where to fetch from is the reader's choice."""
    for number, line in enumerate(text.splitlines(), 1):
        yield from (Fault(number, f"names {host[0]}") for host in REGISTRY.finditer(line))


def vague_words(text: str) -> Iterator[Fault]:
    """Every word that hides who acts, also over the end of a line."""
    said = NAMES_THAT_STAY.sub("", text)
    for word in VAGUE.finditer(said):
        yield Fault(
            said.count("\n", 0, word.start()) + 1, f"{' '.join(word[0].split())!r}: say who, or how many"
        )


def addresses(text: str) -> Iterator[Fault]:
    """Every address in a text that should hold none."""
    for number, line in enumerate(text.splitlines(), 1):
        if "://" in line:
            yield Fault(number, f"holds an address: {line.strip()}")


def function_lines(source: str) -> dict[str, int]:
    """The length of each function and method, by qualified name."""
    return dict(_function_lines(ast.parse(source), ""))


def ratchet_faults(sizes: Mapping[str, int], limit: int, known: Mapping[str, int]) -> Iterator[str]:
    """What outgrew the limit or its known size, and what shrank and must stay small."""
    for name in sorted(sizes.keys() | known.keys()):
        size, allowed = sizes.get(name, 0), known.get(name, limit)
        if size > allowed:
            yield f"{name}: {size} lines, at most {allowed}; split it"
        elif name in known and size <= limit:
            yield f"{name}: {size} lines, within {limit}; remove it from ratchet.toml"
        elif name in known and size < allowed:
            yield f"{name}: fell to {size} lines; lower it in ratchet.toml"


def imports_in_functions(source: str) -> Iterator[Fault]:
    """Imports that do not stand at the head of their module."""
    functions = (
        one for one in ast.walk(ast.parse(source)) if isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef)
    )
    nodes = {node: None for function in functions for node in ast.walk(function)}
    yield from (
        Fault(node.lineno, ast.unparse(node))
        for node in nodes
        if isinstance(node, ast.Import | ast.ImportFrom)
    )


def _imported_names(tree: ast.Module) -> dict[str, str]:
    """The dotted path behind each imported name."""
    names: dict[str, str] = {}
    for node in ast.walk(tree):
        match node:
            case ast.Import():
                names |= {alias.asname or alias.name: alias.name for alias in node.names}
            case ast.ImportFrom(module=str(module), level=0):
                names |= {alias.asname or alias.name: f"{module}.{alias.name}" for alias in node.names}
    return names


def _dotted_path(node: ast.expr, names: Mapping[str, str]) -> str:
    match node:
        case ast.Name(id=name):
            return names.get(name, "")
        case ast.Attribute(value=value, attr=attribute):
            return f"{_dotted_path(value, names)}.{attribute}"
    return ""


def _docstring_nodes(tree: ast.Module) -> Iterator[ast.expr]:
    """Every string that stands as a statement of its own: docstrings, also of attributes."""
    for node in ast.walk(tree):
        match node:
            case ast.Expr(value=ast.Constant(value=str())):
                yield node.value


def _outermost_opening(text: str) -> int | None:
    """Where the first of the brackets stands that are still open at the end."""
    still_open: list[int] = []
    for at, character in enumerate(text):
        if character == "(":
            still_open.append(at)
        elif character == ")":
            still_open.pop()
    return still_open[0] if still_open else None


def _is_sql(text: str) -> bool:
    """A statement keeps its keywords in one case; "Select a job from …" is a sentence."""
    return any(
        keyword.islower() or keyword.isupper()
        for found in SQL.finditer(text)
        for keyword in found.groups()
        if keyword
    )


def _function_lines(node: ast.AST, prefix: str) -> Iterator[tuple[str, int]]:
    for child in ast.iter_child_nodes(node):
        match child:
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                assert child.end_lineno is not None
                yield f"{prefix}{child.name}", child.end_lineno - child.lineno + 1
                yield from _function_lines(child, f"{prefix}{child.name}.")
            case ast.ClassDef():
                yield from _function_lines(child, f"{prefix}{child.name}.")
            case _:
                yield from _function_lines(child, prefix)
