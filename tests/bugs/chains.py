"""Bugs in what follows the end of a run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from unittest.mock import patch

from fencepost.model.identifiers import RunKey
from fencepost.model.run import Outcome, Receipt
from fencepost.model.table import Key, Row
from fencepost.ports.rows import Transaction
from fencepost.rules import reports, runs, successors
from fencepost.rules.checks import Checked
from fencepost.rules.store import LedgerRules
from tests.bugs.bug import Planted, all_of, bug

CONTRACT = "tests/conformance/test_memory.py::TestMemoryStore"


@bug(
    "an end and what follows it are one transaction",
    "tests/rules/test_successors.py::test_where_what_follows_cannot_be_written_nothing_has_ended[finished]",
)
def successor_enqueued_after_the_commit() -> Planted:
    """The process dies between the two: the run has succeeded, and what follows it never comes."""
    follow = successors.follow

    async def finish(ledger: LedgerRules, outcomes: Sequence[Outcome]) -> Sequence[Receipt]:
        freed = runs.Freed()

        async def end(tx: Transaction) -> list[Receipt]:
            return await reports.finish(Checked(tx), freed, outcomes)

        receipts = await ledger._rows.write(end)
        await ledger._rows.write(lambda tx: follow(Checked(tx), freed.ended))
        return receipts

    return patch.object(LedgerRules, "finish", finish)


@bug("a key made of the root can exist only once", f"{CONTRACT}::test_a_replay_does_not_run_it_twice")
def successor_keyed_by_the_attempt() -> Planted:
    """A predecessor is replayed, ends once more, and what follows it runs a second time."""
    links = successors._links

    def by_attempt(run: Row, found: Sequence[Row], specs: Mapping[Key, Row]) -> list[successors._Link]:
        return [one._replace(key=RunKey(f"{one.key}-{run['attempt']}")) for one in links(run, found, specs)]

    return patch.object(successors, "_links", by_attempt)


@bug(
    "what ends a run is not the report alone",
    f"{CONTRACT}::test_what_follows_an_end_is_not_missing[failure-lost]",
)
def successor_of_reports_alone() -> Planted:
    """A run is lost with its worker, or called off, and what follows such an end never comes."""
    plain, follow = runs.Freed.follow, reports.finish

    async def silent(freed: runs.Freed, tx: Transaction) -> None:
        freed.ended.clear()

    async def finish(tx: Transaction, freed: runs.Freed, outcomes: Sequence[Outcome]) -> list[Receipt]:
        receipts = await follow(tx, freed, outcomes)
        await plain(freed, tx)
        return receipts

    return all_of(patch.object(runs.Freed, "follow", silent), patch.object(reports, "finish", finish))


@bug(
    "of two ends at once one has to see the other",
    "tests/integration/test_postgres_joins.py::test_two_ends_at_once_do_not_each_miss_the_other",
)
def join_without_its_turn() -> Planted:
    """Both predecessors of a join end at once, each misses the other, and the join never comes."""
    return patch.object(successors, "_turn_of", lambda link: f"turn of {link.run['run_key']}")
