"""The page of notifications: targets, alarms, and what its forms do."""

from fencepost.model.access import Role
from fencepost.model.notification import DELIVERY, Event, Item, NotifyTerms, Target, TargetKind
from fencepost.model.run import RunFilter
from tests.services.house import NS
from tests.web.dashboard.house import Dashboard, somebody, words_of
from tests.web.dashboard.reading import faults, form_fields

PAGE = "/notifications"
OPS = Target("ops", TargetKind.WEBHOOK, (Event.STUCK,), url="https://hooks.example.org/T0/geheim")


async def test_targets_and_open_alarms_are_shown_without_secrets(board: Dashboard) -> None:
    book, now = board.house.memory.notifications, await board.house.memory.now()
    await book.put(NS, [OPS])
    wrong = Item(Event.STUCK, "report#1", now, "worker web-3 has been silent", "report")
    await book.collect(NS, [wrong], NotifyTerms(60.0, 10))
    text = await board.page(PAGE)
    assert faults(text) == []
    for one in ("ops", "https://hooks.example.org/…", "stuck", "report#1", "web-3 has been silent", "1 open"):
        assert one in words_of(text)
    assert "geheim" not in text


async def test_a_target_is_created_tested_and_removed_from_the_page(board: Dashboard) -> None:
    assert "There are no targets" in words_of(await board.page(PAGE))
    said = await board.after(
        await board.do(
            "notify.put", name="mail", kind="email", to="ops@example.org", events=["dead", "stuck"], back=PAGE
        )
    )
    assert "mail is told from now on" in words_of(said)
    (target,) = await board.house.memory.notifications.all(NS)
    assert (target.to, target.events) == (("ops@example.org",), (Event.DEAD, Event.STUCK))
    tested = await board.after(await board.do("notify.test", **form_fields(said, "/do/notify.test")))
    assert "A test is on its way to mail" in words_of(tested)
    assert len(await board.house.memory.ledger.list(NS, RunFilter(job=DELIVERY))) == 1
    fields = form_fields(await board.page(PAGE), "/do/notify.remove")
    assert (await board.do("notify.remove", **fields)).status == 200
    gone = await board.after(await board.do("notify.remove", confirmed="yes", **fields))
    assert "mail is told no more" in words_of(gone)


async def test_what_is_refused_is_told_on_the_page(board: Dashboard) -> None:
    said = await board.after(
        await board.do("notify.put", name="x", kind="slack", url="http://127.0.0.1/", back=PAGE)
    )
    assert "Not done. notify x: url: expected https://… or secret:NAME" in words_of(said)


async def test_only_admins_are_offered_to_change_targets(board: Dashboard) -> None:
    await board.house.memory.notifications.put(NS, [OPS])
    board.principal = somebody(Role.OPERATOR, NS)
    text = await board.page(PAGE)
    assert "/do/notify.test" in text
    assert "/do/notify.put" not in text
    assert "/do/notify.remove" not in text
