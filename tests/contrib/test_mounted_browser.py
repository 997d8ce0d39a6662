"""The dashboard inside FastAPI in a real Chromium: signed in at the host, every page under its path, live."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from tests.browser.looking import PATIENCE_MS, browser_here
from tests.browser.watching import Watch
from tests.cli.calls import called_json
from tests.contrib.hosts import UNDER, Host, furnish, host

pytestmark = pytest.mark.browser
WORDS = '[aria-label="Pages"] a'


@pytest.fixture(scope="module")
def there(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Host]:
    url = f"sqlite:///{tmp_path_factory.mktemp('inside') / 'jobs.db'}"
    furnish(url)
    with host("fastapi", url) as made:
        yield made


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with browser_here() as opened:
        yield opened


def test_who_signs_in_at_the_host_works_under_its_path(there: Host, browser: Browser, tmp_path: Path) -> None:
    context = browser.new_context(reduced_motion="reduce")
    context.set_default_timeout(PATIENCE_MS)
    watch, page, home = Watch(context, there.address), context.new_page(), f"{there.address}{UNDER}"
    strayed = list[str]()
    page.goto(f"{home}/schedules/tidy")
    page.wait_for_url(f"{there.address}/login?next=*")
    page.get_by_label("Name").fill("anna")
    page.get_by_role("button", name="Sign in").click()
    page.wait_for_url(f"{home}/schedules/tidy")
    watch.forget()  # the icon that the host does not have
    context.on("request", lambda one: None if one.url.startswith(f"{home}/") else strayed.append(one.url))
    expect(page.locator("[data-live-switch]")).to_have_attribute("data-state", "live")
    page.get_by_role("main").get_by_role("button", name="Pause", exact=True).click()
    expect(page.locator(".said")).to_contain_text("paused")
    assert page.url.startswith(f"{home}/")
    places = page.locator(WORDS).evaluate_all("links => links.map(one => one.href)")
    assert len(places) > 5
    for place in places:
        assert place.startswith(f"{home}/")
        page.goto(place)
        expect(page.locator("h1")).to_have_count(1)
    page.keyboard.press("g")
    page.keyboard.press("s")
    page.wait_for_url(f"{home}/schedules")
    page.get_by_role("button", name="Light or dark").click()
    assert {one["path"] for one in context.cookies() if one["name"].startswith("fencepost_")} == {UNDER}
    assert strayed == []
    watch.check()
    context.close()
    with ThreadPoolExecutor(1) as thread:  # the browser's driver has a loop in this one
        entry = thread.submit(called_json, "log", "--store", there.url).result()[0]
    assert (entry["action"], entry["credential"]) == ("schedule.pause", "host:anna")
