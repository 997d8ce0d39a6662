"""The scripts: each a `.lua` file of this package, run together with `master.lua`, which comes first."""

from __future__ import annotations

import hashlib
from dataclasses import field
from importlib import resources

from fencepost.model.dataclasses import dataclass


@dataclass(frozen=True)
class Script:
    """What to run, and the name under which a server remembers it."""

    text: str
    digest: str = field(init=False)

    def __post_init__(self) -> None:
        digest = hashlib.sha1(self.text.encode(), usedforsecurity=False).hexdigest()
        object.__setattr__(self, "digest", digest)


def load_script(name: str) -> Script:
    """The script of that name, which answers on a master only."""
    return Script(_text("master") + _text(name))


def _text(name: str) -> str:
    return resources.files(__package__).joinpath(f"{name}.lua").read_text("utf-8")


ACQUIRE = load_script("acquire")
RENEW = load_script("renew")
RELEASE = load_script("release")
READ = load_script("read")
CHECK = load_script("check")
