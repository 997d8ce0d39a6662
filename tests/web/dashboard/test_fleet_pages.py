"""Leases, workers, jobs, the log and tokens: what each says, and what its forms do."""

import pytest

from fencepost.model.access import EVERYWHERE, Role
from fencepost.model.freeze import ScopeKind
from fencepost.model.identifiers import Queue
from fencepost.model.run import RunFilter
from fencepost.operations.responses.log import AuditEntryResponse
from fencepost.web.dashboard import links
from fencepost.web.dashboard.pages.log import subject_url
from tests.services.house import NS
from tests.web.dashboard.furniture import TYPED
from tests.web.dashboard.house import Dashboard, somebody, words_of
from tests.web.dashboard.reading import faults, form_fields, parsed


async def test_who_led_and_who_came_too_late_is_told(board: Dashboard) -> None:
    words = words_of(await board.page("/leases"))
    for one in ("Stale writes refused", "second", "shard 0", "first"):
        assert one in words
    only = words_of(await board.page("/leases?shard=0"))
    assert "shard 0" in only
    assert "shard 1:" not in only


@pytest.mark.parametrize("query", ["shard=-1", "span=2h", "first=99999", "before=0"])
async def test_a_choice_of_leases_that_is_none_is_refused(board: Dashboard, query: str) -> None:
    await board.page(f"/leases?{query}", 400)


async def test_a_queue_is_resumed_from_its_row(board: Dashboard) -> None:
    text = await board.page("/workers")
    fields = form_fields(text, "/do/queues.resume")
    assert fields["queue"] == ["slow"]
    assert "Queue slow is not paused any more" in words_of(
        await board.after(await board.do("queues.resume", **fields))
    )
    freezes = await board.house.memory.freezes.all(NS)
    assert Queue("slow") not in [one.scope.value for one in freezes if one.scope.kind is ScopeKind.QUEUE]


async def test_a_freeze_is_thawed_from_its_row(board: Dashboard) -> None:
    fields = form_fields(await board.page("/workers"), "/do/freezes.thaw")
    assert fields["value"] == ["stiff"]
    assert "stiff is not frozen any more" in words_of(
        await board.after(await board.do("freezes.thaw", **fields))
    )


@pytest.mark.parametrize(
    ("role", "namespace", "there"),
    [(Role.ADMIN, EVERYWHERE, True), (Role.ADMIN, NS, False), (Role.OPERATOR, EVERYWHERE, False)],
)
async def test_only_those_who_may_drain_are_offered_it(
    board: Dashboard, role: Role, namespace: str, there: bool
) -> None:
    board.principal = somebody(role, namespace)
    assert ("/do/nodes.drain" in await board.page("/workers")) is there


async def test_a_run_by_hand_has_the_kinds_that_its_parameters_say(board: Dashboard) -> None:
    fields = {
        "job": TYPED,
        "key": "one",
        "payload.name.string": "5",
        "payload.count.integer": "7",
        "payload.dry.boolean": "true",
        "payload.tags.array": '["a"]',
    }
    names = [one.attributes.get("name") for one in parsed(await board.page("/jobs/typed")).elements]
    assert {name for name in fields if name.startswith("payload")} <= set(names)
    text = await board.after(await board.do("jobs.enqueue", back="/jobs/typed", **fields))
    assert "typed#one is enqueued" in words_of(text)
    (run,) = await board.house.memory.ledger.list(NS, RunFilter(job=TYPED))
    assert run.payload == {"name": "5", "count": 7, "dry": True, "tags": ["a"]}


async def test_a_run_by_hand_may_be_the_only_one_and_expire(board: Dashboard) -> None:
    fields = {"job": TYPED, "payload.name.string": "a", "payload.count.integer": "1"}
    words = {"unique": "unfinished", "expires": "10m"}
    await board.after(await board.do("jobs.enqueue", **fields, **words))
    (run,) = await board.house.memory.ledger.list(NS, RunFilter(job=TYPED))
    said = await board.after(await board.do("jobs.enqueue", back="/jobs/typed", **fields, **words))
    assert f"{run.run_key} was there already, and stays as it is" in words_of(said)
    assert "unless it has begun by then" in words_of(await board.page(links.run(run.run_key)))
    said = await board.after(await board.do("jobs.enqueue", back="/jobs/typed", **fields, unique="x"))
    assert "expected &#34;queued&#34;, &#34;unfinished&#34;" in said


@pytest.mark.parametrize(("name", "text"), [("payload.count.integer", "x"), ("payload.tags.array", "[")])
async def test_a_parameter_of_another_kind_is_refused_by_name(board: Dashboard, name: str, text: str) -> None:
    said = await board.after(await board.do("jobs.enqueue", job=TYPED, **{name: text}))
    assert f"Not done. {name}" in words_of(said)


async def test_what_is_left_empty_is_not_in_the_payload(board: Dashboard) -> None:
    fields = {"payload.name.string": "a", "payload.count.integer": "1", "payload.dry.boolean": ""}
    await board.do("jobs.enqueue", job=TYPED, **fields)
    (run,) = await board.house.memory.ledger.list(NS, RunFilter(job=TYPED))
    assert run.payload == {"name": "a", "count": 1}


@pytest.mark.parametrize(
    ("query", "there", "not_there"),
    [
        ("action=freeze", "freeze", "schedule.pause"),
        ("subject=resting", "resting", "queue slow"),
        ("by=nobody", "No entry fits", "queue slow"),
    ],
)
async def test_entries_are_found_by_what_is_asked(
    board: Dashboard, query: str, there: str, not_there: str
) -> None:
    text = await board.page(f"/log?{query}")
    rows = text[text.index("</form>", text.index("Find entries")) :]
    assert there in words_of(rows)
    assert not_there not in words_of(rows)


@pytest.mark.parametrize(
    ("action", "subject", "url"),
    [
        ("run.cancel", "a#b", "/runs/a%23b"),
        ("schedule.put", "a/b", "/schedules/a%2Fb"),
        ("backfill.start", "7", "/runs?backfill=7"),
        ("backfill.start", "<b>", None),
        ("reshard", "all", None),
    ],
)
def test_a_subject_leads_to_its_page(action: str, subject: str, url: str | None) -> None:
    entry = AuditEntryResponse(
        number=1,
        at="2026-03-01T00:00:00Z",
        author="a",
        credential=None,
        source="b",
        reason=None,
        action=action,
        subject=subject,
        before={},
        after={},
        changes=[],
    )
    assert subject_url(entry) == url


async def test_a_new_token_is_on_the_answer_and_nowhere_else(board: Dashboard) -> None:
    answer = await board.do("tokens.create", name="ci", role="viewer", lasts_s="86400", back="/tokens")
    assert answer.status == 200
    secrets = [
        one.attributes["value"]
        for one in parsed(answer.content.decode()).named("input")
        if one.attributes.get("value", "").startswith("fp_t")
    ]
    assert len(secrets) == 1
    assert "location" not in answer.headers
    assert secrets[0] not in str(answer.headers)
    assert answer.headers["cache-control"] == "no-store"
    assert faults(answer.content.decode()) == []
    for path in ("/tokens", "/log"):
        assert secrets[0] not in await board.page(path)


async def test_a_link_is_shown_as_the_address_to_open(board: Dashboard) -> None:
    answer = await board.do("links.open", role="viewer", lasts_s="600", back="/tokens")
    shown = [one.attributes.get("value", "") for one in parsed(answer.content.decode()).named("input")]
    (address,) = [one for one in shown if "fp_l" in one]
    assert "/sign-in?link=fp_l" in address
    assert "fp_l" not in str(answer.headers)
    assert "fp_l" not in await board.page("/log")


async def test_a_token_is_revoked_after_a_question(board: Dashboard) -> None:
    await board.do("tokens.create", name="ci", role="viewer")
    fields = form_fields(await board.page("/tokens"), "/do/tokens.revoke")
    assert (await board.do("tokens.revoke", **fields)).status == 200
    said = await board.after(await board.do("tokens.revoke", confirmed="yes", **fields))
    assert "is revoked" in words_of(said)


async def test_a_session_is_ended_from_its_row(board: Dashboard) -> None:
    fields = form_fields(await board.page("/tokens"), "/do/sessions.end")
    said = await board.after(await board.do("sessions.end", confirmed="yes", **fields))
    assert "is signed out" in words_of(said)
    assert "Nobody is signed in" in words_of(await board.page("/tokens"))


async def test_an_admin_of_one_namespace_makes_tokens_of_that_one(board: Dashboard) -> None:
    assert 'name="namespace"' not in await board.page("/tokens")
    board.principal = somebody(namespace="*")
    assert 'name="namespace"' in await board.page("/tokens")


async def test_a_backfill_from_the_first_instant_there_is_is_listed(board: Dashboard) -> None:
    """Where it stands is before that, and no time that anybody could ask for."""
    asked = {"since": "1970-01-01T00:00:00Z", "until": "2026-03-01T00:00:00Z", "schedule_id": "minutely"}
    said = words_of(await board.after(await board.do("backfills.start", **asked, confirmed="yes")))
    assert "Not done" not in said
    assert "minutely" in words_of(await board.page("/backfills"))


async def test_a_backfill_is_cancelled_from_its_row(board: Dashboard) -> None:
    fields = form_fields(await board.page("/backfills"), "/do/backfills.cancel")
    said = await board.after(await board.do("backfills.cancel", confirmed="yes", **fields))
    assert "is cancelled" in words_of(said)
    assert "/do/backfills.cancel" not in await board.page("/backfills")
