"""An error as text. User code may raise an error that cannot even be shown as text."""

from __future__ import annotations

import traceback

from fencepost.errors import RunFailure

PACKAGE = __file__.rpartition("model")[0]
LIBRARY = traceback.__file__.rpartition("traceback")[0]
OURS = (
    PACKAGE,
    *(f"{LIBRARY}{name}" for name in ("asyncio", "concurrent", "threading.py", "contextlib.py")),
)
THEIRS = f"{PACKAGE}demo"
"""The jobs of the demonstration stand for those of a user."""


def words_of(error: BaseException) -> str:
    """The class and the text of the error, on any number of lines."""
    name = type(error).__name__
    try:
        said = str(error)
    except BaseException:
        return f"{name}: (its text cannot be had)"
    return f"{name}: {said}" if said else name


def brief(error: BaseException) -> str:
    """The first line of a driver's error, or its name where it has no text."""
    lines = str(error).strip().splitlines()
    if lines:
        return lines[0].rstrip(".")
    return "no answer in time" if isinstance(error, TimeoutError) else type(error).__name__


def traceback_of(error: BaseException) -> str:
    """The traceback of the error through the user's code, without our frames and those of the event loop.
    Where only such frames are left, they are kept. A failure that our own kinds of work raise has no
    traceback."""
    try:
        told = traceback.TracebackException.from_exception(error)
        if _is_meant(error) and all(_is_ours(frame.filename) for frame in told.stack):
            return ""
        _shorten(told)
        return "".join(told.format())
    except BaseException:
        return "(its traceback cannot be had)"


def _is_meant(error: BaseException) -> bool:
    """Whether the error says everything itself, with no other error behind it."""
    alone = error.__cause__ is None and (error.__suppress_context__ or error.__context__ is None)
    return alone and isinstance(error, RunFailure)


def _shorten(told: traceback.TracebackException) -> None:
    """Leave out the frames that are ours, also those of the errors behind it and within it."""
    asked: list[traceback.TracebackException | None] = [told]
    seen: set[int] = set()
    while asked:
        one = asked.pop()
        if one is None or id(one) in seen:
            continue
        seen.add(id(one))
        kept = [frame for frame in one.stack if not _is_ours(frame.filename)]
        if kept:
            one.stack[:] = kept
        asked += [one.__cause__, one.__context__, *(one.exceptions or ())]


def _is_ours(filename: str) -> bool:
    return filename.startswith(OURS) and not filename.startswith(THEIRS)
