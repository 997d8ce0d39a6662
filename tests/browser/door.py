"""Coming in and going out."""

from __future__ import annotations

from playwright.sync_api import expect

from tests.browser.cluster import Cluster
from tests.browser.looking import Looker, sign_in_by_link

COOKIE = "__Host-fencepost"
PRIVATE = "letters"


class Door:
    """A link and a token let somebody in; who has gone out has left nothing behind."""

    def test_nobody_sees_a_page_before_they_signed_in(self, stranger: Looker, cluster: Cluster) -> None:
        stranger.go("/schedules")
        assert stranger.page.url == f"{cluster.address}/sign-in?next=%2Fschedules"
        expect(stranger.page.get_by_label("Token")).to_be_focused()
        stranger.check_access()
        stranger.check_width()
        stranger.page.set_viewport_size({"width": 390, "height": 844})
        stranger.check_width()

    def test_a_link_lets_one_browser_in_once(self, stranger: Looker, cluster: Cluster) -> None:
        link = cluster.told("token", "link", "--role", "viewer", "--url", cluster.address)
        for _ in range(2):
            stranger.page.goto(link)
        stranger.check_access()
        stranger.press("Sign in")
        expect(stranger.page.get_by_role("heading", level=1)).to_have_text("Overview")
        stranger.context.clear_cookies()
        stranger.page.goto(link)
        stranger.press("Sign in")
        expect(stranger.page.get_by_role("alert")).to_contain_text("not good")
        stranger.watch.forget()

    def test_a_pasted_token_leads_to_what_was_asked_for(self, stranger: Looker, cluster: Cluster) -> None:
        token = cluster.told("token", "create", "anna", "--role", "operator")
        stranger.go("/schedules?text=letters")
        stranger.page.get_by_label("Token").fill(token)
        stranger.press("Sign in")
        stranger.page.wait_for_url(f"{cluster.address}/schedules?text=letters")
        expect(stranger.page.locator(".who")).to_contain_text("anna")
        expect(stranger.page.locator(".who")).to_contain_text("operator")
        assert token not in stranger.page.content()

    def test_a_wrong_token_lets_nobody_in_and_is_not_repeated(self, stranger: Looker) -> None:
        stranger.go("/")
        stranger.page.get_by_label("Token").fill("fp_wrong")
        stranger.press("Sign in")
        expect(stranger.page.get_by_role("alert")).to_contain_text("not good")
        assert "fp_wrong" not in stranger.page.content()
        stranger.watch.forget()

    def test_who_signed_out_has_left_nothing_to_go_back_to(self, stranger: Looker, cluster: Cluster) -> None:
        sign_in_by_link(stranger, "viewer")
        stranger.go("/schedules")
        expect(stranger.page.get_by_role("main")).to_contain_text(PRIVATE)
        (kept,) = [one for one in stranger.context.cookies() if one["name"] == COOKIE]
        stranger.page.locator(".who summary").click()
        stranger.page.get_by_role("button", name="Sign out").click()
        stranger.page.wait_for_url(f"{cluster.address}/sign-in")
        stranger.page.go_back()
        expect(stranger.page.get_by_label("Token")).to_be_visible()
        assert PRIVATE not in stranger.page.content()
        answer = stranger.context.request.get(
            f"{cluster.address}/api/v1/schedules", headers={"Cookie": f"{COOKIE}={kept['value']}"}
        )
        assert answer.status == 401
        assert "session.end" in [one["action"] for one in cluster.told_json("log")]
