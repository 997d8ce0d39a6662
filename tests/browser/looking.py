"""Somebody at a browser: signed in with a role, at a control or with a phone, in light or dark."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Literal

from axe_playwright_python.base import AXE_SCRIPT
from playwright.sync_api import Browser, BrowserContext, Page, expect, sync_playwright

from tests.browser.cluster import PATIENCE_S, Cluster
from tests.browser.watching import Watch
from tests.web.serving import require

OPTIONS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--disable-background-networking"]
OPTIONS += ["--disable-component-update", "--disable-sync", "--no-first-run"]
PATIENCE_MS = PATIENCE_S * 1_000
DESK, PHONE = (1280, 900), (390, 844)
GRAVE = ("serious", "critical")
COLOURS = {"runOnly": {"type": "rule", "values": ["color-contrast", "link-in-text-block"]}}
RUN_AXE = "(options) => axe.run({ exclude: [['datalist']] }, options)"
"""Hundreds of names to choose from are texts, and take it longer than all the rest."""
WIDE_ONES = """
() => [...document.querySelectorAll("main *")]
  .filter((one) => one.getBoundingClientRect().right > innerWidth)
  .map((one) => one.outerHTML.slice(0, 120)).slice(0, 5)
"""
WIDER = "document.scrollingElement.scrollWidth - document.documentElement.clientWidth"


@dataclass
class Looker:
    """One browser of one person. Every page is opened in the same tab, so that there is a way back."""

    cluster: Cluster
    context: BrowserContext
    watch: Watch
    page: Page

    def go(self, path: str, status: int = 200) -> Page:
        """Open a page."""
        answer = self.page.goto(self.cluster.address + path)
        assert answer is not None
        assert answer.status == status, f"{path}: {answer.status}\n{self.cluster.said}"
        expect(self.page.locator("[data-refresh]")).to_have_count(0)
        return self.page

    def press(self, name: str) -> None:
        """Press a button of the page."""
        self.page.get_by_role("main").get_by_role("button", name=name, exact=True).click()

    def is_told(self, words: str) -> None:
        """The page says what was done."""
        expect(self.page.locator(".said")).to_contain_text(words)

    def in_scheme(self, scheme: Literal["light", "dark"]) -> None:
        self.page.emulate_media(color_scheme=scheme)

    def check_width(self) -> None:
        """Nobody has to scroll sideways to read a page."""
        assert self.page.evaluate(WIDER) <= 0, f"{self.page.url} is too wide: {self._wide_ones()}"

    def check_access(self) -> None:
        """Nothing is there that somebody cannot see, hear or reach, in light or in dark. What light and dark
        change are colours: only those are looked at twice."""
        self.page.evaluate(AXE_SCRIPT)
        self.in_scheme("dark")
        dark = self._faults(COLOURS)
        self.in_scheme("light")
        assert (self._faults({}), dark) == ([], [])

    def _faults(self, options: Mapping[str, object]) -> list[str]:
        found = self.page.evaluate(RUN_AXE, {"resultTypes": ["violations"], **options})
        return [
            f"{one['id']}: {node['target']} {node['html'][:200]} {node['failureSummary']}"
            for one in found["violations"]
            if one["impact"] in GRAVE
            for node in one["nodes"]
        ]

    def _wide_ones(self) -> list[str]:
        found: list[str] = self.page.evaluate(WIDE_ONES)
        return found


@contextmanager
def browser_here() -> Iterator[Browser]:
    """Chromium of this machine, never another."""
    require("chromium")
    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path="/usr/bin/chromium", args=OPTIONS)
        yield opened
        opened.close()


@contextmanager
def looker_at(
    browser: Browser,
    cluster: Cluster,
    size: tuple[int, int] = DESK,
    *,
    role: str | None = "admin",
    script: bool = True,
) -> Iterator[Looker]:
    """Somebody in a browser of their own; signed in by a link where they have a role."""
    width, height = size
    is_phone = size == PHONE
    context = browser.new_context(
        viewport={"width": width, "height": height},
        is_mobile=is_phone,
        has_touch=is_phone,
        reduced_motion="reduce",
        timezone_id="Europe/Berlin",
        java_script_enabled=script,
    )
    context.set_default_timeout(PATIENCE_MS)
    looker = Looker(cluster, context, Watch(context, cluster.address), context.new_page())
    if role is not None:
        sign_in_by_link(looker, role)
    yield looker
    context.close()


def sign_in_by_link(looker: Looker, role: str) -> None:
    """Open a link and press its button: who only looks at the link has not used it."""
    link = looker.cluster.told("token", "link", "--role", role, "--url", looker.cluster.address)
    looker.page.goto(link)
    looker.press("Sign in")
    looker.page.wait_for_url(f"{looker.cluster.address}/")
