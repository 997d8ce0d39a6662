"""The smoke of the browser: a token signs in, every page opens without a complaint, and a change is made."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from fencepost.web.dashboard import links
from fencepost.web.dashboard.page import all_pages
from tests.browser.cluster import Cluster
from tests.browser.looking import Looker
from tests.browser.places import addresses
from tests.browser.walk import shown

pytestmark = [pytest.mark.browser, pytest.mark.timeout(300)]


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> str:
    return f"sqlite:///{tmp_path_factory.mktemp('shop') / 'store.db'}"


def test_no_page_complains_and_a_change_is_in_the_ledger(
    stranger: Looker, admin: Looker, cluster: Cluster
) -> None:
    """About 30 s: a cluster and a browser start, and the browser opens every page."""
    token = cluster.told("token", "create", "anna", "--role", "operator")
    stranger.go("/schedules?text=letters")
    stranger.page.get_by_label("Token").fill(token)
    stranger.press("Sign in")
    stranger.page.wait_for_url(f"{cluster.address}/schedules?text=letters")

    for page in all_pages():
        for path in addresses(page, cluster):
            for _ in shown(admin, page, path):
                expect(admin.page.locator("h1")).to_have_count(1)
        admin.watch.check()

    admin.go(links.schedule("letters"))
    admin.press("Pause")
    admin.is_told("paused")
    assert cluster.schedule("letters")["state"] == "paused"
