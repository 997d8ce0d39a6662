"""What users build on, as plain lines: Python names and signatures, the HTTP API, the commands, other names.

`make interface` writes the lines to `tests/stability/interface/`; a test holds the code against them. One
line is one promise: a line that is gone or reads otherwise is a promise broken. Help is no promise.
"""

from __future__ import annotations

import inspect
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping
from enum import Enum
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import click

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "tests" / "stability" / "interface"
Json = Mapping[str, Any]

MODULES = {
    "fencepost": None,
    "fencepost.guards": None,
    "fencepost.testing": None,
    "fencepost.contrib.celery": None,
    "fencepost.contrib.django": None,
    "fencepost.contrib.fastapi": ("lifespan",),
    "fencepost.contrib.sqlalchemy": ("store_url",),
    "fencepost.app.handles": ("Handle", "PlainHandle"),
    "fencepost.app.jobs": ("JobCall", "JobFunction"),
    "fencepost.app.outbox": ("Outbox",),
    "fencepost.app.schedules": ("Schedules",),
    "fencepost.app.words": ("FunctionWords", "JobWords", "PlaceWords"),
}
"""Where public names are: those of `__all__`, or these."""
INTERNAL = frozenset(
    {
        *("fencepost.Fencepost." + one for one in ("begin_enqueue", "enqueue_plainly", "retire", "serve")),
        *("fencepost.Fencepost." + one for one in ("serve_plainly", "stand_on", "thread_surroundings")),
        *("fencepost.Fencepost." + one for one in ("check_chains", "jobs_by_every_name", "jobs_here")),
        *("fencepost.app.handles.Handle." + one for one in ("ask_state", "ask_to_cancel")),
        *("fencepost.app.handles.Handle." + one for one in ("asking_for_end", "asking_for_result")),
    }
)
"""Public in Python's sense only: parts of the package call them, users do not."""
INTERNAL_METRICS = "fencepost_"


PROBLEM = "application/problem+json"
"""What a refusal answers with."""


def interface() -> dict[str, list[str]]:
    """Every file of the interface and its lines."""
    return {
        "python.txt": sorted({*python_lines(), *error_lines()}),
        "http.txt": sorted(set(http_lines())),
        "commands.txt": sorted(set(command_lines())),
        "names.txt": sorted(set(name_lines())),
    }


def python_lines() -> Iterator[str]:
    """Names of Python, with their signatures."""
    for module_name, chosen in MODULES.items():
        module = import_module(module_name)
        for name in chosen or module.__all__:
            yield from _object_lines(f"{module_name}.{name}", getattr(module, name))


def _object_lines(path: str, value: Any) -> Iterator[str]:
    if inspect.isclass(value):
        yield from _class_lines(path, value)
    elif callable(value):
        yield _signed("def", path, value)
    else:
        yield f"value {path}"


def _class_lines(path: str, cls: type) -> Iterator[str]:
    if issubclass(cls, Enum):
        yield f"enum {path}"
        yield from (f"member {path}.{one.name} = {one.value!r}" for one in cls)
        return
    if hasattr(cls, "__total__"):
        yield f"words {path}"
        yield from (f"word {path}.{name}: {_said(kind)}" for name, kind in _annotations(cls).items())
        return
    yield _signed("class", path, cls)
    for name in _public_members(cls):
        if f"{path}.{name}" not in INTERNAL:
            yield _member_line(f"{path}.{name}", inspect.getattr_static(cls, name, None))


def _public_members(cls: type) -> set[str]:
    """Names that classes of ours give it: methods, properties and annotated fields."""
    ours = [one for one in cls.__mro__ if one.__module__.startswith("fencepost")]
    names = {name for one in ours for name in (*vars(one), *vars(one).get("__annotations__", {}))}
    return {name for name in names if not name.startswith("_")}


def _member_line(path: str, value: Any) -> str:
    match value:
        case classmethod() | staticmethod():
            return _signed("def", path, value.__func__)
        case property():
            return f"attribute {path}: {_said(_annotations(value.fget).get('return', 'Any'))}"
        case _ if inspect.isfunction(value):
            return _signed("async def" if inspect.iscoroutinefunction(value) else "def", path, value)
        case _:
            return f"attribute {path}"


def _signed(kind: str, path: str, value: Callable[..., Any]) -> str:
    try:
        signature = inspect.signature(value)
    except ValueError:
        return f"{kind} {path}"
    parameters = [one.replace(default=_Shown(one)) for one in signature.parameters.values()]
    said = str(signature.replace(parameters=parameters)).replace("'", "")
    return f"{kind} {path}{said}"


class _Shown:
    """A default in words that are the same in every process."""

    def __new__(cls, one: inspect.Parameter) -> Any:
        return one.default if one.default is one.empty else super().__new__(cls)

    def __init__(self, one: inspect.Parameter) -> None:
        self._said = "..." if " at 0x" in repr(one.default) else repr(one.default)

    def __repr__(self) -> str:
        return self._said


def _annotations(value: Any) -> Mapping[str, Any]:
    return getattr(value, "__annotations__", {})


def _said(kind: Any) -> str:
    return str(getattr(kind, "__forward_arg__", kind))


def error_lines() -> Iterator[str]:
    """The tree of errors: an `except` clause names them."""
    module: ModuleType = import_module("fencepost.errors")
    for name, value in vars(module).items():
        if (
            inspect.isclass(value)
            and issubclass(value, BaseException)
            and value.__module__ == module.__name__
        ):
            yield f"error {name} is {', '.join(one.__name__ for one in value.__bases__)}"


def http_lines() -> Iterator[str]:
    """Routes, their parameters and answers, and the fields of every document."""
    from fencepost.web.application import describe

    document = describe()
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            yield from _route_lines(f"{method.upper()} {path}", operation)
    for name, schema in document["components"]["schemas"].items():
        yield from _schema_lines(name, schema)


def _route_lines(route: str, operation: Json) -> Iterator[str]:
    yield f"{route} = {operation['operationId']}"
    for one in operation.get("parameters", ()):
        need = "required" if one.get("required") else "optional"
        yield f"{route} {one['in']} {one['name']}: {_kind(one['schema'])}, {need}"
    for media, body in operation.get("requestBody", {}).get("content", {}).items():
        yield f"{route} takes {media}: {_kind(body.get('schema', {}))}"
    for status, answer in operation["responses"].items():
        kinds = [
            f"{media}: {_kind(body.get('schema', {}))}" for media, body in answer.get("content", {}).items()
        ]
        if PROBLEM not in answer.get("content", {}):
            yield f"{route} answers {', '.join([status, *kinds])}"
    refusals = [one for one, answer in operation["responses"].items() if PROBLEM in answer.get("content", {})]
    yield f"{route} refuses with {', '.join(refusals)}"


def _schema_lines(name: str, schema: Json) -> Iterator[str]:
    needed = schema.get("required", ())
    fields = schema.get("properties", {})
    if not fields:
        yield f"document {name}: {_kind(schema)}"
    for field, kind in fields.items():
        yield f"document {name}.{field}: {_kind(kind)}, {'always' if field in needed else 'optional'}"


def _kind(schema: Json) -> str:
    """What a schema allows, without its words and bounds."""
    if "$ref" in schema:
        return str(schema["$ref"]).rpartition("/")[2]
    if "anyOf" in schema:
        return " | ".join(_kind(one) for one in schema["anyOf"])
    if "enum" in schema:
        return " | ".join(sorted(repr(one) for one in schema["enum"]))
    kind = str(schema.get("type", "any"))
    return f"list of {_kind(schema['items'])}" if "items" in schema else kind


def command_lines() -> Iterator[str]:
    """Commands, their arguments and options."""
    from fencepost.cli.main import NAME, cli

    yield from _command_lines(cli, None, NAME)


def _command_lines(command: click.Command, parent: click.Context | None, name: str) -> Iterator[str]:
    with command.make_context(name, [], parent, resilient_parsing=True) as context:
        yield f"{context.command_path}"
        yield from (f"{context.command_path} {_parameter(one)}" for one in command.params)
        if isinstance(command, click.Group):
            for below in command.list_commands(context):
                found = command.get_command(context, below)
                assert found is not None
                yield from _command_lines(found, context, below)


def _parameter(one: click.Parameter) -> str:
    words = (
        "/".join((*one.opts, *one.secondary_opts)) if isinstance(one, click.Option) else str(one.name).upper()
    )
    kind = "flag" if getattr(one, "is_flag", False) else _type_words(one.type)
    marks = [
        mark for mark, holds in (("required", one.required), ("many", one.multiple or one.nargs < 0)) if holds
    ]
    return f"{words}: {', '.join([kind, *marks])}"


def _type_words(kind: click.ParamType[Any]) -> str:
    return " | ".join(map(str, kind.choices)) if isinstance(kind, click.Choice) else kind.name


def name_lines() -> Iterator[str]:
    """Names that configuration, boards, alerts and packaging hold on to."""
    from fencepost.config import setting_names
    from fencepost.telemetry import catalogue

    yield from (f"setting {one}" for one in setting_names())
    for metric in vars(catalogue).values():
        if isinstance(metric, catalogue.Metric) and not metric.name.startswith(INTERNAL_METRICS):
            yield f"metric {metric.name} {metric.kind} by {', '.join(metric.labels) or 'nothing'}"
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    yield from (f"extra {one}" for one in project["optional-dependencies"] if one not in ("dev", "editable"))
    yield from (f"script {one}" for one in project["scripts"])


def write(files: Mapping[str, Iterable[str]]) -> None:
    """Write every file of the interface."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name, lines in files.items():
        (FOLDER / name).write_text("\n".join([*lines, ""]), "utf-8")
        print(f"wrote {(FOLDER / name).relative_to(ROOT)}")


if __name__ == "__main__":
    write(interface())
