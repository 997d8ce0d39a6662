"""Every page, in every form: nothing complains, nothing is too wide, nothing is closed to anybody."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal

import pytest
from playwright.sync_api import expect

from fencepost.model.access import Role
from fencepost.model.identifiers import NAME_LENGTH_MAX
from fencepost.web.dashboard import links
from fencepost.web.dashboard.navigation import GROUPS
from fencepost.web.dashboard.page import Page, all_pages
from tests.browser.cluster import Cluster
from tests.browser.looking import Looker
from tests.browser.places import addresses, pages_for, short_addresses

every_page = pytest.mark.parametrize("page", all_pages(), ids=lambda one: one.path)
SCHEMES: tuple[Literal["light", "dark"], ...] = ("light", "dark")
LONG_IDS = ("warehouse_eu_central_stock_sync_madrid_incremental_replica_v2", "x" * NAME_LENGTH_MAX)
CHANGES = "main form[action^='/do/']"


def shown(looker: Looker, page: Page[Any], path: str) -> Iterator[None]:
    """A page at an address; then, where the address fills in a form that is posted to the page, with that."""
    looker.go(path)
    yield
    place, filled, _ = path.partition("?")
    if page.posted and filled:
        with looker.page.expect_navigation():
            looker.page.locator(f"main form[action='{place}'] button[type=submit]").click()
        expect(looker.page.get_by_role("alert")).to_have_count(0)
        yield


class Walk:
    """What holds of every page, also of one that is added later."""

    @every_page
    def test_no_page_complains_at_a_desk(self, admin: Looker, page: Page[Any]) -> None:
        for path in addresses(page, admin.cluster):
            for _ in shown(admin, page, path):
                expect(admin.page.locator("h1")).to_have_count(1)
                for scheme in SCHEMES:
                    admin.in_scheme(scheme)
                    admin.check_width()
                admin.watch.check()

    @every_page
    def test_no_page_is_wider_than_a_phone(self, phone: Looker, page: Page[Any]) -> None:
        for path in addresses(page, phone.cluster):
            for _ in shown(phone, page, path):
                for scheme in SCHEMES:
                    phone.in_scheme(scheme)
                    phone.check_width()
                phone.watch.check()

    @pytest.mark.parametrize("schedule_id", LONG_IDS, ids=len)
    def test_no_page_is_as_wide_as_an_id_without_a_break(
        self, admin: Looker, phone: Looker, schedule_id: str
    ) -> None:
        cluster = admin.cluster
        cluster.told("schedules", "add", schedule_id, "--job", "greet", "--cron", "0 3 1 1 *")
        run_key = cluster.told("schedules", "trigger", schedule_id)
        here = [links.schedule(schedule_id, *room) for room in ((), ("edit",), ("backfill",))]
        for looker in (admin, phone):
            for path in (*here, links.run(run_key), "/schedules", "/runs", "/log", "/"):
                looker.go(path)
                looker.check_width()
        cluster.told("schedules", "remove", schedule_id)

    def test_the_list_of_pages_opens_and_leads_on_with_a_phone(self, phone: Looker) -> None:
        phone.go("/")
        link = phone.page.get_by_role("navigation", name="Pages").get_by_role("link", name="Runs", exact=True)
        expect(link).not_to_be_visible()
        phone.page.locator("label.side-label").click()
        link.click()
        expect(phone.page.get_by_role("heading", level=1)).to_have_text("Runs")

    def test_every_place_of_the_navigation_is_a_page(self, admin: Looker) -> None:
        admin.go("/")
        for place in [place for _, places in GROUPS for place in places]:
            admin.page.get_by_role("navigation", name="Pages").get_by_role(
                "link", name=place.words
            ).first.click()
            admin.page.wait_for_url(admin.cluster.address + place.href)
            current = admin.page.locator("nav.side a[aria-current=page]")
            expect(current).to_contain_text(place.words)

    def test_dark_that_was_chosen_stays_on_the_next_page(self, admin: Looker) -> None:
        admin.go("/")
        toggle = admin.page.get_by_role("button", name="Light or dark")
        toggle.click()
        expect(admin.page.locator("html")).to_have_attribute("data-theme", "dark")
        admin.go("/runs")
        expect(admin.page.locator("html")).to_have_attribute("data-theme", "dark")
        toggle.click()
        admin.go("/")
        expect(admin.page.locator("html")).to_have_attribute("data-theme", "light")

    def test_times_are_told_in_the_zone_of_the_browser(self, admin: Looker) -> None:
        admin.go("/")
        expect(admin.page.locator("footer")).to_contain_text("Europe/Berlin")

    def test_a_page_that_is_not_there_says_so_and_leads_back(self, admin: Looker) -> None:
        admin.go("/runs/nothing%23at-all", status=404)
        admin.watch.forget()
        expect(admin.page.get_by_role("heading", level=1)).to_have_text("Not found")
        admin.page.get_by_role("main").get_by_role("link").first.click()
        expect(admin.page.get_by_role("heading", level=1)).not_to_have_text("Not found")


class Access:
    """What is on a page does not depend on where the ledger is: so this is asked of one store."""

    @every_page
    def test_no_page_is_closed_to_anybody(self, admin: Looker, page: Page[Any]) -> None:
        for path in short_addresses(page, admin.cluster):
            for _ in shown(admin, page, path):
                admin.check_access()

    @every_page
    def test_no_page_is_closed_to_anybody_with_a_phone(self, phone: Looker, page: Page[Any]) -> None:
        (path, *_) = short_addresses(page, phone.cluster)
        phone.go(path)
        phone.check_access()


class ViewersOnly:
    """A viewer sees what is there, and changes nothing."""

    @pytest.mark.parametrize("page", pages_for(Role.VIEWER), ids=lambda one: one.path)
    def test_a_viewer_has_nothing_to_press(self, viewer: Looker, page: Page[Any]) -> None:
        for path in addresses(page, viewer.cluster):
            viewer.go(path)
            expect(viewer.page.locator(CHANGES)).to_have_count(0)
            expect(viewer.page.locator("main form[method=post]")).to_have_count(0)

    def test_a_viewer_is_not_led_to_what_is_not_theirs(self, viewer: Looker) -> None:
        viewer.go("/")
        named = viewer.page.get_by_role("navigation", name="Pages").get_by_role("link", name="Tokens")
        expect(named).to_have_count(0)
        for page in [one for one in all_pages() if not Role.VIEWER.covers(one.role)]:
            (path, *_) = addresses(page, viewer.cluster)
            answer = viewer.context.request.get(viewer.cluster.address + path)
            assert (page.path, answer.status) == (page.path, 403)

    def test_a_form_that_a_viewer_forces_changes_nothing(self, viewer: Looker, cluster: Cluster) -> None:
        viewer.go("/")
        csrf = viewer.page.locator("input[name=csrf]").first.get_attribute("value")
        assert csrf
        for operation, fields in (
            ("schedules.pause", {"schedule_id": "letters"}),
            ("runs.cancel", {"run_key": "slow#kept", "confirmed": "yes"}),
            ("dead.replay", {"everything": "yes", "confirmed": "yes"}),
            ("tokens.create", {"name": "mallory", "role": "admin"}),
        ):
            answer = viewer.context.request.post(
                f"{cluster.address}/do/{operation}",
                form={"csrf": csrf, "back": "/", **fields},
                headers={"Origin": cluster.address},
            )
            assert (operation, answer.status) == (operation, 403)
        assert cluster.schedule("letters")["state"] == "active"
        assert cluster.run("slow#kept")["state"] == "running"
        assert cluster.run("burn#kept-0")["state"] == "dead"
        assert "mallory" not in [one["name"] for one in cluster.told_json("token", "list")]
