"""Secrets by reference: names that code registers, and where each of them is kept.

A payload names a secret (`secret:stripe`) and nothing else: only names that the application has registered
are known, so a payload never reaches an environment variable or a file of its own choice. The value is read
in the worker, right before the call, at every attempt: a rotated secret counts from the next one on. It is
never stored, and is masked in everything that Fencepost writes (`telemetry.secrets`).
"""

from __future__ import annotations

from collections.abc import Mapping
from difflib import get_close_matches

from fencepost.errors import InvalidSpec
from fencepost.model.identifiers import checked_name
from fencepost.model.secret import REFERENCE_PREFIX, Secret, is_reference
from fencepost.telemetry.secret_source import Source
from fencepost.telemetry.secrets import remember

SECRETS_MARK = "__fencepost_secrets__"
"""A job's function knows the secrets of its application, in a child process too."""


class Secrets:
    """The secrets of one application, by name."""

    def __init__(self) -> None:
        self._sources: dict[str, Source] = {}

    def register(self, name: str, source: str) -> None:
        """Let jobs have what is kept there under this name."""
        checked_name("secret", name)
        if not is_reference(str(source)):
            # What stands there instead may be the secret itself.
            raise InvalidSpec(
                f'secret {name}: expected where it is kept, "env:NAME" or "file:/path", not the secret'
            )
        if name in self._sources:
            raise InvalidSpec(f"secret {name}: defined twice")
        self._sources[name] = Source(source)

    def named(self, reference: object) -> Secret:
        """The secret that a payload names, without its value: only whether it is known."""
        return Secret(self._name(reference), "")

    def resolved(self, reference: object) -> Secret:
        """The secret that a payload names, read now."""
        name = self._name(reference)
        value = self._sources[name].read(name)
        remember(value)
        return Secret(name, value)

    def source(self, reference: object) -> Source:
        """Where the secret is kept that a text names."""
        try:
            return self._sources[self._name(reference)]
        except ValueError as error:
            raise InvalidSpec(f"secret: {error}") from None

    @property
    def names(self) -> tuple[str, ...]:
        """All that are registered."""
        return tuple(sorted(self._sources))

    def require(self, name: str) -> None:
        """Refuse a definition that names a secret which is not registered."""
        try:
            self._known(name)
        except ValueError as error:
            raise InvalidSpec(f"secret {name}: {error}") from None

    def values(self, wanted: Mapping[str, str]) -> dict[str, str]:
        """The values of secrets that code names, read now."""
        return {key: self.resolved(f"{REFERENCE_PREFIX}{name}").reveal() for key, name in wanted.items()}

    def _name(self, reference: object) -> str:
        """The registered name behind a reference. What is no reference may be a secret: it is not shown."""
        if not isinstance(reference, str) or not reference.startswith(REFERENCE_PREFIX):
            raise ValueError(f"expected a reference such as {REFERENCE_PREFIX}stripe, not the secret itself")
        return self._known(reference.removeprefix(REFERENCE_PREFIX))

    def _known(self, name: str) -> str:
        if name in self._sources:
            return name
        near = get_close_matches(name, list(self._sources), n=1)
        known = ", ".join(self._sources) or "none"
        hint = f"did you mean {near[0]}?" if near else f"registered: {known}"
        raise ValueError(f"no secret of that name is registered in this application; {hint}")


def secrets_of(function: object) -> Secrets:
    """The secrets of the application that a function is a job of."""
    found = getattr(function, SECRETS_MARK, None)
    return found if isinstance(found, Secrets) else Secrets()
