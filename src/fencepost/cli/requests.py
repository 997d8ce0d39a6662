"""Options and arguments of a command, made from the struct that an operation asks for.

A field's name is the option's, its description the help, its type says how the text is read:

| field | on the command line |
| --- | --- |
| stands in the path | an argument |
| `bool` | a flag; `--no-…` where it is true unless given |
| an enum | one of its values, with a hint where it is none |
| `When`, `Moment` | TIME, in the zone of `--tz` |
| `Seconds` | DURATION, without the `_s` of the name |
| a list | an option that may be repeated |
| an object | JSON |
| `int` | a number within its bounds |
| words of their own, such as `DstWords` | an option for each of their fields |

An option that is left out leaves the field to the struct's own default. The part of a list, the namespace and
the reason of a change have options of their own, which all commands share.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Collection, Iterator, Mapping
from datetime import timedelta
from typing import Any, NamedTuple

import click
import msgspec
from msgspec import Struct, inspect

from fencepost.cli.options import Command
from fencepost.cli.reading import checked_choice, read_duration, read_instant, read_payload, read_when
from fencepost.errors import UsageError
from fencepost.model.durations import format_duration
from fencepost.operations.operation import VERSION_FIELD
from fencepost.operations.words import INTEGER_MAX, LENGTH, MOMENT, WHEN, WHEN_OR_AFTER

REASON = "reason"
NOT_TYPED = frozenset({"limit", "after", "namespace", REASON, VERSION_FIELD})
CHOICES_SHOWN_MAX = 4
REPEATED, AGO, NOT = "; may be repeated", "; also a length of time ago: 2h", "False: "
METAVARS = {
    "anchor": "TIME",
    "at": "TIME",
    "at-time": "HH:MM",
    "business-day": "N",
    "by": "NAME",
    "calendar": "NAME",
    "catch-up": "MODE",
    "cron": "EXPR",
    "delay": "DURATION",
    "end": "TIME",
    "error": "TEXT",
    "every": "INTERVAL",
    "gate": "TERMS",
    "holiday": "DATE",
    "jitter": "WINDOW",
    "label": "KEY[=VALUE]",
    "max-lateness": "DURATION",
    "max-runs": "N",
    "overlap": "POLICY",
    "queue": "NAME",
    "region": "CODE",
    "rrule": "TEXT",
    "schedule": "ID",
    "secret": "secret:NAME",
    "spread": "WINDOW",
    "start": "TIME",
    "to": "ADDRESS",
    "tz": "ZONE",
    "unique": "FOR",
    "weekend": "DAYS",
    "workday": "DATE",
    "years": "A-B",
}
"""What a value is called, where it is not called as its option is."""
FIELD_NAME = re.compile(r"`(\w+)`")

Read = Callable[[str, Any, str | None], Any]
"""The value of a field, from the name of its option, what was typed, and the zone that times are read in."""
Declare = Callable[[Command], Command]
Reader = tuple[dict[str, Any], Read]
"""What click is told of a field, and how it is read."""


class Field(NamedTuple):
    """A field without the words around its type."""

    name: str
    kind: inspect.Type
    prose: str
    reads: str | None
    required: bool
    default: Any
    within: type[Struct] | None = None
    """The words that it is a part of."""


class Parameter(NamedTuple):
    """A field as a command has it."""

    field: str
    option: str
    declare: Declare
    read: Read
    paired: bool


def takes(
    request: type[Struct],
    *,
    arguments: Collection[str] = (),
    names: Mapping[str, str] | None = None,
    pairs: bool = False,
    reads: Mapping[str, Reader] | None = None,
    without: Collection[str] = (),
) -> Declare:
    """Give a command the options of a request, handed over as one `request`. `names` calls fields otherwise,
    `reads` reads their texts otherwise, `pairs` has them given as `--filter NAME=VALUE` too. The field `gap`
    of the words of a field `dst` is named `dst.gap`."""
    whole_texts = reads or {}
    known = list(fields_of(request, whole_texts))
    needs_reason = any(one.name == REASON and one.required for one in known)
    fields = [one for one in known if one.name not in NOT_TYPED.union(without)]
    called = {one.name: (names or {}).get(one.name) or _option(one) for one in fields}
    words = {one.name.partition(".")[0]: one.within for one in fields if one.within is not None}
    parameters = [
        _argument(one)
        if one.name in arguments
        else _choice(one, called[one.name], called, whole_texts.get(one.name) or _reader(one))
        for one in fields
    ]
    declared = [one.declare for one in parameters] + ([pairs_option] if pairs else [])

    def give(command: Command) -> Command:
        @functools.wraps(command)
        def with_request(*args: Any, **options: Any) -> Any:
            typed = {one.field: options.pop(one.field.replace(".", "__")) for one in parameters}
            typed |= _paired(parameters, options.pop("pairs", ()))
            given = {
                one.field: one.read(one.option, typed[one.field], options.get("tz"))
                for one in parameters
                if typed[one.field] not in (None, ())
            }
            if needs_reason:
                given[REASON] = _reason(options)
            return command(*args, request=request(**_whole(given, words)), **options)

        whole: Command = with_request
        for declare in reversed(declared):
            whole = declare(whole)
        return whole

    return give


def _reason(options: Mapping[str, Any]) -> str:
    if not (options[REASON] or "").strip():
        raise UsageError("say why with --reason; the log and the runs will say it")
    return str(options[REASON])


def fields_of(request: type[Struct], whole: Collection[str] = (), path: str = "") -> Iterator[Field]:
    """The fields of a request, each with what its type says of it. Words of their own give their fields,
    unless they are read `whole`."""
    types = inspect.type_info(request)
    assert isinstance(types, inspect.StructType)
    for one in types.fields:
        kind, prose, reads = _plain(one.type)
        default = None if one.default is msgspec.NODEFAULT else one.default
        name = f"{path}{one.name}"
        if isinstance(kind, inspect.StructType) and name not in whole:
            yield from (part._replace(within=kind.cls) for part in fields_of(kind.cls, whole, f"{name}."))
        else:
            yield Field(name, kind, prose, reads, one.required, default)


def reads_times(request: type[Struct]) -> bool:
    """Whether some of it is read in a zone."""
    return any(
        one.reads in (WHEN, WHEN_OR_AFTER, MOMENT) for one in fields_of(request) if one.name not in NOT_TYPED
    )


def _plain(info: inspect.Type) -> tuple[inspect.Type, str, str | None]:
    """The type itself, its description, and how its texts are read; the outermost counts."""
    if isinstance(info, inspect.Metadata):
        kind, prose, reads = _plain(info.type)
        own = info.extra_json_schema or {}
        return kind, own.get("description", prose), (info.extra or {}).get("reads", reads)
    if isinstance(info, inspect.UnionType):
        return _plain(min(info.types, key=_rank))
    return info, "", None


def _rank(info: inspect.Type) -> int:
    """Words of their own come first; null is no type."""
    match info:
        case inspect.StructType():
            return 0
        case inspect.NoneType():
            return 2
    return 1


def _whole(given: Mapping[str, Any], words: Mapping[str, type[Struct]]) -> dict[str, Any]:
    """The values of a request, those of each field's words put together."""
    found = {name: value for name, value in given.items() if "." not in name}
    for outer, kind in words.items():
        parts = {name.partition(".")[2]: one for name, one in given.items() if name.startswith(f"{outer}.")}
        found |= {outer: kind(**parts)} if parts else {}
    return found


def _argument(field: Field) -> Parameter:
    terms, read = _reader(field)
    metavar = field.name.rpartition("_")[2].upper()
    if terms.pop("multiple", False):
        terms, metavar = {"nargs": -1, **terms}, f"{metavar.removesuffix('S')}..."
    terms = {"metavar": metavar, **terms, "required": True}
    return Parameter(field.name, metavar, click.argument(field.name, **terms), read, False)


def _choice(field: Field, option: str, called: Mapping[str, str], reader: Reader) -> Parameter:
    """The option of a field; where its description names another field, the help names that one's option."""
    assert field.prose, f"{field.name}: an option has a description"
    (told, read), dest = reader, field.name.replace(".", "__")
    terms = dict(told)
    prose = FIELD_NAME.sub(lambda found: called.get(found[1], found[0]), field.prose.removeprefix(NOT))
    more = (AGO if field.reads == WHEN else "") + (REPEATED if "multiple" in terms else "")
    terms["help"] = f"{prose[0].upper()}{prose[1:].removesuffix('.')}{more}."
    if terms.get("is_flag"):
        return Parameter(field.name, option, click.option(option, dest, **terms), read, False)
    word = option.removeprefix("--")
    terms = {"metavar": METAVARS.get(word, word.rpartition("-")[2].upper()), **terms}
    if field.default not in (None, "", 0):
        terms |= {"default": _typed(field), "show_default": True}
    declare = click.option(option, dest, required=field.required, **terms)
    return Parameter(field.name, option, declare, read, not terms.keys() & {"type", "multiple"})


def _option(field: Field) -> str:
    name = field.name.rpartition(".")[2]
    if field.reads == LENGTH:
        name = name.removesuffix("_s")
    if isinstance(field.kind, inspect.ListType):
        name = name.removesuffix("s")
    if isinstance(field.kind, inspect.BoolType) and field.default is True:
        name = f"no_{name}"
    return f"--{name.replace('_', '-')}"


def _typed(field: Field) -> str:
    """The default, as it would be typed."""
    return format_duration(timedelta(seconds=field.default)) if field.reads == LENGTH else str(field.default)


def _reader(field: Field) -> Reader:
    """What click is told of a field, and how it is read."""
    if field.reads is not None:
        terms, read = READ[field.reads]
        return dict(terms), read
    match field.kind:
        case inspect.BoolType():
            return {"is_flag": True, "default": None}, lambda _, __, ___: field.default is not True
        case inspect.EnumType(cls=cls):
            values = [str(one.value) for one in cls]
            return _shown(values), lambda option, typed, _: cls(checked_choice(option, typed, values))
        case inspect.LiteralType(values=texts):
            words = [str(one) for one in texts]
            return _shown(words), lambda option, typed, _: checked_choice(option, typed, words)
        case inspect.IntType(ge=least, le=most, lt=below):
            most = below - 1 if below is not None else most
            within = click.IntRange(least, None if most == INTEGER_MAX else most)
            return {"type": within, "metavar": "N"}, _as_typed
        case inspect.ListType():
            return {"multiple": True}, lambda _, typed, __: list(typed)
        case inspect.DictType():
            return {"metavar": "JSON"}, lambda _, typed, __: read_payload(typed)
        case _:
            return {}, _as_typed


def _shown(values: Collection[str]) -> dict[str, Any]:
    return {"metavar": f"[{'|'.join(values)}]"} if len(values) <= CHOICES_SHOWN_MAX else {}


def _as_typed(_: str, typed: Any, __: str | None) -> Any:
    return typed


READ: dict[str, Reader] = {
    WHEN: ({"metavar": "TIME"}, read_when),
    WHEN_OR_AFTER: ({"metavar": "WHEN"}, read_when),
    MOMENT: ({"metavar": "TIME"}, read_instant),
    LENGTH: (
        {"metavar": "DURATION"},
        lambda option, typed, _: read_duration(option, typed).total_seconds(),
    ),
}


pairs_option = click.option(
    "--filter",
    "pairs",
    metavar="NAME=VALUE",
    multiple=True,
    help="One of these as a pair, such as job=send; may be repeated.",
)


def _paired(parameters: Collection[Parameter], pairs: Collection[str]) -> dict[str, str]:
    """What was given as pairs, by the names of the options."""
    known = {one.option.removeprefix("--"): one.field for one in parameters if one.paired}
    found: dict[str, str] = {}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not equals or not value:
            raise UsageError(f"--filter {pair}: expected name=value, such as job=send")
        found[known[checked_choice("--filter", name, list(known))]] = value
    return found
