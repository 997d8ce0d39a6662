"""The JSON of audits and stories. The names in it are promises."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fencepost.cli.shapes import moment, run_json
from fencepost.core.accounting import Account, Finding, Kind, Report
from fencepost.core.story import Story
from fencepost.model.identifiers import RunKey
from fencepost.model.run import RunState
from fencepost.services.accounting import StuckRun


def report_json(report: Report, repaired: Sequence[RunKey]) -> dict[str, Any]:
    """An audit: all schedules together, then each."""
    succeeded = sum(one.succeeded for one in report.accounts)
    return {
        "since": moment(report.since),
        "until": moment(report.until),
        "expected": report.expected,
        "accounted": report.accounted,
        "succeeded": succeeded,
        "run_completeness": _share(report.accounted, report.expected),
        "success_share": _share(succeeded, report.expected),
        "faults": report.faults,
        "counts": {str(kind): report.counts.get(kind, 0) for kind in Kind},
        "repaired": list(repaired),
        "schedules": [account_json(one) for one in report.accounts],
    }


def account_json(account: Account) -> dict[str, Any]:
    """One schedule; what is before `forgotten_before` was not judged, null where all of it was."""
    return {
        "schedule_id": account.schedule_id,
        "since": moment(account.since),
        "until": moment(account.until),
        "forgotten_before": moment(account.forgotten_before),
        "expected": account.expected,
        "accounted": account.accounted,
        "succeeded": account.succeeded,
        "run_completeness": account.run_completeness,
        "success_share": account.success_share,
        "states": {str(state): account.states.get(state, 0) for state in RunState},
        "counts": {str(kind): account.counts.get(kind, 0) for kind in Kind},
        "findings": [_finding_json(one) for one in account.findings],
        "cut": account.cut,
        "notes": list(account.notes),
    }


def story_json(story: Story) -> dict[str, Any]:
    """Why a tick ran or did not."""
    return {
        "schedule_id": story.schedule_id,
        "fire_time": moment(story.fire_time),
        "verdict": str(story.verdict),
        "sentences": list(story.sentences),
        "mends": list(story.mends),
        "run_keys": list(story.run_keys),
    }


def stuck_json(stuck: StuckRun) -> dict[str, Any]:
    """A run that does not get on."""
    return {"why": stuck.why, "age_s": stuck.age.total_seconds(), **run_json(stuck.run)}


def _finding_json(finding: Finding) -> dict[str, Any]:
    return {
        "kind": str(finding.kind),
        "fire_time": moment(finding.fire_time),
        "version": finding.version,
        "run_keys": list(finding.run_keys),
        "words": finding.words,
    }


def _share(part: int, whole: int) -> float:
    return part / whole if whole else 1.0
