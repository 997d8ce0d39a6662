"""Effects: what the world saw is what the ledger granted, and a sink that looks at fences takes nothing old.

The naive sink does all that it is asked to: each effect there is that of one granted attempt, one each at the
most. Success is never claimed without its effect. The fenced sink keeps one fence for each schedule, or for
each run by hand: what it takes never falls, and what it refuses was older.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator

from fencepost.model.run import RunRecord, RunState
from tests.history.findings import Kind, Looked, bounded
from tests.history.model import Effect, History, Violation
from tests.history.moves import is_replay

NEEDS = frozenset({"changes", "effects", "jobs"})
UNGRANTED = Kind("effects", "of an attempt that was never granted")
REPEATED = Kind("effects", "twice by one attempt")
TWICE = Kind("effects", "twice although at most once")
MISSING = Kind("effects", "succeeded without its effect")
TAKEN_OLD = Kind("effects", "the fenced sink took an older fence")
REFUSED_NEW = Kind("effects", "the fenced sink refused what was not older")
KINDS = (UNGRANTED, REPEATED, TWICE, MISSING, TAKEN_OLD, REFUSED_NEW)

Grant = tuple[str, int, int]
"""Key, attempt and fence."""


@bounded
def check(history: History, looked: Looked) -> Iterator[Violation]:
    """See the module."""
    looked["effects"] += len(history.effects)
    rounds: dict[Grant, int] = {}
    sinks: dict[str, str] = {}
    once: set[str] = set()
    written: Counter[str] = Counter()
    for change in history.changes:
        run = change.run
        if change.before is None or is_replay(change):
            written[run.run_key] += 1
        if not change.starts:
            continue
        rounds[run.run_key, run.attempt, run.fence] = written[run.run_key]
        sinks[run.run_key] = run.schedule_id or run.run_key
        job = history.jobs.get(run.job)
        if job is not None and job.at_most_once:
            once.add(run.run_key)
    yield from _check_naive(history.effects, rounds, once)
    yield from _check_fenced(history.effects, sinks)
    yield from _check_successes(history, looked)


def _check_naive(effects: list[Effect], rounds: dict[Grant, int], once: set[str]) -> Iterator[Violation]:
    seen: Counter[Grant] = Counter()
    by_round: dict[tuple[str, int], set[Grant]] = defaultdict(set)
    for one in effects:
        grant = one.key, one.attempt, one.fence
        seen[grant] += 1
        if grant not in rounds:
            yield UNGRANTED.found(one)
            continue
        if seen[grant] == 2:
            yield REPEATED.found(one)
        if one.key in once:
            this = by_round[one.key, rounds[grant]]
            this.add(grant)
            if len(this) == 2 and seen[grant] == 1:
                yield TWICE.found(one)


def _check_fenced(effects: list[Effect], sinks: dict[str, str]) -> Iterator[Violation]:
    newest: dict[str, int] = {}
    for one in effects:
        sink = sinks.get(one.key, one.key)
        known = newest.get(sink, 0)
        if one.taken_by_fenced and one.fence < known:
            yield TAKEN_OLD.found(f"{one} after fence {known}")
        elif not one.taken_by_fenced and one.fence >= known:
            yield REFUSED_NEW.found(f"{one}, the newest was {known}")
        if one.taken_by_fenced:
            newest[sink] = max(known, one.fence)


def _is_done_elsewhere(history: History, run: RunRecord) -> bool:
    """Whether a processor does it: see `messages`."""
    job = history.jobs.get(run.job)
    return job is not None and job.message is not None


def _check_successes(history: History, looked: Looked) -> Iterator[Violation]:
    done = {(one.key, one.attempt, one.fence) for one in history.effects}
    for change in history.changes:
        before, after = change.before, change.after
        if after is None or after.state is not RunState.SUCCEEDED:
            continue
        if before is not None and before.state is RunState.SUCCEEDED:
            continue
        if change.at > history.effects_seen_through or _is_done_elsewhere(history, after):
            continue
        looked["successes"] += 1
        if (after.run_key, after.attempt, after.fence) not in done:
            yield MISSING.found(f"{after.run_key}, attempt {after.attempt}, fence {after.fence}")
