"""The examples of effects, each against the real thing: the effect is there once, and so is the success."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.calls import called
from tests.cli.processes import SIGTERM, started
from tests.examples.programs import EXAMPLES, ended_runs, enqueued, rows_of, said_by
from tests.servers.process import Address

EFFECTS = EXAMPLES / "effects"
on_both = pytest.mark.parametrize("place", ["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])


@pytest.fixture
def url(place: str, tmp_path: Path, request: pytest.FixtureRequest) -> str:
    if place == "sqlite":
        return f"sqlite:///{tmp_path / 'ledger.db'}"
    found: str = request.getfixturevalue("postgres_url")
    return found


@on_both
def test_invoices_are_sent_with_the_success_of_their_run(url: str) -> None:
    """The example as a process, and its mails."""
    with started("run", "invoices:app", "--store", url, folder=EXAMPLES) as process:
        process.wait_for("started")
        called("schedules", "trigger", "send_invoices", "--store", url)
        (invoices,) = ended_runs(url, "send_invoices")
        letters = ended_runs(url, "print_letter", 2)
        process.signal(SIGTERM)
        assert process.ended() == 0, process.said
    assert rows_of(url, "select fence from sent") == [(invoices["fence"],)]
    kept = rows_of(url, "select run_key, customer from letters order by customer")
    assert [key for key, _ in kept] == sorted(one["run_key"] for one in letters)
    assert [customer for _, customer in kept] == ["anna", "bob"]


@pytest.mark.postgres
@pytest.mark.parametrize(
    ("module", "job"),
    [
        ("with_psycopg", "book"),
        ("with_psycopg", "book_later"),
        ("with_asyncpg", "book"),
        ("with_sqlalchemy", "book"),
        ("with_sqlalchemy", "book_later"),
    ],
)
def test_a_job_books_in_its_own_transaction(module: str, job: str, postgres_url: str) -> None:
    place = {
        "FENCEPOST_STORE": postgres_url,
        "SHOP_DATABASE": postgres_url.replace("postgresql://", "postgresql+psycopg://"),
    }
    booked = 1
    if module == "with_sqlalchemy":
        ordered = said_by("with_sqlalchemy.py", folder=EFFECTS, **place).strip()
        assert ordered.startswith("book#")
        booked += 1
    with started("run", f"{module}:app", folder=EFFECTS, **place) as process:
        process.wait_for("started")
        enqueued(postgres_url, job, '{"account": "anna", "amount": 5}')
        ended_runs(postgres_url, job)
        if module == "with_sqlalchemy":
            ended_runs(postgres_url, "book")
        process.signal(SIGTERM)
        assert process.ended() == 0, process.said
    rows = rows_of(postgres_url, "select run_key, account, amount from bookings")
    assert len(rows) == len({key for key, *_ in rows}) == booked
    assert (f"{job}#1", "anna", 5) in rows


@pytest.mark.parametrize("job", ["book", "book_later"])
def test_a_job_books_in_a_transaction_of_mongodb(job: str, mongo_server: Address) -> None:
    from pymongo import MongoClient

    url = mongo_server.url.replace("/?", f"/booked_{job}?")
    called("migrate", "--store", url)
    with started("run", "with_pymongo:app", folder=EFFECTS, FENCEPOST_STORE=url) as process:
        process.wait_for("started")
        enqueued(url, job, '{"account": "anna", "amount": 5}')
        ended_runs(url, job)
        process.signal(SIGTERM)
        assert process.ended() == 0, process.said
    with MongoClient[dict[str, object]](url) as client:
        rows = client.get_default_database()["bookings"].find().to_list()
    assert rows == [{"_id": f"{job}#1", "account": "anna", "amount": 5}]


def test_a_straggler_is_refused_by_the_fenced_upsert() -> None:
    said = said_by("fenced_upsert.py", folder=EFFECTS).splitlines()
    assert said[0].startswith("refused: table balances:")
    assert said[1] == "anna has 12"


@pytest.mark.redis
def test_a_rate_is_published_under_the_fence_of_its_attempt(redis_server: Address, tmp_path: Path) -> None:
    from redis import Redis

    url = f"sqlite:///{tmp_path / 'ledger.db'}"
    place = {"FENCEPOST_STORE": url, "REDIS_URL": redis_server.url}
    with Redis.from_url(redis_server.url) as client:
        client.delete("rate:EUR")
        with started("run", "redis_guard:app", folder=EFFECTS, **place) as process:
            process.wait_for("started")
            enqueued(url, "publish_rate", '{"currency": "EUR", "rate": "1.08"}')
            (run,) = ended_runs(url, "publish_rate")
        kept = client.hgetall("rate:EUR")
    assert kept == {b"value": b"1.08", b"fence": str(run["fence"]).encode()}


@on_both
def test_a_mail_leaves_with_the_order(url: str) -> None:
    with started("run", "outbox:app", "--store", url, folder=EFFECTS) as process:
        process.wait_for("started")
        enqueued(url, "take_order", '{"customer": "anna"}', key="7")
        line = process.wait_for("to anna")
        ended_runs(url, "mails")
        process.signal(SIGTERM)
        assert process.ended() == 0, process.said
    assert line.strip() == "to anna: we have your order <mails#take_order%237/receipt>"
    assert rows_of(url, "select customer, run_key from orders") == [("anna", "take_order#7")]


def test_every_example_of_effects_is_tried() -> None:
    text = Path(__file__).read_text("utf-8")
    for path in EFFECTS.glob("*.py"):
        assert f'"{path.stem}' in text, path.name
