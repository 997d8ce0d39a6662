"""Nobody asks without end, and guessing is slow."""

import logging
from collections import Counter

import pytest

from fencepost.model.access import CredentialKind, mint
from fencepost.telemetry.metrics import start_metrics
from fencepost.testing.clock import VirtualClock
from fencepost.web.auth.doorkeeper import STRANGERS_BURST, STRANGERS_PER_S
from fencepost.web.auth.limits import Limiter, network_of
from tests.services.house import START
from tests.web.door import Door
from tests.web.house import TOKEN

WRONG = mint(CredentialKind.TOKEN, lambda size: bytes(size)).reveal()


def test_a_bucket_fills_at_its_rate_and_not_beyond_its_brim() -> None:
    clock = VirtualClock(START)
    limiter = Limiter(clock, per_s=2, burst=3)
    assert [limiter.take("a") for _ in range(4)] == [0, 0, 0, 0.5]
    assert limiter.take("b") == 0
    clock.advance(0.5)
    assert [limiter.take("a") for _ in range(2)] == [0, 0.5]
    clock.advance(3600)
    assert [limiter.take("a") for _ in range(4)] == [0, 0, 0, 0.5]


def test_looking_takes_nothing() -> None:
    limiter = Limiter(VirtualClock(START), per_s=1, burst=1)
    assert [limiter.wait_s("a") for _ in range(3)] == [0, 0, 0]
    assert len(limiter) == 0
    limiter.take("a")
    assert limiter.wait_s("a") == 1


def test_the_buckets_of_strangers_do_not_fill_the_memory() -> None:
    limiter = Limiter(VirtualClock(START), per_s=1, burst=1, buckets_max=100)
    for number in range(10_000):
        limiter.take(str(number))
    assert len(limiter) == 100
    assert limiter.take("9999") > 0, "whoever asked last is remembered"


async def test_a_credential_that_asks_too_often_is_told_when_to_come_back() -> None:
    door = Door(requests_per_s=2, requests_burst=5)
    made = await door.token()
    shown = made.credential.reveal()
    answers = [await door.get(token=shown) for _ in range(6)]
    assert [one.status for one in answers] == [200] * 5 + [429]
    assert answers[-1].problem == "too-many-requests"
    assert answers[-1].headers["retry-after"] == "1"
    assert (await door.get(token=TOKEN)).status == 200, "others are not held back by it"
    door.house.clock.advance(0.5)
    assert (await door.get(token=shown)).status == 200


async def test_an_address_that_guesses_is_not_listened_to_for_a_while() -> None:
    door = Door()
    made = await door.token()
    assert [(await door.get(token=WRONG)).status for _ in range(12)] == [401] * 10 + [429] * 2
    looks = door.house.store.names().count("access.find_token")
    answer = await door.get(token=WRONG)
    assert (answer.problem, answer.headers["retry-after"]) == ("too-many-requests", "6")
    assert (await door.get(token=made.credential.reveal())).status == 429
    assert (await door.post("/sign-in", {"token": WRONG})).status == 429
    assert (await door.post("/sign-in", {"link": await door.link()})).status == 429
    assert door.house.store.names().count("access.find_token") == looks, "the store has peace"
    door.house.clock.advance(6)
    assert (await door.get(token=made.credential.reveal())).status == 200


async def test_those_who_are_known_are_not_locked_out_by_a_guesser_at_their_address() -> None:
    door = Door()
    made, cookie = await door.token(), await door.sign_in()
    assert (await door.get(token=TOKEN)).status == 200
    assert (await door.get(token=made.credential.reveal())).status == 200
    assert (await door.get(cookie=cookie)).status == 200
    for _ in range(20):
        await door.get(token=WRONG)
    assert (await door.get(token=made.credential.reveal())).status == 200
    assert (await door.get(cookie=cookie)).status == 200
    assert (await door.get(token=TOKEN)).status == 200


async def test_guesses_of_the_setting_are_not_looked_at_while_their_address_has_to_wait() -> None:
    door = Door()
    for _ in range(11):
        await door.get(token="x" * 40)
    assert (await door.get(token=TOKEN)).status == 429, "the right one among many guesses is not told apart"
    door.house.clock.advance(6)
    assert (await door.get(token=TOKEN)).status == 200


async def test_guessing_at_the_sign_in_is_slow_too() -> None:
    door = Door()
    codes = [(await door.post("/sign-in", {"token": WRONG})).status for _ in range(12)]
    assert codes == [403] * 10 + [429] * 2


async def test_whoever_shows_nothing_is_no_guesser() -> None:
    door = Door()
    assert {(await door.get()).status for _ in range(50)} == {401}
    assert (await door.get(token=WRONG)).status == 401


async def test_a_failed_attempt_is_logged_by_its_id_and_a_flood_is_not(
    lines: list[logging.LogRecord],
) -> None:
    door = Door()
    for _ in range(50):
        await door.get(token=WRONG)
    told = [one for one in lines if one.getMessage() == "refused a credential"]
    assert len(told) == 10
    fields = told[0].__dict__["fencepost_fields"]
    assert fields == {"client": "127.0.0.1", "credential": "t0000000000000000"}


async def test_an_address_without_a_credential_is_told_when_to_come_back() -> None:
    door = Door()
    assert {(await door.get("/static/x.css")).status for _ in range(int(STRANGERS_BURST))} == {200}
    for path in ("/static/x.css", "/sign-in", "/x", "/api/v1/runs"):
        answer = await door.get(path, accept="text/html")
        assert (answer.problem, answer.headers["retry-after"]) == ("too-many-requests", "1"), path
        assert answer.headers["connection"] == "close"
    assert (await door.get(token=TOKEN)).status == 200, "who has a credential is not held back"
    door.house.clock.advance(1)
    assert (await door.get("/static/x.css")).status == 200


async def test_wrong_tokens_count_too() -> None:
    door = Door()
    seen = Counter([(await door.get(token=WRONG)).headers.get("retry-after") for _ in range(600)])
    assert seen == {None: 10, "6": STRANGERS_BURST - 10, "1": 600 - STRANGERS_BURST}


async def test_a_flood_does_not_have_the_probes_of_its_address_refused() -> None:
    door = Door()
    for _ in range(int(STRANGERS_BURST)):
        await door.get("/static/x.css")
    assert (await door.get("/static/x.css")).status == 429
    for _ in range(1_000):
        assert (await door.get("/healthz")).status == 200
        assert (await door.get("/readyz")).status == 200
        door.house.clock.advance(2 / STRANGERS_PER_S)


async def test_a_flood_of_probes_is_refused() -> None:
    door = Door()
    seen = Counter([(await door.get("/healthz")).status for _ in range(600)])
    assert seen == {200: STRANGERS_BURST, 429: 600 - STRANGERS_BURST}


@pytest.mark.parametrize(
    ("one", "other", "together"),
    [
        ("203.0.113.7", "203.0.113.8", False),
        ("203.0.113.7", "::ffff:203.0.113.7", True),
        ("::ffff:203.0.113.7", "::ffff:203.0.113.8", False),
        ("2001:db8::1", "2001:db8::ffff:2", True),
        ("2001:db8::1", "2001:db8:0:1::1", False),
        ("unknown", "unknown", True),
        ("no:address", "no:other", False),
    ],
)
def test_addresses_are_counted_alone_and_those_of_version_6_by_their_64(
    one: str, other: str, together: bool
) -> None:
    assert (network_of(one) == network_of(other)) is together


async def test_refusals_are_counted() -> None:
    metrics = start_metrics()
    door = Door(requests_per_s=1, requests_burst=1)
    for _ in range(2):
        await door.get(token=TOKEN)
    for _ in range(12):
        await door.get(token=WRONG)
    for _ in range(int(STRANGERS_BURST) + 3):
        await door.get("/healthz")
    page = metrics.render().decode()
    counted = {"credential_rate": 1, "wrong_credentials": 2, "address_rate": 3, "slow_reader": 0}
    for cause, times in counted.items():
        assert f'fencepost_web_refused_total{{cause="{cause}"}} {times}.0' in page
