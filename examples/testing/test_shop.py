"""The shop's tests. In this folder: `pytest`."""

import shop

from fencepost import CatchUp, Cron
from fencepost.testing import PlainBench, simulate


def test_a_sale_sends_a_receipt(fencepost_plain_bench: PlainBench) -> None:
    bench = fencepost_plain_bench
    bench.call(shop.sell("ada", 12))
    bench.assert_enqueued(shop.send_receipt, payload={"customer": "ada"}, count=1)
    bench.drain()
    assert shop.outside.mails == ["ada: 12"]


def test_a_receipt_waits_for_the_mail_server(fencepost_app: object) -> None:
    shop.outside.mail_is_down = True
    with PlainBench(shop.app, raises=False) as bench:
        bench.call(shop.sell("ada", 12))
        bench.drain()
        assert [type(one.error) for one in bench.failures] == [ConnectionError]
        shop.outside.mail_is_down = False
        bench.advance("1h")
    assert shop.outside.mails == ["ada: 12"]


def test_a_month_is_closed_day_by_day(fencepost_plain_bench: PlainBench) -> None:
    ran = fencepost_plain_bench.advance("31d")
    assert len(ran) == len(shop.outside.closed_days) == 31
    assert fencepost_plain_bench.output(ran[0].run_key) == "closed 2026-01-01"


def test_the_archive_is_not_reached(fencepost_plain_bench: PlainBench) -> None:
    archive = fencepost_plain_bench.stub(shop.archive)
    fencepost_plain_bench.enqueue(shop.archive, day="2026-01-01")
    fencepost_plain_bench.drain()
    assert archive.calls == [{"day": "2026-01-01"}]


def test_a_night_without_servers_is_made_up_for() -> None:
    night = simulate(
        Cron("0 2 * * *"),
        since="2026-03-01",
        until="2026-03-04",
        outage=("2026-03-02T01:00", "2026-03-02T09:00"),
        catch_up=CatchUp("sequential", max_lateness="2d"),
    )
    assert night.counts == {"succeeded": 3}
