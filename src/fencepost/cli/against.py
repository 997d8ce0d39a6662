"""`fencepost audit --against`: the keys that another system has, held against the ledger.

Both directions are looked at a batch at a time: the ledger judges each key of the list, and each run that
succeeded is looked for in the list.
"""

from __future__ import annotations

from collections import Counter
from datetime import datetime

import click
from msgspec import Struct, field
from msgspec.structs import replace

from fencepost.cli.calling import Caller, calling
from fencepost.cli.key_list import KeyList, ListedKey, key_list
from fencepost.cli.options import Place
from fencepost.cli.output import print_table
from fencepost.cli.progress import Progress, Tally
from fencepost.model.run import RunState
from fencepost.model.times import from_utc_text, to_utc_text
from fencepost.operations.paging import LIMIT_MAX
from fencepost.operations.reconciling import KEYS_MAX, CompareKeysRequest, judge_keys
from fencepost.operations.responses.accounts import KeyResponse
from fencepost.operations.runs import ListRunsRequest, list_runs

REPEATED, WITHOUT_RUN, WITHOUT_EFFECT = "repeated", "without_run", "without_effect"
KINDS = (REPEATED, WITHOUT_RUN, WITHOUT_EFFECT)
NOT_JUDGED = ("outside", "forgotten")
KEPT_MAX = 1_000
SHOWN_MAX = 100
NOT_IN_LIST = "its run succeeded, and the list does not have it"


class Difference(Struct, kw_only=True):
    """A key on which the list and the ledger differ, with the lines of the list that have it."""

    kind: str
    run_key: str
    lines: list[int]
    words: str


class Comparison(Struct, kw_only=True):
    """What came of it. All differences are counted by kind, the first of each are kept."""

    since: str
    until: str
    schedule: str | None
    job: str | None
    rows: int
    """Of the list."""
    keys: int
    """Different ones."""
    verdicts: dict[str, int] = field(default_factory=dict)
    succeeded: int = 0
    """Runs of the ledger within the bounds."""
    faults: int = 0
    counts: dict[str, int] = field(default_factory=lambda: dict.fromkeys(KINDS, 0))
    findings: list[Difference] = field(default_factory=list)
    cut: bool = False

    def find(self, kind: str, run_key: str, lines: list[int], words: str) -> None:
        """One more difference."""
        self.faults += 1
        self.counts[kind] += 1
        if self.counts[kind] <= KEPT_MAX:
            self.findings.append(Difference(kind=kind, run_key=run_key, lines=lines, words=words))
        else:
            self.cut = True


def compare(place: Place, path: str, column: str | None, request: CompareKeysRequest) -> Comparison:
    """Hold the list that a file has against the ledger, within the bounds that are asked for."""
    with key_list(path, column) as found, calling(place) as caller:
        bounds = caller.call(judge_keys, request)
        request = replace(request, since=bounds.since, until=bounds.until)
        report = Comparison(
            since=bounds.since,
            until=bounds.until,
            schedule=request.schedule,
            job=request.job,
            rows=found.rows,
            keys=len(found),
        )
        _judge_list(caller, found, request, report)
        _look_for_runs(caller, found, request, report)
    report.findings.sort(key=lambda one: (KINDS.index(one.kind), one.run_key))
    return report


def print_comparison(report: Comparison) -> None:
    """For people."""
    if report.findings:
        shown = report.findings[:SHOWN_MAX]
        rows = [(one.kind, one.run_key, ", ".join(map(str, one.lines)), one.words) for one in shown]
        print_table(("FINDING", "RUN", "LINES", "WHAT"), rows)
        if report.faults > len(rows):
            click.echo(f"and {report.faults - len(rows)} more; see --json")
        click.echo()
    verdicts = ", ".join(f"{number} {one}" for one, number in report.verdicts.items()) or "none"
    click.echo(f"from {report.since} to {report.until}: {report.succeeded} runs succeeded")
    click.echo(f"{report.keys} keys in {report.rows} rows: {verdicts}")
    found = ", ".join(f"{count} {kind}" for kind, count in report.counts.items() if count)
    click.echo(found or "no findings")


def _judge_list(caller: Caller, found: KeyList, request: CompareKeysRequest, report: Comparison) -> None:
    """Every key of the list, by the run that the ledger has under it."""
    verdicts: Counter[str] = Counter()
    with Progress(report.keys, "judging") as bar:
        for batch in found.batches(KEYS_MAX):
            answer = caller.call(judge_keys, replace(request, run_keys=[one.run_key for one in batch]))
            for listed, judged in zip(batch, answer.items, strict=True):
                verdicts[judged.verdict] += 1
                _judge(listed, judged, report)
            bar.reached(bar.value + len(batch))
    report.verdicts = dict(sorted(verdicts.items()))


def _judge(listed: ListedKey, judged: KeyResponse, report: Comparison) -> None:
    if judged.verdict in NOT_JUDGED:
        return
    lines = [listed.line] if listed.line_again is None else [listed.line, listed.line_again]
    if listed.times > 1:
        report.find(REPEATED, listed.run_key, lines, f"the list has it {listed.times} times")
    if judged.words is not None:
        report.find(WITHOUT_RUN, listed.run_key, lines, judged.words)


def _look_for_runs(caller: Caller, found: KeyList, request: CompareKeysRequest, report: Comparison) -> None:
    """Every run that succeeded, in the list."""
    until = to_utc_text(from_utc_text(report.until) + datetime.resolution)
    wanted = ListRunsRequest(
        schedule=request.schedule,
        job=request.job,
        state=RunState.SUCCEEDED,
        since=report.since,
        until=until,
        limit=LIMIT_MAX,
    )
    page = caller.call(list_runs, wanted)
    with Tally() as tally:
        while True:
            there = found.among([one.run_key for one in page.items])
            for one in page.items:
                if one.run_key not in there:
                    report.find(WITHOUT_EFFECT, one.run_key, [], NOT_IN_LIST)
            report.succeeded += len(page.items)
            tally.reached("succeeded", report.succeeded)
            if page.next is None:
                break
            page = caller.call(list_runs, replace(wanted, after=page.next))
