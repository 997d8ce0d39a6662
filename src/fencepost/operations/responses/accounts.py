"""Audits, explanations, and runs that do not get on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from msgspec import Meta, Struct

from fencepost.core.accounts import Account, AuditFinding, Kind, Report
from fencepost.core.explanation import Explanation
from fencepost.core.masking import masked_text
from fencepost.core.reconciling import JudgedKey
from fencepost.model.run import RunState
from fencepost.operations.paging import Next
from fencepost.operations.responses.runs import RunResponse, run_fields
from fencepost.operations.words import Moment, moment
from fencepost.services.accounting import StuckRun


class FindingResponse(Struct, kw_only=True):
    """One thing that somebody should know."""

    kind: Annotated[str, Meta(examples=["missing"])]
    fire_time: Moment
    version: int
    run_keys: Annotated[list[str], Meta(description="Of the runs, or the key that is missing.")]
    words: str


class AccountResponse(Struct, kw_only=True):
    """What became of the expected ticks of one schedule."""

    schedule_id: str
    since: Annotated[Moment, Meta(description="The range begins behind it.")]
    until: Moment
    forgotten_before: Annotated[
        Moment | None, Meta(description="What is before was not judged: retention may have removed it.")
    ]
    expected: int
    recorded: Annotated[
        int, Meta(description="How many have a run in whatever state, or were missed as a range.")
    ]
    due: Annotated[int, Meta(description="The expected without those that are planned for later.")]
    accounted: Annotated[int, Meta(description="How many have ended, however.")]
    succeeded: int
    run_completeness: Annotated[float, Meta(description="The share of the expected that succeeded.")]
    run_accounted: Annotated[float, Meta(description="The share of the due that have ended.")]
    success_share: Annotated[float, Meta(description="The same as `run_completeness`.")]
    states: Annotated[dict[str, int], Meta(description="The recorded ones, by the state of their run.")]
    counts: Annotated[dict[str, int], Meta(description="All findings, by kind.")]
    findings: Annotated[list[FindingResponse], Meta(description="The first of each kind.")]
    cut: Annotated[bool, Meta(description="Whether there were more findings than are told.")]
    notes: list[str]


class AuditResponse(Struct, kw_only=True):
    """An audit: all schedules together, then each."""

    since: Annotated[Moment, Meta(description="The range begins behind it.")]
    until: Moment
    expected: int
    recorded: int
    due: int
    accounted: int
    succeeded: int
    run_completeness: float
    run_accounted: float
    success_share: float
    faults: Annotated[int, Meta(description="All findings but that a tick began late.")]
    counts: Annotated[dict[str, int], Meta(description="All findings, by kind.")]
    repaired: Annotated[list[str], Meta(description="The keys of the ticks that were planned by name.")]
    schedules: list[AccountResponse]


class ExplanationResponse(Struct, kw_only=True):
    """Why a tick ran or did not."""

    schedule_id: Annotated[str | None, Meta(description="Null where the run was enqueued by hand.")]
    fire_time: Moment
    verdict: Annotated[str, Meta(examples=["skipped"])]
    sentences: Annotated[list[str], Meta(description="The explanation, in plain words.")]
    remedies: Annotated[list[str], Meta(description="What would change it.")]
    run_keys: list[str]


class KeyResponse(Struct, kw_only=True):
    """A key that another system has, and what it turns out to be."""

    run_key: str
    verdict: Annotated[str, Meta(examples=["without_run"])]
    words: Annotated[str | None, Meta(description="Why it should not be there, where that is so.")]


class KeysResponse(Struct, kw_only=True):
    """Keys that were judged, in the order in which they were given."""

    since: Annotated[Moment, Meta(description="Included in the range, as is `until`.")]
    until: Moment
    forgotten_before: Annotated[
        Moment | None,
        Meta(description="Unknown ticks before it were not judged: retention may have removed them."),
    ]
    items: list[KeyResponse]


class StuckRunResponse(RunResponse, kw_only=True):
    """A run that was started and does not get on."""

    why: str
    age_s: Annotated[float, Meta(description="For how long it has been running.")]


class StuckPage(Struct, kw_only=True):
    """Runs that do not get on, by job, the oldest first."""

    items: list[StuckRunResponse]
    next: Next


def report_response(report: Report, repaired: Sequence[str] = ()) -> AuditResponse:
    """An audit, and what was repaired after it."""
    succeeded = sum(one.succeeded for one in report.accounts)
    return AuditResponse(
        since=moment(report.since),
        until=moment(report.until),
        expected=report.expected,
        recorded=report.recorded,
        due=report.due,
        accounted=report.accounted,
        succeeded=succeeded,
        run_completeness=_share(succeeded, report.expected),
        run_accounted=_share(report.accounted, report.due),
        success_share=_share(succeeded, report.expected),
        faults=report.faults,
        counts={str(kind): report.counts.get(kind, 0) for kind in Kind},
        repaired=list(repaired),
        schedules=[account_response(one) for one in report.accounts],
    )


def account_response(account: Account) -> AccountResponse:
    """One schedule."""
    return AccountResponse(
        schedule_id=account.schedule_id,
        since=moment(account.since),
        until=moment(account.until),
        forgotten_before=moment(account.forgotten_before),
        expected=account.expected,
        recorded=account.recorded,
        due=account.due,
        accounted=account.accounted,
        succeeded=account.succeeded,
        run_completeness=account.run_completeness,
        run_accounted=account.run_accounted,
        success_share=account.run_completeness,
        states={str(state): account.states.get(state, 0) for state in RunState},
        counts={str(kind): account.counts.get(kind, 0) for kind in Kind},
        findings=[_finding_response(one) for one in account.findings],
        cut=account.cut,
        notes=list(account.notes),
    )


def explanation_response(explanation: Explanation) -> ExplanationResponse:
    """An explanation."""
    return ExplanationResponse(
        schedule_id=explanation.schedule_id,
        fire_time=moment(explanation.fire_time),
        verdict=str(explanation.verdict),
        sentences=[masked_text(one) for one in explanation.sentences],
        remedies=list(explanation.remedies),
        run_keys=list(explanation.run_keys),
    )


def key_response(judged: JudgedKey) -> KeyResponse:
    """A key that was judged."""
    words = None if judged.words is None else masked_text(judged.words)
    return KeyResponse(run_key=judged.run_key, verdict=str(judged.verdict), words=words)


def stuck_response(stuck: StuckRun) -> StuckRunResponse:
    """A run that does not get on."""
    return StuckRunResponse(**run_fields(stuck.run), why=stuck.why, age_s=stuck.age.total_seconds())


def _finding_response(finding: AuditFinding) -> FindingResponse:
    return FindingResponse(
        kind=str(finding.kind),
        fire_time=moment(finding.fire_time),
        version=finding.version,
        run_keys=list(finding.run_keys),
        words=finding.words,
    )


def _share(part: int, whole: int) -> float:
    return part / whole if whole else 1.0
