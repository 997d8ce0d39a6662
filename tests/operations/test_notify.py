"""Notification targets, asked for as over HTTP."""

from __future__ import annotations

import pytest

from fencepost.model.audit import LogFilter
from fencepost.model.notification import DELIVERY, Target, TargetKind
from fencepost.model.run import RunFilter
from fencepost.operations.control import Control
from fencepost.operations.notify import (
    ChangeTargetRequest,
    ListTargetsRequest,
    PutTargetRequest,
    list_targets,
    put_target,
    remove_target,
    try_target,
)
from tests.operations.asking import asked, refused
from tests.services.house import NS, House
from tests.services.verbs_work import ANNA

OPS = PutTargetRequest(
    name="ops",
    kind=TargetKind.WEBHOOK,
    url="https://hooks.example.org/T0/geheim",
    secret="secret:hooks",
    events=["dead"],
    jobs=["invoices*"],
)
CODE = Target("chat", TargetKind.SLACK, url="env:SLACK_URL", from_code=True)


def control_of(house: House) -> Control:
    return Control(house.store, NS, ANNA)


async def test_a_target_is_listed_without_what_is_secret_in_its_url() -> None:
    house = House()
    control = control_of(house)
    written = await asked(control, put_target, OPS)
    await house.memory.notifications.put(NS, [CODE])
    page = await asked(control, list_targets, ListTargetsRequest())
    assert page.items[1] == written
    assert [one.to for one in page.items] == ["env:SLACK_URL", "https://hooks.example.org/…"]
    assert (written.signed, written.from_code, written.jobs) == (True, False, ["invoices*"])


async def test_what_is_done_to_targets_is_in_the_audit_log_without_secret_urls() -> None:
    control = control_of(House())
    await asked(control, put_target, OPS)
    await asked(control, remove_target, ChangeTargetRequest(name="ops"))
    removed, put = await control.log(LogFilter())
    assert (removed.action, put.action) == ("notify.remove", "notify.put")
    assert removed.before == put.after
    assert put.after["url"] == "https://hooks.example.org/…"


async def test_a_test_is_an_ordinary_run_of_the_job_that_delivers() -> None:
    house = House()
    control = control_of(house)
    await asked(control, put_target, OPS)
    sent = await asked(control, try_target, ChangeTargetRequest(name="ops"))
    (run,) = await house.memory.ledger.list(NS, RunFilter(job=DELIVERY))
    assert run.run_key == sent.run_key
    message = run.payload["message"]
    assert isinstance(message, dict)
    assert (run.payload["target"], message["event"]) == ("ops", "test")


async def test_a_target_that_is_not_there_is_refused_with_those_that_are() -> None:
    control = control_of(House())
    await asked(control, put_target, OPS)
    missing, said = ChangeTargetRequest(name="opps"), "notify opps: not found; known: ops"
    assert await refused(control, try_target, missing) == said
    assert await refused(control, remove_target, missing) == said


async def test_a_target_of_code_is_not_written_over() -> None:
    house = House()
    await house.memory.notifications.put(NS, [CODE])
    mine = PutTargetRequest(name="chat", kind=TargetKind.EMAIL, to=["a@example.org"])
    assert "comes from code or a file" in await refused(control_of(house), put_target, mine)


@pytest.mark.parametrize(
    ("target", "complaint"),
    [
        (PutTargetRequest(name="x", kind=TargetKind.HOOK), "a hook is a function"),
        (
            PutTargetRequest(name="x", kind=TargetKind.SLACK, url="env:PATH"),
            "url: expected https://… or secret:NAME",
        ),
        (
            PutTargetRequest(name="x", kind=TargetKind.SLACK, url="http://x"),
            "url: expected https://… or secret:NAME",
        ),
        (
            PutTargetRequest(name="x", kind=TargetKind.WEBHOOK, url="https://x", secret="file:/etc/passwd"),
            "secret: expected secret:NAME",
        ),
        (PutTargetRequest(name="x", kind=TargetKind.EMAIL), "to is missing"),
        (
            PutTargetRequest(name="x", kind=TargetKind.EMAIL, events=["death"]),
            'event "death": expected one of dead',
        ),
    ],
)
async def test_what_may_only_stand_in_code_is_refused(target: PutTargetRequest, complaint: str) -> None:
    assert complaint in await refused(control_of(House()), put_target, target)
