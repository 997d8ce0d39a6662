"""What people do to runs, to gates and to those who may come in; and what the ledger says of it."""

from __future__ import annotations

from playwright.sync_api import Browser, expect

from fencepost.web.dashboard import links
from tests.browser.cluster import Cluster
from tests.browser.looking import Looker, looker_at


class Runs:
    """Cancelled, replayed, enqueued."""

    def test_a_run_that_goes_on_is_stopped_and_its_page_says_so(
        self, admin: Looker, cluster: Cluster
    ) -> None:
        key = cluster.enqueue("slow", "stopped")
        cluster.until_state(key, "running")
        page = admin.go(links.run(key))
        expect(page.locator("pre.log")).to_contain_text("this takes a while")
        admin.press("Ask to stop")
        page.get_by_label("Why").fill("no longer needed")
        page.locator("button.danger").click()
        admin.is_told(key)
        cluster.until_state(key, "cancelled")
        expect(page.locator("[data-run] [data-field=state]")).to_contain_text("cancelled")
        assert cluster.logged(key) == ["run.cancel", "run.enqueue"]

    def test_a_dead_letter_is_replayed_by_itself(self, admin: Looker, cluster: Cluster) -> None:
        key = cluster.enqueue("burn", "single")
        attempt = cluster.until_state(key, "dead")["attempt"]
        page = admin.go(links.run(key))
        expect(page.get_by_role("main")).to_contain_text("the toast is on fire")
        admin.press("Replay")
        admin.is_told("1 run was sent on the way again")
        cluster.until_tried(key, attempt + 1)
        assert cluster.logged(key) == ["run.replay", "run.enqueue"]
        cluster.until_state(key, "dead")

    def test_dead_letters_are_replayed_in_bulk_and_only_those_chosen(
        self, admin: Looker, cluster: Cluster
    ) -> None:
        keys = [cluster.enqueue("burn", f"bulk-{number}", '{"what": "barn"}') for number in range(3)]
        tries = [cluster.until_state(key, "dead")["attempt"] for key in keys]
        page = admin.go("/dead?error=barn")
        for key in keys[:2]:
            page.get_by_role("checkbox", name=f"Choose {key}").check()
        admin.press("Replay …")
        expect(page.get_by_role("main")).to_contain_text(keys[0])
        page.locator("button.danger").click()
        admin.is_told("2 runs were sent on the way again")
        for key, before in zip(keys[:2], tries[:2], strict=True):
            cluster.until_tried(key, before + 1)
        assert cluster.run(keys[2])["attempt"] == tries[2]
        for key in keys:
            cluster.until_state(key, "dead")

    def test_dead_letters_that_fit_are_shown_before_they_are_replayed(
        self, admin: Looker, cluster: Cluster
    ) -> None:
        key = cluster.enqueue("burn", "filtered", '{"what": "shed"}')
        attempt = cluster.until_state(key, "dead")["attempt"]
        page = admin.go("/dead?error=shed")
        page.get_by_role("link", name="Replay all that fit").click()
        expect(page.get_by_role("region", name="What it would do")).to_contain_text("1 run would be sent")
        assert cluster.run(key)["attempt"] == attempt
        admin.press("Replay them")
        admin.is_told("1 run was sent on the way again")
        cluster.until_tried(key, attempt + 1)
        assert cluster.run("burn#kept-0")["attempt"] == 1

    def test_a_job_is_enqueued_with_what_it_takes(self, admin: Looker, cluster: Cluster) -> None:
        page = admin.go(links.job("greet"))
        form = page.get_by_role("form", name="Run it by hand")
        form.get_by_label("name").fill("Clara")
        form.get_by_label("Key").fill("by-hand")
        admin.press("Enqueue")
        expect(page.locator(".said:not(.refused)")).to_be_visible()
        cluster.until_state("greet#by-hand", "succeeded")
        page = admin.go(links.run("greet#by-hand"))
        expect(page.locator("pre.log")).to_contain_text("Clara")


class Gates:
    """The inbox of what came late."""

    def test_a_closed_gate_is_opened_and_what_it_held_runs(
        self, admin: Looker, phone: Looker, cluster: Cluster
    ) -> None:
        cluster.close_gate()
        page = admin.go("/gates")
        expect(page.get_by_role("main")).to_contain_text("parcels")
        admin.check_access()
        phone.go("/gates")
        phone.check_width()
        held = cluster.runs("--schedule", "parcels", "--held", "--limit", "1000")
        first = min(one["run_key"] for one in held)
        admin.press("Open: run all")
        page.locator("button.danger").click()
        expect(page.get_by_role("main")).to_contain_text("No gate is closed")
        assert cluster.told_json("gate", "list") == []
        done = "--schedule", "parcels", "--state", "succeeded", "--limit", "1000"
        cluster.until(lambda: first in {one["run_key"] for one in cluster.runs(*done)}, f"{first} has run")
        assert "gate.open" in cluster.logged("parcels")


class Tokens:
    """Who may come in."""

    def test_a_token_is_made_shown_once_and_revoked(
        self, admin: Looker, cluster: Cluster, browser: Browser
    ) -> None:
        page = admin.go("/tokens")
        form = page.get_by_role("form", name="Make a token")
        form.get_by_label("Name").fill("grafana")
        form.get_by_label("Role").select_option("viewer")
        form.get_by_role("button", name="Create").click()
        expect(page.get_by_role("heading", level=1)).to_have_text("Shown once")
        admin.check_access()
        secret = page.get_by_label("The secret").input_value()
        with looker_at(browser, cluster, role=None) as owner:
            owner.go("/")
            owner.page.get_by_label("Token").fill(secret)
            owner.press("Sign in")
            expect(owner.page.locator(".who")).to_contain_text("grafana")
            page.get_by_role("link", name="Done").click()
            assert secret not in page.content()
            row = page.get_by_role("region", name="Tokens").get_by_role("row", name="grafana")
            row.get_by_role("button", name="Revoke").click()
            page.locator("button.danger").click()
            expect(row).to_contain_text("revoked")
            (token,) = [one for one in cluster.told_json("token", "list") if one["name"] == "grafana"]
            assert (token["role"], token["state"]) == ("viewer", "revoked")
            expect(owner.page.get_by_role("alert")).to_contain_text("session has ended")
            owner.go("/")
            expect(owner.page.get_by_label("Token")).to_be_visible()
        assert cluster.logged(token["token_id"]) == ["token.revoke", "token.create"]
        assert secret not in cluster.told("log", "--json")
