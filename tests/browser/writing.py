"""A schedule is written in the form, with the script and without it, and no address ever has its payload."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from fencepost.web.dashboard import links
from tests.browser.cluster import Cluster
from tests.browser.looking import Looker

CANARY = "canary-that-is-typed"


def asked_addresses(page: Page) -> list[str]:
    """The address of everything that the page asks for from now on."""
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    return asked


def write(page: Page, schedule_id: str) -> None:
    page.get_by_label("Id").fill(schedule_id)
    page.get_by_label("Job").select_option("greet")
    page.get_by_label("Fires").fill("30 2 * * *")
    page.get_by_label("Labels").fill("team=billing")
    page.get_by_label("Payload").fill(f'{{\n  "name": "{CANARY}"\n}}')


@pytest.mark.parametrize("way", ["script", "no-script"])
class Writing:
    """Preview, save, a refusal, and an edit."""

    def test_a_payload_is_previewed_and_saved_and_is_in_no_address(
        self, admins: dict[str, Looker], cluster: Cluster, way: str
    ) -> None:
        admin, schedule_id = admins[way], f"written/{way}"
        page = admin.go("/new-schedule")
        asked = asked_addresses(page)
        write(page, schedule_id)
        admin.press("Preview")
        expect(page.get_by_role("heading", name="Next ticks")).to_be_visible()
        expect(page.get_by_label("Payload")).to_have_value(f'{{\n  "name": "{CANARY}"\n}}')
        assert page.url == f"{cluster.address}/new-schedule"
        admin.press("Create")
        admin.is_told(schedule_id)
        assert cluster.schedule(schedule_id)["payload"] == {"name": CANARY}
        assert len(asked) >= 2
        assert [one for one in asked if CANARY in one] == []
        admin.watch.check()

    def test_one_who_is_refused_finds_what_was_typed_and_is_told_what_is_missing(
        self, admins: dict[str, Looker], cluster: Cluster, way: str
    ) -> None:
        admin, schedule_id = admins[way], f"taken/{way}"
        page = admin.go("/new-schedule")
        asked = asked_addresses(page)
        write(page, schedule_id)
        admin.press("Preview")
        cluster.told("schedules", "add", schedule_id, "--job", "greet", "--cron", "0 4 * * *")
        admin.press("Create")
        expect(page.get_by_role("alert")).to_contain_text("Not done.")
        expect(page.locator("p.note")).to_contain_text("the payload and the reason")
        expect(page.get_by_label("Id")).to_have_value(schedule_id)
        expect(page.get_by_label("Labels")).to_have_value("team=billing")
        expect(page.get_by_label("Payload")).to_have_value("")
        expect(page.get_by_role("button", name="Create")).to_have_count(0)
        write(page, f"{schedule_id}/2")
        admin.press("Preview")
        expect(page.locator("p.note")).to_have_count(0)
        admin.press("Create")
        admin.is_told(f"{schedule_id}/2")
        assert cluster.schedule(f"{schedule_id}/2")["payload"] == {"name": CANARY}
        assert [one for one in asked if CANARY in one] == []

    def test_an_edit_leaves_the_payload_alone_or_changes_it(
        self, admins: dict[str, Looker], cluster: Cluster, way: str
    ) -> None:
        admin, schedule_id = admins[way], f"rewritten-{way}"
        payload = '{"name": "Berta"}'
        cluster.told(
            *("schedules", "add", schedule_id, "--job", "greet", "--cron", "0 4 * * *", "--payload", payload)
        )
        page = admin.go(links.schedule(schedule_id, "edit"))
        page.get_by_label("Fires").fill("15 5 * * *")
        admin.press("Preview")
        expect(page.locator(".diff li")).to_have_count(1)
        admin.press("Save as version 2")
        admin.is_told(schedule_id)
        assert cluster.schedule(schedule_id)["payload"] == {"name": "Berta"}
        page = admin.go(links.schedule(schedule_id, "edit"))
        page.get_by_label("Payload").fill(f'{{"name": "{CANARY}"}}')
        admin.press("Preview")
        cluster.told("schedules", "edit", schedule_id, "--cron", "0 6 * * *")
        admin.press("Save as version 3")
        expect(page.get_by_role("alert").first).to_contain_text("Not done.")
        expect(page.get_by_role("alert").last).to_contain_text("it is version 3 by now")
        expect(page.locator("p.note")).to_contain_text("the payload and the reason")
        assert CANARY not in page.url
        page.get_by_role("link", name="open it again").click()
        expect(page.get_by_label("Fires")).to_have_value("0 6 * * *")
        page.get_by_label("Payload").fill(f'{{"name": "{CANARY}"}}')
        admin.press("Preview")
        page.get_by_label("Why").fill("another name")
        admin.press("Save as version 4")
        admin.is_told(schedule_id)
        assert cluster.schedule(schedule_id)["payload"] == {"name": CANARY}
        admin.watch.check()

    def test_a_link_to_the_form_fills_it_in_for_somebody_else(
        self, admins: dict[str, Looker], cluster: Cluster, way: str
    ) -> None:
        admin = admins[way]
        page = admin.go("/new-schedule")
        write(page, "shared")
        admin.press("Preview")
        page.get_by_role("link", name="A link to this form").click()
        expect(page.get_by_label("Id")).to_have_value("shared")
        expect(page.get_by_label("Fires")).to_have_value("30 2 * * *")
        assert "filled=yes" in page.url
        assert CANARY not in page.url
        expect(page.locator("p.note")).to_have_count(0)


class LivePreview:
    """What a schedule would do is shown as one types."""

    def test_the_preview_follows_what_is_typed_and_errors_stand_beside_their_fields(
        self, admin: Looker, cluster: Cluster
    ) -> None:
        page = admin.go("/new-schedule")
        write(page, "typed")
        expect(page.get_by_role("heading", name="Next ticks")).to_be_visible()
        expect(page.get_by_role("button", name="Create")).to_be_enabled()
        page.get_by_label("Fires").fill("99 99 * * *")
        expect(page.locator("#error-when")).to_contain_text("99")
        expect(page.get_by_label("Fires")).to_have_attribute("aria-invalid", "true")
        expect(page.get_by_role("button", name="Create")).to_have_count(0)
        admin.check_access()
        page.get_by_label("Fires").fill("every 15m")
        expect(page.locator("#error-when")).to_be_empty()
        page.get_by_role("button", name="Create").click()
        admin.is_told("typed")
        assert cluster.schedule("typed")["trigger"]["kind"] == "every"
