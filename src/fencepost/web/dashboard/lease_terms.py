"""Who led which shard when, as a picture: a row for each shard, a bar for each term."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta

from markupsafe import Markup

from fencepost.model.leader import Term
from fencepost.web.dashboard.charts.timeline import Stretch, timeline
from fencepost.web.dashboard.tell import Tell, span

COLOURS = 6


def colours_of(terms: Sequence[Term]) -> Mapping[str, int]:
    """A colour for each holder, the latest first; where there are more holders than colours they are
    shared, and the words in the bars tell them apart."""
    holders = dict.fromkeys(str(one.holder) for one in terms)
    return {holder: number % COLOURS for number, holder in enumerate(holders)}


def terms_chart(
    terms: Sequence[Term], shards: Sequence[int], begin: datetime, tell: Tell, colours: Mapping[str, int]
) -> Markup:
    """The terms of these shards since then, up to now."""
    rows = [
        Stretch(
            f"shard {shard}",
            max(one.since, begin),
            one.until or tell.now,
            f"holder-{colours[str(one.holder)]}",
            _title(one, tell),
            f"{one.holder} · epoch {one.epoch}",
        )
        for shard in shards
        for one in sorted(terms, key=lambda term: term.number)
        if one.shard == shard and (one.until is None or one.until > begin)
    ]
    label = f"Who led shards {shards[0]} to {shards[-1]} since {tell.words(begin)}" if shards else "No shards"
    return timeline(rows, begin, tell.now, label, _scale(tell, begin))


def _title(one: Term, tell: Tell) -> str:
    ended = "until now" if one.until is None else f"until {tell.words(one.until)}"
    length = span(((one.until or tell.now) - one.since).total_seconds())
    return f"shard {one.shard}: {one.holder}, epoch {one.epoch}, {tell.words(one.since)} {ended} ({length})"


def _scale(tell: Tell, begin: datetime) -> Callable[[datetime], str]:
    def clock(moment: datetime) -> str:
        local = moment.astimezone(tell.zone)
        long = tell.now - begin > timedelta(days=1)
        return f"{local.day} {local:%b %H:%M}" if long else f"{local:%H:%M}"

    return clock
