"""Fingerprints: what the effect of each attempt of a run was, so that a run that is repeated can be compared.

An attempt has one fingerprint: a digest of the whole text, and the beginning of the text for people. It is
kept among the recorded steps of the run, under a name that no step can have. So it is fenced, outlives the
attempt and is removed with the steps. Secrets are masked before the text is digested, because a digest of a
short secret gives the secret away.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from itertools import pairwise

from fencepost.errors import StepRefused
from fencepost.model.dataclasses import dataclass
from fencepost.model.quoting import quoted
from fencepost.model.text import cleaned

TEXT_LENGTH_MAX = 500
PREFIX = "\x1ffingerprint/"
"""No step has such a name: it cannot be shown."""


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """What the effect of one attempt was."""

    attempt: int
    digest: str
    text: str
    """The beginning of what was digested."""


def fingerprint_of(attempt: int, effect: str) -> Fingerprint:
    """Of an effect in the job's own words, without secrets."""
    text = cleaned(effect)
    return Fingerprint(attempt, hashlib.sha256(text.encode()).hexdigest(), text[:TEXT_LENGTH_MAX])


def step_of(fingerprint: Fingerprint) -> tuple[str, str]:
    """The name and the result of the step that keeps it."""
    kept = {"digest": fingerprint.digest, "text": fingerprint.text}
    return f"{PREFIX}{fingerprint.attempt}", json.dumps(kept)


def is_fingerprint(step: str) -> bool:
    """Whether a recorded step is one of these."""
    return step.startswith(PREFIX)


def fingerprints(recorded: Mapping[str, str]) -> list[Fingerprint]:
    """Those among the recorded steps of a run, by attempt."""
    found = [_read(name, result) for name, result in recorded.items() if is_fingerprint(name)]
    return sorted(found, key=lambda one: one.attempt)


def check_single(fingerprint: Fingerprint, standing: Fingerprint) -> None:
    """An attempt has one fingerprint; a second that differs is refused."""
    if fingerprint.digest != standing.digest:
        raise StepRefused(
            f"run.fingerprint: attempt {fingerprint.attempt} has one already, {quoted(standing.text)}; make "
            "one text of all its effects"
        )


def why_differing(found: Sequence[Fingerprint]) -> str | None:
    """The last two attempts next to each other whose effects were not the same; None where all were."""
    differing = [(one, other) for one, other in pairwise(found) if one.digest != other.digest]
    if not differing:
        return None
    one, other = differing[-1]
    words = f'attempt {one.attempt}: "{one.text}", attempt {other.attempt}: "{other.text}"'
    return words if one.text != other.text else f"{words}; they differ behind that"


def _read(name: str, result: str) -> Fingerprint:
    return Fingerprint(int(name.removeprefix(PREFIX)), **json.loads(result))
