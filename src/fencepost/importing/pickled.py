"""The content of a pickle, without running it.

To load a pickle is to run it: it names functions, and the loader calls them. This reader calls nothing. It
walks the codes with `pickletools`, which only takes them apart. A name of a function or a class stays a
`Name`, and a call stays a `Made` that says what would have been called with what. Of that, the readers below
understand the few shapes in which dates, lengths of time and zones are written, and refuse all others. Only
the codes that such values need are known, so that a pickle can neither name nor build anything else.
"""

from __future__ import annotations

import pickletools
from base64 import b64decode
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta, timezone, tzinfo
from typing import Any, TypeVar

from fencepost.errors import InvalidSpec
from fencepost.triggers import zone

T = TypeVar("T")

BYTES_MAX = 64 * 1024
CODES_MAX = 3_000
UNREADABLE = "a pickled value of a kind that is not read; Fencepost never loads pickles, since that runs code"


@dataclass(frozen=True)
class Name:
    """The name of a function or a class."""

    module: str
    name: str


@dataclass(eq=False)
class Made:
    """What a call would have made."""

    maker: object
    arguments: tuple[object, ...]
    state: dict[str, object] = field(default_factory=dict)


def read_pickle(encoded: str) -> object:
    """The value behind a pickle in base64, with names and calls left as they stand."""
    if len(encoded) > BYTES_MAX:
        raise InvalidSpec(UNREADABLE)
    machine = _Machine()
    try:
        for count, (code, argument, _) in enumerate(pickletools.genops(b64decode(encoded, validate=True))):
            if count > CODES_MAX:
                raise InvalidSpec(UNREADABLE)
            machine.step(code.name, argument)
        return machine.result()
    except (ValueError, TypeError, LookupError):
        raise InvalidSpec(UNREADABLE) from None


def made(value: object, module: str, name: str) -> tuple[object, ...] | None:
    """The arguments of a call of that name, None where it is anything else."""
    if isinstance(value, Made) and isinstance(value.maker, Name):
        return value.arguments if (value.maker.module, value.maker.name) == (module, name) else None
    return None


def zone_of(value: object) -> str:
    """The name of a zone: of `zoneinfo`, of `pytz`, or UTC itself."""
    if made(value, "pytz", "_UTC") is not None:
        return "UTC"
    if isinstance(value, Made) and made(value.maker, "builtins", "getattr") == (_ZONE_INFO, "_unpickle"):
        return _zone_name(value.arguments)
    if (arguments := made(value, "pytz", "_p")) is not None:
        return _zone_name(arguments)
    if (arguments := made(value, "datetime", "timezone")) is not None and not _offset(arguments):
        return "UTC"
    raise InvalidSpec("its zone has no name that is read; give the trigger a zone such as Europe/Berlin")


def length_of(value: object) -> timedelta:
    """A length of time."""
    match made(value, "datetime", "timedelta"):
        case (int(days), int(seconds), int(microseconds)):
            try:
                return timedelta(days, seconds, microseconds)
            except OverflowError:
                pass
    raise InvalidSpec(UNREADABLE)


def date_of(value: object) -> date:
    """A day."""
    match made(value, "datetime", "date"):
        case (bytes(packed),) if len(packed) == 4:
            return _checked(lambda: date(packed[0] << 8 | packed[1], packed[2], packed[3]))
    raise InvalidSpec(UNREADABLE)


def moment_of(value: object) -> datetime:
    """An instant, in UTC."""
    match made(value, "datetime", "datetime"):
        case (bytes(packed), place) if len(packed) == 10:
            return _checked(lambda: _unpacked(packed, _tzinfo(place)).astimezone(UTC))
    raise InvalidSpec(UNREADABLE)


_ZONE_INFO = Name("zoneinfo", "ZoneInfo")
_MARK = object()


class _Machine:
    """The stack on which a pickle puts its values together."""

    def __init__(self) -> None:
        self._stack: list[object] = []
        self._memo: dict[int, object] = {}

    def step(self, code: str, argument: Any) -> None:
        if code in _IGNORED:
            return
        if code in _LITERALS:
            self._stack.append(argument)
        elif code in _CONSTANTS:
            self._stack.append(_CONSTANTS[code]())
        elif code in _STEPS:
            _STEPS[code](self, argument)
        else:
            raise InvalidSpec(UNREADABLE)

    def result(self) -> object:
        (value,) = self._stack
        return value

    def remember(self, place: int | None) -> None:
        self._memo[len(self._memo) if place is None else place] = self._stack[-1]

    def recall(self, place: int) -> None:
        self._stack.append(self._memo[place])

    def gather(self, count: int | None) -> None:
        """A tuple of the last `count` values, or of those since the mark."""
        values = self._since_mark() if count is None else [self._stack.pop() for _ in range(count)][::-1]
        self._stack.append(tuple(values))

    def extend(self, count: int | None) -> None:
        values = self._since_mark() if count is None else [self._stack.pop()]
        target = self._stack[-1]
        if not isinstance(target, list):
            raise InvalidSpec(UNREADABLE)
        target.extend(values)

    def put(self, count: int | None) -> None:
        values = self._since_mark() if count is None else [self._stack.pop() for _ in range(2)][::-1]
        target = self._stack[-1]
        if not isinstance(target, dict) or not all(isinstance(name, str) for name in values[::2]):
            raise InvalidSpec(UNREADABLE)
        target.update(zip(values[::2], values[1::2], strict=True))

    def name(self, words: str | None) -> None:
        module, name = words.split(" ") if words is not None else [self._stack.pop() for _ in range(2)][::-1]
        if not isinstance(module, str) or not isinstance(name, str):
            raise InvalidSpec(UNREADABLE)
        self._stack.append(Name(module, name))

    def make(self, _: None) -> None:
        arguments, maker = self._stack.pop(), self._stack.pop()
        if not isinstance(arguments, tuple):
            raise InvalidSpec(UNREADABLE)
        self._stack.append(Made(maker, arguments))

    def shape(self, _: None) -> None:
        state, target = self._stack.pop(), self._stack[-1]
        if not isinstance(target, Made) or not isinstance(state, dict):
            raise InvalidSpec(UNREADABLE)
        target.state = state

    def _since_mark(self) -> list[object]:
        place = max(at for at, value in enumerate(self._stack) if value is _MARK)
        values = self._stack[place + 1 :]
        del self._stack[place:]
        return values


_IGNORED = frozenset({"PROTO", "FRAME", "STOP"})
_LITERALS = frozenset(
    {"SHORT_BINUNICODE", "BINUNICODE", "SHORT_BINBYTES", "BINBYTES", "BININT", "BININT1", "BININT2", "LONG1"}
)
_CONSTANTS: dict[str, Callable[[], object]] = {
    "NONE": lambda: None,
    "NEWTRUE": lambda: True,
    "NEWFALSE": lambda: False,
    "EMPTY_TUPLE": tuple,
    "EMPTY_LIST": list,
    "EMPTY_DICT": dict,
    "MARK": lambda: _MARK,
}
_STEPS: dict[str, Callable[[_Machine, Any], None]] = {
    "MEMOIZE": lambda machine, _: machine.remember(None),
    "BINPUT": _Machine.remember,
    "BINGET": _Machine.recall,
    "TUPLE": lambda machine, _: machine.gather(None),
    "TUPLE1": lambda machine, _: machine.gather(1),
    "TUPLE2": lambda machine, _: machine.gather(2),
    "TUPLE3": lambda machine, _: machine.gather(3),
    "APPEND": lambda machine, _: machine.extend(1),
    "APPENDS": lambda machine, _: machine.extend(None),
    "SETITEM": lambda machine, _: machine.put(1),
    "SETITEMS": lambda machine, _: machine.put(None),
    "GLOBAL": _Machine.name,
    "STACK_GLOBAL": _Machine.name,
    "REDUCE": _Machine.make,
    "NEWOBJ": _Machine.make,
    "BUILD": _Machine.shape,
}


def _zone_name(arguments: tuple[object, ...]) -> str:
    return zone(arguments[0] if arguments else None).key


def _tzinfo(place: object) -> tzinfo:
    offset = made(place, "datetime", "timezone")
    return zone(zone_of(place)) if offset is None else timezone(_offset(offset))


def _offset(arguments: tuple[object, ...]) -> timedelta:
    return length_of(arguments[0] if arguments else None)


def _unpacked(packed: bytes, place: tzinfo) -> datetime:
    """The ten bytes in which Python packs a time; the month carries the fold."""
    month, fold = packed[2] & 0x7F, packed[2] >> 7
    microsecond = int.from_bytes(packed[7:], "big")
    year = int.from_bytes(packed[:2], "big")
    day, hour, minute, second = packed[3:7]
    return datetime(year, month, day, hour, minute, second, microsecond, place, fold=fold)


def _checked(make: Callable[[], T]) -> T:
    try:
        return make()
    except (ValueError, OverflowError):
        raise InvalidSpec(UNREADABLE) from None
