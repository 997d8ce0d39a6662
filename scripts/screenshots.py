"""Pictures of the dashboard for the documentation: the demo on a new store, walked with a real browser.

    make screenshots

Every page is looked at in light and in dark, some as wide as a phone. A page that answers with an error, or
that a browser complains about, fails the whole.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.parse import unquote

from playwright.sync_api import Browser, BrowserContext, sync_playwright

from scripts.small_png import small_png

CHROMIUM = "/usr/bin/chromium"
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"]
FOLDER = Path(__file__).parent.parent / "docs" / "screenshots"
BYTES_MAX = 150 * 1024
WIDE, PHONE = {"width": 1360, "height": 860}, {"width": 390, "height": 844}
LINK = re.compile(r"sign in, once\s+(http://\S+)")
TICKING_MS = 9_000
SCHEDULE_ID, JOB = "stock-sync-madrid", "stock-sync"
PAGES = {
    "/": "overview",
    "/schedules": "schedules",
    "/matrix": "matrix",
    "/schedules/{schedule_id}": "schedule",
    "/schedules/{schedule_id}/edit": "schedule-edit",
    "/schedules/{schedule_id}/backfill": "schedule-backfill",
    "/schedules/{schedule_id}/why": "why",
    "/new-schedule": "new-schedule",
    "/search": "search",
    "/runs": "runs",
    "/runs/{run_key}": "run",
    "/jobs": "jobs",
    "/notifications": "notifications",
    "/jobs/{job}": "job",
    "/dead": "dead-letters",
    "/dead/replay": "dead-letters-replay",
    "/gates": "gates",
    "/forecast": "forecast",
    "/leases": "leases",
    "/workers": "workers",
    "/backfills": "backfills",
    "/log": "audit-log",
    "/tokens": "tokens",
}
"""Every page of the dashboard, and what its picture is called."""
SAID = {
    "/search": "?text=stock",
    "/schedules/{schedule_id}/edit": "?filled=yes&job=stock-sync&when=*/5+7-21+*+*+mon-sat&tz=Europe/Madrid"
    "&labels=team%3Dlogistics",
    "/schedules/{schedule_id}/backfill": "?since=6h&until=1h&mode=all",
    "/new-schedule": "?filled=yes&schedule_id=reminders&job=send-invoices&when=30+2+*+*+*&tz=Europe/Berlin",
}
"""What is chosen on a page whose picture would be empty otherwise."""
PREVIEWED = ("schedule-edit", "new-schedule")
READY = {"forecast": "main svg"}
"""What a page has once it shows what it is for."""
DRESSES = (
    ("light", "light", WIDE, tuple(PAGES)),
    ("dark", "dark", WIDE, tuple(PAGES)),
    ("phone", "light", PHONE, ("/", "/matrix", "/schedules/{schedule_id}", "/runs")),
)
"""What a picture is called for, its colours, its size, and the pages."""


def main() -> int:
    """Write them all; how many would not do."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    with demo() as link, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        complaints = [*walk(browser, link), *shrink(browser)]
        browser.close()
    for one in complaints:
        print(one, file=sys.stderr)
    return 1 if complaints else 0


@contextmanager
def demo() -> Iterator[str]:
    """The demo on a new store; its sign-in link."""
    with TemporaryDirectory() as folder:
        command = [sys.executable, "-u", "-m", "fencepost", "demo", "--store", f"sqlite:///{folder}/demo.db"]
        with subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, cwd=folder
        ) as process:
            try:
                yield _link(process)
            finally:
                process.terminate()
                process.communicate(timeout=60)


def _link(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    said = []
    for line in process.stdout:
        said.append(line)
        if found := LINK.search(line):
            return found[1]
    raise RuntimeError("the demo ended: " + "".join(said))


def walk(browser: Browser, link: str) -> list[str]:
    """Every page in every dress."""
    complaints: list[str] = []
    state = sign_in(browser, link)
    base = link.partition("/sign-in")[0]
    for dress, theme, size, pages in DRESSES:
        context = dressed(browser, state, base, theme, size)
        values = values_of(context, base)
        for page in pages:
            complaints += take(context, base + address_of(page, values), PAGES[page], dress)
        context.close()
    return complaints


def sign_in(browser: Browser, link: str) -> object:
    """By the link, as a person does."""
    context = browser.new_context()
    page = context.new_page()
    page.goto(link)
    page.get_by_role("button", name="Sign in").first.click()
    page.wait_for_selector("nav.side")
    page.wait_for_timeout(TICKING_MS)
    state = context.storage_state()
    context.close()
    return state


def dressed(browser: Browser, state: object, base: str, theme: str, size: dict[str, int]) -> BrowserContext:
    context = browser.new_context(
        storage_state=state,  # type: ignore[arg-type]
        viewport=size,  # type: ignore[arg-type]
        timezone_id="Europe/Berlin",
        device_scale_factor=1,
        reduced_motion="reduce",
    )
    context.add_cookies(
        [
            {"name": "fencepost_theme", "value": theme, "url": base},
            {"name": "fencepost_zone", "value": "Europe%2FBerlin", "url": base},
        ]
    )
    return context


def values_of(context: BrowserContext, base: str) -> dict[str, str]:
    """What stands in paths: a run that has something to tell, the newest that is dead after several attempts,
    with its schedule, its job and its fire time."""
    page = context.new_page()
    page.goto(f"{base}/runs?state=dead&schedule={SCHEDULE_ID}")
    path = page.locator("tr[data-run] a").first.get_attribute("href")
    page.close()
    assert path is not None
    run_key = path.removeprefix("/runs/")
    fire_time = unquote(run_key).split("#")[1]
    return {"schedule_id": SCHEDULE_ID, "run_key": run_key, "job": JOB, "fire_time": fire_time}


def address_of(page: str, values: Mapping[str, str]) -> str:
    """Where a page is, with what is chosen on it."""
    said = f"?at={values['fire_time']}" if page.endswith("/why") else SAID.get(page, "")
    return page.format(**values) + said


def take(context: BrowserContext, address: str, name: str, dress: str) -> list[str]:
    """One picture; what is wrong with it."""
    page = context.new_page()
    found: list[str] = []
    page.on("console", lambda message: found.append(message.text) if message.type == "error" else None)
    page.on("pageerror", lambda error: found.append(str(error)))
    answer = page.goto(address)
    if answer is None or not answer.ok:
        found.append(f"answered {answer.status if answer else 'nothing'}")
    else:
        page.wait_for_selector("[data-live-switch][data-state='live']")
        if name in PREVIEWED:
            page.get_by_role("button", name="Preview").click()
            page.wait_for_selector("text=Next ticks")
        page.wait_for_selector(READY.get(name, "main h1"))
    path = FOLDER / f"{name}-{dress}.png"
    path.write_bytes(page.screenshot(animations="disabled", caret="hide"))
    if page.evaluate("document.documentElement.scrollWidth > innerWidth"):
        found.append("scrolls sideways")
    page.close()
    return [f"{path.name}: {one}" for one in found]


def shrink(browser: Browser) -> list[str]:
    """Make them all small; which ones still are not."""
    page, large = browser.new_page(), []
    for path in sorted(FOLDER.glob("*.png")):
        path.write_bytes(small_png(path.read_bytes(), page))
        if path.stat().st_size > BYTES_MAX:
            large.append(f"{path.name}: {path.stat().st_size // 1024} KiB, more than {BYTES_MAX // 1024}")
    page.close()
    return large


if __name__ == "__main__":
    sys.exit(main())
