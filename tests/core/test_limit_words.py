"""What is told of a run that its job's limits, or its paused queue, keep from starting."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from fencepost.core.evidence import Evidence
from fencepost.core.run_explanation import hold_words, run_remedies
from fencepost.model.audit import Author
from fencepost.model.clocks import StoreTime
from fencepost.model.freeze import Freeze, Scope, ScopeKind
from fencepost.model.run import Hold, RunRecord
from fencepost.testing.conformance.builders import NS, enqueue, read
from tests.conformance.clocked import open_memory

NOW = StoreTime(datetime(2026, 3, 1, tzinfo=UTC))


async def a_run() -> RunRecord:
    harness = open_memory()
    (key,) = await enqueue(harness, "one")
    return await read(harness, key)


@pytest.mark.parametrize(
    ("hold", "reason", "said"),
    [
        (Hold.LIMITED, "waits for a slot of job report (5 running)", None),
        (Hold.PACED, "waits for the rate of job report (6/m)", None),
        (Hold.PACED, None, "It stands in the line of job report, which has limits."),
    ],
)
async def test_a_limited_run_says_what_it_waits_for(hold: Hold, reason: str | None, said: str | None) -> None:
    run = replace(await a_run(), held=hold, reason=reason)
    assert hold_words(run, Evidence(NOW, NOW)) == (said or f"It {reason}.",)


async def test_a_run_of_a_paused_queue_names_the_pause_and_its_end() -> None:
    paused = Freeze(NS, Scope(ScopeKind.QUEUE, "default"), NOW, Author("anna", "cli", "the relay is down"))
    other = replace(paused, scope=Scope(ScopeKind.QUEUE, "mail"))
    run = await a_run()
    evidence = Evidence(NOW, NOW, freezes=(paused, other))
    (words,) = hold_words(run, evidence)
    assert words == 'Queue default is frozen since 2026-03-01T00:00:00Z by anna: "the relay is down".'
    assert "to end the freeze: fencepost thaw --queue default" in run_remedies(run, evidence)
    assert hold_words(run, Evidence(NOW, NOW, freezes=(other,))) == ()
