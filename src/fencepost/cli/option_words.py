"""How commands speak of the words of a trigger or a calendar: by the options that stand for them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from fencepost.errors import InvalidTrigger, SearchExhausted, UsageError


class OptionWords:
    """Names a word by its option, or as the command that has no such option calls it."""

    def __init__(self, names: Mapping[str, str] | None = None) -> None:
        self._names = names or {}

    def called(self, key: str) -> str:
        """`--at-time` for `at_time`."""
        return self._names.get(key) or f"--{key.replace('_', '-')}"

    @contextmanager
    def blaming(self, key: str) -> Iterator[None]:
        """Name the option in whatever is refused within; what has no option names itself."""
        try:
            yield
        except UsageError as error:
            if not key or key in self._names:
                raise
            # A search that was cut carries more than its line; here the line alone counts.
            kind = InvalidTrigger if isinstance(error, SearchExhausted) else type(error)
            raise kind(f"{self.called(key)}: {error}") from None
