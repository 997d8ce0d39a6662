"""What an attempt did is kept with its run; a run that did something else when it was repeated is found."""

from __future__ import annotations

import asyncio
from contextlib import nullcontext
from typing import Any, cast

import pytest

from fencepost.cli.run_views import print_effects
from fencepost.core.accounts import Kind
from fencepost.core.fingerprints import TEXT_LENGTH_MAX, Fingerprint, fingerprints
from fencepost.errors import RunLost, StepRefused
from fencepost.model.audit import Author
from fencepost.model.identifiers import RunKey, tick_key
from fencepost.model.run import Claim
from fencepost.operations.control import Control
from fencepost.operations.runs import RunRequest, show_run
from fencepost.ports.run import Run
from fencepost.services import steps
from fencepost.services.run_context import LedgerRunContext, LedgerTransaction
from fencepost.services.steps import Steps
from fencepost.telemetry import secrets
from tests.services.house import NS, START, House, WorkingNode, make_job
from tests.services.test_accounting import BEAT, Audited
from tests.services.test_steps import begin, try_again

CHEAP, DEAR = "invoice 4711, 99.00 EUR", "invoice 4711, 990.00 EUR"
ANNA = Author("anna", "cli on web-3", "sent again")


async def kept(house: House, run_key: RunKey) -> list[Fingerprint]:
    return fingerprints(await house.memory.steps.recorded(NS, run_key))


async def test_the_same_effect_again_is_no_difference() -> None:
    house = House()
    first = await begin(house)
    assert await Steps(house.store, first.ticket).fingerprint(CHEAP)
    second = await try_again(house, first)
    assert await Steps(house.store, second.ticket).fingerprint(CHEAP)
    assert [(one.attempt, one.text) for one in await kept(house, first.run_key)] == [(1, CHEAP), (2, CHEAP)]


async def test_another_effect_does_not_replace_the_first() -> None:
    house = House()
    first = await begin(house)
    await Steps(house.store, first.ticket).fingerprint(CHEAP)
    second = await try_again(house, first)
    assert not await Steps(house.store, second.ticket).fingerprint(DEAR)
    third = await try_again(house, second)
    assert not await Steps(house.store, third.ticket).fingerprint(DEAR)
    assert [one.text for one in await kept(house, first.run_key)] == [CHEAP, DEAR, DEAR]


async def test_an_attempt_does_not_say_two_things() -> None:
    house = House()
    claim = await begin(house)
    mine = Steps(house.store, claim.ticket)
    assert await mine.fingerprint(CHEAP)
    assert await mine.fingerprint(CHEAP)
    with pytest.raises(StepRefused, match="has one already"):
        await mine.fingerprint(DEAR)
    with pytest.raises(StepRefused, match="has one already"):
        await Steps(house.store, claim.ticket).fingerprint(DEAR)
    assert [one.text for one in await kept(house, claim.run_key)] == [CHEAP]


async def test_an_attempt_that_lost_its_run_keeps_nothing() -> None:
    house = House()
    first = await begin(house)
    zombie = Steps(house.store, first.ticket)
    await try_again(house, first)
    with pytest.raises(RunLost, match="is not recorded"):
        await zombie.fingerprint(CHEAP)
    assert await kept(house, first.run_key) == []


async def test_a_long_effect_is_cut_and_its_end_compared_all_the_same() -> None:
    house = House()
    first = await begin(house)
    await Steps(house.store, first.ticket).fingerprint("x" * 10_000 + "1")
    second = await try_again(house, first)
    assert not await Steps(house.store, second.ticket).fingerprint("x" * 10_000 + "2")
    assert {len(one.text) for one in await kept(house, first.run_key)} == {TEXT_LENGTH_MAX}


async def test_secrets_are_not_kept_nor_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(secrets, "LIVE", secrets.LiveSecrets())
    house = House()
    first = await begin(house)
    secrets.LIVE.remember("hunter2hunter2")
    await Steps(house.store, first.ticket).fingerprint("signed by hunter2hunter2, password=one-of-mine")
    second = await try_again(house, first)
    secrets.LIVE.remember("rotated-since")
    assert await Steps(house.store, second.ticket).fingerprint("signed by rotated-since, password=another")
    assert {one.text for one in await kept(house, first.run_key)} == {"signed by ***, password=***"}


@pytest.mark.parametrize("effect", ["", "  ", None, 7])
async def test_what_says_nothing_is_refused(effect: object) -> None:
    house = House()
    with pytest.raises(StepRefused, match="expected a text"):
        await Steps(house.store, (await begin(house)).ticket).fingerprint(effect)  # type: ignore[arg-type]


async def test_it_takes_no_place_of_a_step(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(steps, "STEPS_MAX", 1)
    house = House()
    mine = Steps(house.store, (await begin(house)).ticket)
    await mine.fingerprint(CHEAP)
    assert await mine.once("one", lambda: 1) == 1


async def test_a_plain_job_and_an_async_one_leave_the_same() -> None:
    house = House()
    first = await begin(house)
    assert await asyncio.to_thread(inside(house, first).fingerprint, CHEAP) is True
    second = await try_again(house, first)
    assert await inside(house, second).fingerprint(CHEAP) is True
    one, other = await kept(house, first.run_key)
    assert one.digest == other.digest


def inside(house: House, claim: Claim) -> Run:
    return Run(claim, LedgerRunContext(house.store, claim.ticket, 5.0))


async def test_an_open_transaction_is_not_waited_for() -> None:
    house = House()
    claim = await begin(house)
    run_context = LedgerRunContext(house.store, claim.ticket, 5.0)
    run_context.open.append(LedgerTransaction(run_context, nullcontext(cast("Any", None)), complete=False))
    with pytest.raises(StepRefused, match="before the transaction"):
        Run(claim, run_context).fingerprint(CHEAP)


async def test_a_tick_that_did_something_else_when_it_was_replayed_is_found(
    capsys: pytest.CaptureFixture[str],
) -> None:
    house, said = Audited(), iter([CHEAP, CHEAP, DEAR])
    house.worker = WorkingNode(house, make_job(lambda run: run.fingerprint(next(said, CHEAP))))
    await house.worker.register()
    await house.put("beat", 10)
    await house.pass_s(25)
    keys = [tick_key(BEAT, START.replace(second=second), 1) for second in (10, 20)]
    assert await house.faults() == {}
    assert list(await house.memory.ledger.replay(NS, keys, 0, ANNA)) == keys
    await house.pass_s(5)
    report = await house.audit()
    assert dict(report.counts) == {Kind.DIFFERING: 1}
    (finding,) = report.accounts[0].of(Kind.DIFFERING)
    assert finding.words == f'attempt 1: "{CHEAP}", attempt 2: "{DEAR}"'
    (key,) = finding.run_keys
    shown = await show_run.carry_out(Control(house.store, NS), RunRequest(run_key=key))
    assert [(one.attempt, one.effect, one.differs) for one in shown.effects] == [
        (1, CHEAP, False),
        (2, DEAR, True),
    ]
    print_effects(shown.effects)
    assert f"effect of attempt 2: {DEAR} ! not what the attempt before it did" in capsys.readouterr().out
