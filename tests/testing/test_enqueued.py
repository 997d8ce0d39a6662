"""What a test can say of enqueued runs."""

from datetime import timedelta

import pytest

from fencepost import Every
from fencepost.errors import UnknownJob, UnknownRun
from fencepost.testing import Bench
from tests.testing.apps import NOW, STARTS, make_app


async def test_enqueued_runs_are_found_by_what_a_test_says_of_them() -> None:
    app = make_app()

    @app.job()
    async def mail(to: str, body: str = "") -> None: ...

    @app.job(schedule=Every("1m"))
    async def other() -> None: ...

    async with Bench(app, now=STARTS) as bench:
        bench.assert_not_enqueued(mail)
        await app.enqueue(mail, to="ada", body="hello", key="m1")
        await app.enqueue(mail, to="bob", at=NOW + timedelta(hours=1), key="m2")
        bench.assert_enqueued(mail)
        bench.assert_enqueued("mail", payload={"to": "ada"}, count=1)
        bench.assert_enqueued(mail, key="m2", at="2026-03-01T01:00:00Z")
        bench.assert_enqueued(mail, count=2)
        bench.assert_not_enqueued(mail, payload={"to": "eve"})
        bench.assert_not_enqueued(mail, at=NOW + timedelta(hours=2))
        bench.assert_enqueued(mail, state="ready", count=1)
        await bench.advance("2h")
        bench.assert_enqueued(mail, key="m2", state="succeeded")
        bench.assert_not_enqueued(other)


async def test_a_wrong_claim_shows_what_there_is() -> None:
    app = make_app()

    @app.job()
    async def mail(to: str) -> None: ...

    async with Bench(app, now=STARTS) as bench:
        with pytest.raises(AssertionError, match="no run of mail was enqueued"):
            bench.assert_enqueued(mail)
        await app.enqueue(mail, to="ada", key="m1")
        with pytest.raises(AssertionError) as caught:
            bench.assert_enqueued(mail, payload={"to": "bob"}, count=2)
        text = str(caught.value)
        assert "expected 2, found 0" in text
        assert '  mail#m1  ready  at 2026-03-01T00:00:00Z  {"to": "ada"}' in text
        with pytest.raises(AssertionError, match="expected none, found 1"):
            bench.assert_not_enqueued(mail)
        with pytest.raises(UnknownJob, match='"post" is not defined'):
            bench.assert_enqueued("post")
        with pytest.raises(UnknownRun, match="mail#m1"):
            bench.run("mail#m2")
