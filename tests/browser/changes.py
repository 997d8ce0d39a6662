"""What people change in the browser is in the ledger afterwards, and not only on the page."""

from __future__ import annotations

from datetime import UTC, datetime

from playwright.sync_api import expect

from fencepost.web.dashboard import links
from tests.browser.cluster import Cluster
from tests.browser.looking import Looker

NEXT_YEAR = datetime.now(UTC).year + 1


class Schedules:
    """A schedule from its making to its end."""

    def test_a_schedule_is_made_in_the_form_after_a_preview(self, admin: Looker, cluster: Cluster) -> None:
        page = admin.go("/schedules")
        page.get_by_role("link", name="New schedule").click()
        page.get_by_label("Id").fill("invoices/eu")
        page.get_by_label("Job").select_option("greet")
        page.get_by_label("Fires").fill("30 2 * * *")
        page.get_by_label("Zone of wall times").fill("Europe/Berlin")
        page.get_by_label("Labels").fill("team=billing")
        page.get_by_label("Payload").fill('{"name": "Berta"}')
        admin.press("Preview")
        expect(page.locator("#preview + div, #preview ~ div")).to_contain_text("Next ticks")
        assert "invoices/eu" not in [one["schedule_id"] for one in cluster.told_json("schedules", "list")]
        admin.press("Create")
        admin.is_told("invoices/eu")
        expect(page.get_by_role("heading", level=1)).to_contain_text("invoices/eu")
        made = cluster.schedule("invoices/eu")
        assert (made["state"], made["job"], made["payload"]) == ("active", "greet", {"name": "Berta"})
        assert made["labels"] == {"team": "billing"}
        assert cluster.logged("invoices/eu") == ["schedule.put"]

    def test_what_cannot_be_is_refused_before_anything_is_written(
        self, admin: Looker, cluster: Cluster
    ) -> None:
        page = admin.go("/new-schedule")
        page.get_by_label("Id").fill("never")
        page.get_by_label("Job").select_option("greet")
        page.get_by_label("Fires").fill("0 0 30 2 *")
        admin.press("Preview")
        expect(page.get_by_role("alert")).to_be_visible()
        expect(page.get_by_label("Fires")).to_have_value("0 0 30 2 *")
        expect(page.get_by_role("button", name="Create")).to_have_count(0)

    def test_an_edit_shows_what_it_changes_and_then_changes_it(self, admin: Looker, cluster: Cluster) -> None:
        cluster.told("schedules", "add", "edited", "--job", "greet", "--cron", "0 4 * * *")
        page = admin.go(links.schedule("edited"))
        page.get_by_role("link", name="Edit", exact=True).click()
        page.get_by_label("Fires").fill("15 5 * * *")
        admin.press("Preview")
        expect(page.locator(".diff")).to_contain_text("15 5 * * *")
        assert cluster.schedule("edited")["version"] == 1
        page.get_by_label("Why").fill("the bank opens later")
        admin.press("Save as version 2")
        admin.is_told("edited")
        edited = cluster.schedule("edited")
        assert edited["version"] == 2
        assert "15 5 * * *" in str(edited)
        (entry, *_) = [one for one in cluster.told_json("log") if one["subject"] == "edited"]
        assert (entry["action"], entry["reason"]) == ("schedule.put", "the bank opens later")

    def test_a_schedule_is_paused_resumed_and_triggered(self, admin: Looker, cluster: Cluster) -> None:
        cluster.told("schedules", "add", "yearly", "--job", "greet", "--at", f"{NEXT_YEAR}-01-01T00:00:00Z")
        page = admin.go(links.schedule("yearly"))
        admin.press("Pause")
        admin.is_told("paused")
        assert cluster.schedule("yearly")["state"] == "paused"
        expect(page.get_by_role("heading", level=1)).to_contain_text("paused")
        admin.press("Resume")
        admin.is_told("plans again")
        assert cluster.schedule("yearly")["state"] == "active"
        admin.press("Trigger now")
        page.get_by_role("link", name="See the run").click()
        expect(page.get_by_role("heading", level=1)).to_contain_text("yearly#")
        (run,) = cluster.runs("--schedule", "yearly")
        cluster.until_state(run["run_key"], "succeeded")
        expect(page.locator("[data-run] [data-field=state]")).to_contain_text("succeeded")
        said = {"schedule.pause", "schedule.resume", "schedule.trigger"}
        assert said <= set(cluster.logged("yearly"))

    def test_many_are_paused_at_once_and_the_others_go_on(self, admin: Looker, cluster: Cluster) -> None:
        for name in ("bulk-1", "bulk-2", "bulk-3"):
            cluster.told("schedules", "add", name, "--job", "greet", "--cron", "0 4 1 1 *")
        page = admin.go("/schedules?text=bulk-")
        for name in ("bulk-1", "bulk-2"):
            page.get_by_role("checkbox", name=f"Choose {name}").check()
        page.get_by_role("main").locator(".bulk").get_by_role("button", name="Pause").click()
        admin.is_told("2 of 2 paused")
        states = [cluster.schedule(f"bulk-{number}")["state"] for number in (1, 2, 3)]
        assert states == ["paused", "paused", "active"]
        page.get_by_role("checkbox", name="Choose all").check()
        page.get_by_role("main").locator(".bulk").get_by_role("button", name="Resume").click()
        admin.is_told("resumed")
        assert {cluster.schedule(f"bulk-{number}")["state"] for number in (1, 2, 3)} == {"active"}

    def test_a_backfill_is_estimated_first_and_then_fills(self, admin: Looker, cluster: Cluster) -> None:
        cluster.told("schedules", "add", "monthly", "--job", "greet", "--cron", "0 4 1 * *")
        page = admin.go(links.schedule("monthly"))
        page.get_by_role("link", name="Backfill", exact=True).click()
        page.get_by_label("From").fill("2026-01-01T00:00:00Z")
        page.get_by_label("To").fill("2026-04-01T00:00:00Z")
        admin.press("Estimate")
        expect(page.get_by_role("region", name="What it would do")).to_contain_text("3 of 3 fire times")
        assert cluster.runs("--schedule", "monthly") == []
        admin.press("Start it")
        page.wait_for_url(f"{cluster.address}/backfills")
        filled = "--schedule", "monthly", "--origin", "backfill", "--state", "succeeded"
        cluster.until(lambda: len(cluster.runs(*filled)) == 3, "three runs of the backfill succeeded")
        page = admin.go("/backfills")
        expect(page.get_by_role("main")).to_contain_text("monthly")
        admin.go(
            links.schedule("monthly", "backfill") + "?since=2026-01-01T00:00:00Z&until=2026-04-01T00:00:00Z"
        )
        expect(page.get_by_role("region", name="What it would do")).to_contain_text("nothing to run")

    def test_what_is_removed_is_asked_about_first(self, admin: Looker, cluster: Cluster) -> None:
        cluster.told("schedules", "add", "short-lived", "--job", "greet", "--cron", "0 4 1 * *")
        page = admin.go(links.schedule("short-lived"))
        page.get_by_label("More", exact=True).click()
        admin.press("Remove")
        expect(page.get_by_role("heading", level=1)).to_contain_text("?")
        admin.check_access()
        page.get_by_role("link", name="Back", exact=True).click()
        assert cluster.schedule("short-lived")["state"] == "active"
        page.get_by_label("More", exact=True).click()
        admin.press("Remove")
        page.locator("button.danger").click()
        admin.is_told("removed")
        assert "short-lived" not in [one["schedule_id"] for one in cluster.told_json("schedules", "list")]
        assert cluster.logged("short-lived")[0] == "schedule.remove"
