"""What moves by itself on a page that stays open: no reload, no complaint, and nothing while it is paused.

They take long: a cluster and a Chromium start first, and then the pages wait for ticks, runs and log lines as
they happen.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from tests.browser.cluster import Cluster
from tests.browser.looking import Looker, looker_at, sign_in_by_link

pytestmark = [pytest.mark.proof, pytest.mark.browser, pytest.mark.timeout(300)]

REMEMBER = "window.stillHere = true"
STILL_HERE = "window.stillHere === true"
TRIES = 8
NOBODY_ANSWERS = """
window.waits = [];
window.enough = () => {};
const later = window.setTimeout;
window.setTimeout = (act, wait, ...more) => {
  if (act.name === "knock") { window.waits.push(wait); window.enough(); }
  return later(act, act.name === "knock" ? 0 : wait, ...more);
};
window.EventSource = class extends EventTarget {
  constructor() { super(); later(() => this.dispatchEvent(new Event("error")), 0); }
  close() {}
};
"""
"""Every stream fails at once; how long the page would wait before it asks again is written down instead."""
FIRST_WAITS = """
(tries) => new Promise((done) => {
  window.enough = () => { if (window.waits.length >= tries) done(window.waits.slice(0, tries)); };
  window.enough();
})
"""


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> str:
    return f"sqlite:///{tmp_path_factory.mktemp('live') / 'store.db'}"


@pytest.fixture
def poller(browser: Browser, cluster: Cluster) -> Iterator[Looker]:
    """Somebody whom nobody knows yet, and whose end is part of the test."""
    with looker_at(browser, cluster, role=None) as looker:
        yield looker


def live(looker: Looker, path: str) -> Page:
    """A page whose stream has begun, and which would not survive a reload unnoticed."""
    page = looker.go(path)
    expect(page.locator("[data-live-switch]")).to_have_attribute("data-state", "live")
    page.evaluate(REMEMBER)
    return page


def row(page: Page, run_key: str) -> Locator:
    return page.locator(f'tr[data-run="{run_key}"]')


def test_a_run_appears_and_ends_without_a_reload(admin: Looker, cluster: Cluster) -> None:
    page = live(admin, "/runs")
    run_key = cluster.enqueue("greet", "seen-live", '{"name": "<b>Mallory</b>"}')
    expect(row(page, run_key)).to_contain_text("succeeded")
    expect(row(page, run_key).get_by_role("link")).to_have_attribute("href", "/runs/greet%23seen-live")
    assert page.evaluate(STILL_HERE)


def test_numbers_follow_the_ledger(admin: Looker, cluster: Cluster) -> None:
    page = live(admin, "/")
    dead = page.locator(".figure [data-live='counts.dead']")
    before = int(dead.inner_text())
    cluster.enqueue("burn", f"counted-{before}")
    expect(dead).to_have_text(str(before + 1))
    expect(page.locator("nav [data-live='counts.dead']")).to_have_text(str(before + 1))
    assert page.evaluate(STILL_HERE)


def test_a_strip_moves_on_and_countdowns_go_on(admin: Looker) -> None:
    page = live(admin, "/schedules?text=letters")
    strip = page.locator('svg[data-strip="letters"]')
    newest = strip.locator("g").last
    first = newest.get_attribute("data-stripe")
    expect(newest).not_to_have_attribute("data-stripe", first or "")
    assert strip.locator("g").count() <= 30
    assert page.evaluate(STILL_HERE)


def test_nothing_moves_while_it_is_paused(admin: Looker, cluster: Cluster) -> None:
    page = live(admin, "/runs")
    page.keyboard.press("p")
    expect(page.locator("[data-live-switch]")).to_have_attribute("data-state", "paused")
    run_key = cluster.enqueue("greet", "while-paused")
    cluster.until_state(run_key, "succeeded")
    other = admin.context.new_page()
    other.goto(page.url)
    other.evaluate(REMEMBER)
    after = cluster.enqueue("greet", "after-that")
    expect(row(other, after)).to_contain_text("succeeded")
    other.close()
    assert row(page, run_key).count() == row(page, after).count() == 0
    page.get_by_role("button", name="Paused").click()
    expect(page.locator("[data-live-switch]")).to_have_attribute("data-state", "live")
    last = cluster.enqueue("greet", "again-live")
    expect(row(page, last)).to_contain_text("succeeded")
    assert page.evaluate(STILL_HERE)


def test_a_log_grows_while_somebody_reads_it(admin: Looker, cluster: Cluster) -> None:
    soon = (datetime.now(UTC) + timedelta(seconds=20)).isoformat()
    cluster.told("enqueue", "slow", "--key", "read-live", "--at", soon)
    cluster.told("runs", "hold", "slow#read-live")
    page = live(admin, "/runs/slow%23read-live")
    log = page.locator("pre[data-live-log]")
    expect(log).to_contain_text("Nothing was written")
    cluster.told("runs", "release", "slow#read-live")
    expect(log).to_contain_text("this takes a while")
    expect(log).not_to_contain_text("Nothing was written")
    expect(page.locator("[data-run]").first).to_contain_text("running")
    assert page.evaluate(STILL_HERE)
    cluster.told("runs", "cancel", "slow#read-live")


def test_a_revoked_token_ends_the_stream_and_the_page_says_so(poller: Looker, cluster: Cluster) -> None:
    made = cluster.told_json("token", "create", "for-a-while", "--role", "viewer")
    page = poller.go("/sign-in")
    page.get_by_label("Token").fill(made["token"])
    poller.press("Sign in")
    expect(page.locator("[data-live-switch]")).to_have_attribute("data-state", "live")
    cluster.told("token", "revoke", made["token_id"])
    expect(page.get_by_role("alert")).to_contain_text("Your session has ended")
    expect(page.get_by_role("link", name="Sign in again")).to_have_attribute("href", "/")
    expect(page.locator("[data-live-switch]")).to_have_attribute("data-state", "over")
    poller.watch.forget()


def test_a_page_whose_server_is_away_comes_again_at_its_own_time_and_more_and_more_patiently(
    poller: Looker, cluster: Cluster
) -> None:
    """Many pages lose their server together: without dice they would all come back in the same moment."""
    sign_in_by_link(poller, "viewer")
    poller.page.add_init_script(NOBODY_ANSWERS)
    page = poller.go("/runs")
    waits = page.evaluate(FIRST_WAITS, TRIES)
    most = [min(1_000 * 2**tries, 60_000) for tries in range(1, TRIES + 1)]
    assert all(wide / 2 <= wait <= wide for wait, wide in zip(waits, most, strict=True)), waits
    assert len({wait / wide for wait, wide in zip(waits, most, strict=True)}) > 1, "each by its own dice"
