"""From words to a schedule's spec, and from one spec to the next. Everybody who says what a schedule is comes
by here: the API, and the command line with its options; each is told by its own names, through a `Voice`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime
from typing import Any, TypeVar

import msgspec
from msgspec import UNSET, UnsetType

from fencepost.core.masking import unmasked
from fencepost.errors import InvalidTrigger, SearchExhausted, UsageError
from fencepost.model.durations import parse_duration
from fencepost.model.identifiers import JobName, Queue, checked_name
from fencepost.model.json import JsonObject
from fencepost.model.policies import LATENESS_DEFAULT, CatchUp, GateTerms, parse_overlap
from fencepost.model.schedule import ScheduleSpec
from fencepost.model.stretch import Stretch, parse_stretch
from fencepost.operations.schedule_words import (
    NONE,
    CatchUpWords,
    GateWords,
    PlainWords,
    ScheduleWords,
    WindowWords,
)
from fencepost.triggers.rewording import changed_trigger, limited_trigger, new_trigger, trigger_of_form
from fencepost.triggers.wording import Voice, Window, Words, build

T = TypeVar("T")

NAMES = {
    "at_time": "time",
    "gap": "dst.gap",
    "fold": "dst.fold",
    "gate": "catch_up.gate",
    "max_lateness": "catch_up.max_lateness",
}
TAKEN = ("cron", "every", "rrule", "business_day", "calendar", "tz", "anchor")


class WordVoice:
    """Names a word as the document does."""

    def called(self, key: str) -> str:
        """As `Voice`."""
        return NAMES.get(key, key)

    @contextmanager
    def blaming(self, key: str) -> Iterator[None]:
        """As `Voice`."""
        try:
            yield
        except UsageError as error:
            if not key:
                raise
            # A search that was cut carries more than its line; here the line alone counts.
            kind = InvalidTrigger if isinstance(error, SearchExhausted) else type(error)
            raise kind(f"{self.called(key)}: {error}") from None


WORD_VOICE = WordVoice()


def new_spec(words: ScheduleWords, now: datetime, voice: Voice = WORD_VOICE) -> ScheduleSpec:
    """The spec of a new schedule."""
    if words.job is UNSET:
        raise UsageError(f"{voice.called('job')} is missing: say what is to run")
    spec = ScheduleSpec(
        job=JobName(words.job),
        trigger=_new_trigger(words, voice),
        payload={} if words.payload is UNSET else words.payload or {},
        overlap=parse_overlap(_said(words.overlap, "skip")),
        catch_up=_catch_up(words, CatchUp(), voice),
        queue=_queue(words, None),
        priority=_said(words.priority, None),
        labels={key: value for key, value in _said(words.labels, {}).items() if value is not None},
        spread=_stretch("spread", words.spread, None, voice),
        jitter=_stretch("jitter", words.jitter, None, voice),
    )
    return _limited(spec, words, now, voice)


def changed_spec(
    spec: ScheduleSpec, words: ScheduleWords, now: datetime, voice: Voice = WORD_VOICE
) -> ScheduleSpec:
    """The spec with what was given instead."""
    labels = {**spec.labels, **_said(words.labels, {})}
    changed = replace(
        spec,
        job=JobName(_said(words.job, spec.job)),
        trigger=_changed_trigger(spec.trigger, words, voice),
        payload=_payload(words, spec.payload),
        overlap=spec.overlap if words.overlap is UNSET else parse_overlap(words.overlap),
        catch_up=_catch_up(words, spec.catch_up, voice),
        queue=_queue(words, spec.queue),
        priority=_said(words.priority, spec.priority),
        labels={key: value for key, value in labels.items() if value},
        spread=_stretch("spread", words.spread, spec.spread, voice),
        jitter=_stretch("jitter", words.jitter, spec.jitter, voice),
    )
    return _limited(changed, words, now, voice)


def _said(given: T | UnsetType, otherwise: T) -> T:
    return otherwise if given is UNSET else given


def _new_trigger(words: ScheduleWords, voice: Voice) -> JsonObject:
    if words.trigger is not UNSET:
        return trigger_of_form(words.trigger, _words(words, voice), voice).to_json()
    return new_trigger(_words(words, voice), voice).to_json()


def _changed_trigger(old: JsonObject, words: ScheduleWords, voice: Voice) -> JsonObject:
    if words.trigger is not UNSET:
        return trigger_of_form(words.trigger, _words(words, voice), voice).to_json()
    return changed_trigger(old, _words(words, voice), voice, counted=words.max_runs is UNSET)


def _words(words: ScheduleWords, voice: Voice) -> Words:
    windows = _said(words.outside, [])
    return replace(
        _plain(words),
        start=_or_none(words.start),
        end=_or_none(words.end),
        outside=() if words.outside is UNSET else tuple(_window(one, voice) for one in windows or ()) or None,
    )


def _plain(words: PlainWords) -> Words:
    dst = _said(words.dst, None)
    given = {name: _said(getattr(words, name), None) for name in TAKEN}
    return Words(
        **given,
        at=_several(words.at),
        at_time=_several(words.time),
        on_business_days=_or_none(words.on_business_days),
        gap=None if dst is None else _said(dst.gap, None),
        fold=None if dst is None else _said(dst.fold, None),
    )


def _window(words: WindowWords, voice: Voice) -> Window:
    with voice.blaming("outside"):
        return Window(build(_plain(words), WORD_VOICE), words.lasts)


def _several(given: str | list[str] | UnsetType) -> tuple[str, ...]:
    return () if given is UNSET else (given,) if isinstance(given, str) else tuple(given)


def _or_none(given: str | UnsetType | None) -> str | None:
    """A layer that is null is taken away, as one that is `none`."""
    return None if given is UNSET else given or NONE


def _limited(spec: ScheduleSpec, words: ScheduleWords, now: datetime, voice: Voice) -> ScheduleSpec:
    """The spec with as many runs as were given, counted from its start or from now, whichever is later."""
    if words.max_runs is UNSET:
        return spec
    count = words.max_runs if isinstance(words.max_runs, int) else None
    return replace(spec, trigger=limited_trigger(spec.trigger, count, now, voice))


def _catch_up(words: ScheduleWords, old: CatchUp, voice: Voice) -> CatchUp:
    """A lateness that nobody chose follows the mode."""
    said = CatchUpWords() if words.catch_up is UNSET else words.catch_up
    given = CatchUpWords(mode=said) if isinstance(said, str) else said
    mode, gate = _said(given.mode, old.words), _gate(given.gate, old.gate)
    if given.max_lateness is not UNSET:
        with voice.blaming("max_lateness"):
            lateness = parse_duration(given.max_lateness)
        return CatchUp(mode, lateness, gate)
    chosen = old.max_lateness != LATENESS_DEFAULT[old.mode]
    return CatchUp(mode, old.max_lateness if chosen else None, gate)


def _gate(given: GateWords | str | UnsetType | None, old: GateTerms) -> GateTerms:
    """Terms that are left out are as usual, not as they were."""
    if given is UNSET:
        return old
    terms: dict[str, Any] = msgspec.to_builtins(given) if isinstance(given, GateWords) else {}
    return GateTerms(**terms)


def _payload(words: ScheduleWords, old: JsonObject) -> JsonObject:
    """What is still masked, as whoever changed the rest was shown it, stays as it was."""
    if words.payload is UNSET:
        return old
    return unmasked(words.payload or {}, old)


def _queue(words: ScheduleWords, old: Queue | None) -> Queue | None:
    if words.queue is UNSET:
        return old
    return None if words.queue is None else Queue(checked_name("queue", words.queue))


def _stretch(
    key: str, given: str | float | UnsetType | None, old: Stretch | None, voice: Voice
) -> Stretch | None:
    if given is UNSET:
        return old
    if given is None or given == NONE:
        return None
    with voice.blaming(key):
        return parse_stretch(given)
