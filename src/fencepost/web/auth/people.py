"""People who sign in at a provider, as the way in sees them; `oidc/` has the provider's side."""

from __future__ import annotations

from fencepost.model.access import Role
from fencepost.model.dataclasses import dataclass
from fencepost.model.identifiers import Namespace


@dataclass(frozen=True)
class Person:
    """Who has signed in, what they may do here, and where they want to go."""

    name: str
    role: Role
    namespace: Namespace
    known_by: str
    """`oidc:SUBJECT@HOST`: the person at that provider, whatever they are called."""
    there: str


class SignInRefused(Exception):
    """This person does not come in; the text says why, and what to do."""


class SignInTrouble(Exception):
    """The provider could not be asked; the text says why, and what to do."""
