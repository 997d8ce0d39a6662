"""Without a mouse: everything can be reached, seen while it has the focus, and left again."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.sync_api import expect

from fencepost.web.dashboard import links
from fencepost.web.dashboard.navigation import GROUPS
from tests.browser.cluster import Cluster
from tests.browser.looking import Looker

STOPS_MAX = 400
BUSY = ("/schedules", links.schedule("letters"), links.run("slow#kept"), "/dead", "/tokens", "/gates")
"""Pages with things to press."""
FOCUSED = """
() => {
  const one = document.activeElement;
  if (!one || one === document.body) return null;
  const look = getComputedStyle(one);
  const ring = look.outlineStyle !== "none" && parseFloat(look.outlineWidth) > 0;
  one.dataset.reached = "yes";
  return { html: one.outerHTML.slice(0, 160), seen: one.matches(":focus-visible") && ring };
}
"""
INSIDE = "document.activeElement === document.body || !!document.activeElement.closest('dialog')"
NOT_REACHED = """
() => [...document.querySelectorAll("main :is(a[href], button, input, select, textarea, summary)")]
  .filter((one) => one.checkVisibility({ visibilityProperty: true }) && !one.disabled)
  .filter((one) => !one.dataset.reached && one.tabIndex >= 0)
  .map((one) => one.outerHTML.slice(0, 160))
"""


class Keyboard:
    """Keys only."""

    def test_the_first_stop_skips_to_the_content(self, admin: Looker) -> None:
        page = admin.go("/schedules")
        page.keyboard.press("Tab")
        skip = page.get_by_role("link", name="Skip to the content")
        expect(skip).to_be_focused()
        expect(skip).to_be_in_viewport()
        page.keyboard.press("Enter")
        expect(page.locator("#content")).to_be_focused()
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement.closest('main') !== null")

    @pytest.mark.parametrize("path", BUSY)
    def test_the_tab_key_reaches_all_there_is_to_press(self, admin: Looker, path: str) -> None:
        page = admin.go(path)
        page.keyboard.press("p")
        stops: list[Any] = []
        for _ in range(STOPS_MAX):
            page.keyboard.press("Tab")
            stop = page.evaluate(FOCUSED)
            if stop is None:
                break
            stops.append(stop)
        assert [one["html"] for one in stops if not one["seen"]] == []
        assert page.evaluate(NOT_REACHED) == []

    def test_a_slash_goes_to_the_search_and_enter_searches(self, admin: Looker, cluster: Cluster) -> None:
        for path in ("/", "/schedules"):
            page = admin.go(path)
            page.keyboard.press("/")
            expect(page.get_by_role("combobox", name="Search")).to_be_focused()
            page.keyboard.type("kept/g s")
            page.keyboard.press("Enter")
            page.wait_for_url(f"{cluster.address}/search?text=kept%2Fg+s")

    def test_what_fits_is_listed_and_the_arrows_choose(self, admin: Looker, cluster: Cluster) -> None:
        page = admin.go("/forecast")
        page.keyboard.press("/")
        page.keyboard.type("letters")
        first = page.get_by_role("listbox").get_by_role("option").first
        expect(first).to_contain_text("letters")
        admin.check_access()
        page.keyboard.press("ArrowDown")
        expect(first).to_have_attribute("aria-selected", "true")
        page.keyboard.press("Enter")
        page.wait_for_url(cluster.address + links.schedule("letters"))
        page.keyboard.press("/")
        page.keyboard.type("letters")
        expect(page.get_by_role("listbox")).to_be_visible()
        page.keyboard.press("Escape")
        expect(page.get_by_role("listbox")).not_to_be_visible()

    def test_g_and_a_letter_goes_to_every_place(self, admin: Looker, cluster: Cluster) -> None:
        page = admin.go("/forecast")
        for place in [place for _, places in GROUPS for place in places]:
            page.keyboard.press("g")
            page.keyboard.press(place.key)
            page.wait_for_url(cluster.address + place.href)

    def test_the_help_opens_closes_and_gives_the_focus_back(self, admin: Looker) -> None:
        page = admin.go("/runs")
        button = page.get_by_role("button", name="Keyboard shortcuts")
        dialog = page.get_by_role("dialog", name="Keyboard")
        button.focus()
        page.keyboard.press("?")
        expect(dialog).to_be_visible()
        for _ in range(3):
            page.keyboard.press("Tab")
            assert page.evaluate(INSIDE), "the focus has left the dialog for the page behind it"
        admin.check_access()
        page.keyboard.press("Escape")
        expect(dialog).not_to_be_visible()
        expect(button).to_be_focused()

    def test_a_menu_opens_with_enter_and_closes_with_escape(self, admin: Looker) -> None:
        page = admin.go(links.schedule("letters"))
        for menu in ("main details.menu", "header details.menu"):
            page.locator(f"{menu} > summary").focus()
            page.keyboard.press("Enter")
            expect(page.locator(f"{menu} .menu-box")).to_be_visible()
            page.keyboard.press("Escape")
            expect(page.locator(f"{menu} .menu-box")).not_to_be_visible()
            expect(page.locator(f"{menu} > summary")).to_be_focused()

    def test_a_schedule_is_paused_and_resumed_with_keys_alone(self, admin: Looker, cluster: Cluster) -> None:
        cluster.told("schedules", "add", "by-keys", "--job", "greet", "--cron", "0 4 1 1 *")
        page = admin.go(links.schedule("by-keys"))
        for name, state in (("Pause", "paused"), ("Resume", "active")):
            page.get_by_role("link", name="Skip to the content").focus()
            page.keyboard.press("Enter")
            button = page.get_by_role("main").get_by_role("button", name=name, exact=True)
            for _ in range(20):
                page.keyboard.press("Tab")
                if button.evaluate("(one) => one === document.activeElement"):
                    break
            page.keyboard.press("Enter")
            expect(page.locator(".said")).to_be_visible()
            assert cluster.schedule("by-keys")["state"] == state
