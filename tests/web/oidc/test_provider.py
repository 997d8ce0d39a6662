"""Signing in at a real provider, of another site, by a real browser: django-oauth-toolkit as a process."""

from __future__ import annotations

import http.client
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, Request, expect

from tests.browser.looking import PATIENCE_MS, browser_here
from tests.cli.calls import called, called_json
from tests.cli.processes import PATIENCE_S, started
from tests.contrib.servers import program
from tests.servers.ports import free_port, wait_until_heard
from tests.web.serving import MANIFEST

pytestmark = pytest.mark.browser
HERE = Path(__file__).parent
CLIENT_ID, PASSWORD = "fencepost-tests", "only for this test"
SECRET = "a-client-secret-of-the-tests"
BACK = "/sign-in/oidc/callback"


@dataclass(frozen=True)
class Sites:
    """The dashboard, and the provider on a host that browsers take for another site."""

    address: str
    provider: str
    store: str


@pytest.fixture(scope="module")
def sites(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sites]:
    if find_spec("oauth2_provider") is None:
        pytest.skip("needs a provider: pip install django-oauth-toolkit")
    folder, port, provider = tmp_path_factory.mktemp("oidc"), free_port(), free_port()
    address = f"http://127.0.0.1:{port}"
    (folder / "secret").write_text(SECRET)
    store = f"sqlite:///{folder / 'store.db'}"
    environment = {
        "FENCEPOST_OIDC_ISSUER": f"http://localhost:{provider}/o",
        "FENCEPOST_OIDC_CLIENT_ID": CLIENT_ID,
        "FENCEPOST_OIDC_CLIENT_SECRET": f"file:{folder / 'secret'}",
        "FENCEPOST_OIDC_ROLES": "cron-admins=admin,staff=viewer",
    }
    site = ("provider_site.py", str(provider), str(folder), address + BACK, f"{address}/sign-in", SECRET)
    serve = ("web", str(MANIFEST), "--bind", f"127.0.0.1:{port}", "--store", store)
    with program(*site, folder=HERE), started(*serve, folder=folder, **environment) as web:
        wait_until_heard(provider)
        web.wait_for("web serving")
        yield Sites(address, f"localhost:{provider}", store)
        assert SECRET not in web.said


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with browser_here() as opened:
        yield opened


@pytest.fixture
def context(browser: Browser) -> Iterator[BrowserContext]:
    made = browser.new_context()
    made.set_default_timeout(PATIENCE_MS)
    yield made
    made.close()


def sign_in(page: Page, sites: Sites, name: str, path: str = "/") -> None:
    """From the page that was asked for to the provider, and what comes of it."""
    page.goto(sites.address + path)
    page.get_by_role("link", name=f"Sign in at {sites.provider}").click()
    page.get_by_label("Username").fill(name)
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Log in").click()


def test_who_signs_in_comes_back_to_the_page_that_they_asked_for_with_their_role(
    context: BrowserContext, sites: Sites
) -> None:
    page = context.new_page()
    sign_in(page, sites, "anna", "/schedules?text=letters")
    page.wait_for_url(f"{sites.address}/schedules?text=letters")
    expect(page.locator(".who")).to_contain_text("anna")
    expect(page.locator(".who")).to_contain_text("admin")
    expect(page.locator("[data-live-switch]")).to_have_attribute("data-state", "live")
    assert not [one for one in context.cookies() if one["name"] == "__Host-fencepost-oidc"]
    with ThreadPoolExecutor(1) as thread:  # the browser's driver has a loop in this one
        entry = thread.submit(called_json, "log", "--store", sites.store).result()[0]
    assert (entry["action"], entry["author"]) == ("session.open", "anna")
    assert entry["credential"].endswith(f"@{sites.provider}")


def test_who_signs_out_is_out_and_can_sign_out_at_the_provider_too(
    context: BrowserContext, sites: Sites
) -> None:
    page = context.new_page()
    sign_in(page, sites, "ben")
    page.wait_for_url(f"{sites.address}/")
    expect(page.locator(".who")).to_contain_text("viewer")
    page.locator(".who summary").click()
    page.get_by_role("button", name="Sign out").click()
    page.wait_for_url(f"{sites.address}/sign-in?signed_out=1")
    assert not [one for one in context.cookies() if one["name"] == "__Host-fencepost"]
    page.get_by_role("link", name="Sign out there too").click()
    page.get_by_role("button", name="Logout").click()
    page.wait_for_url(f"{sites.address}/sign-in")
    page.get_by_role("link", name=f"Sign in at {sites.provider}").click()
    expect(page.get_by_label("Username")).to_be_visible()


def test_who_has_no_role_does_not_come_in(context: BrowserContext, sites: Sites) -> None:
    page = context.new_page()
    sign_in(page, sites, "cleo")
    expect(page.get_by_role("alert")).to_contain_text("You signed in as cleo")
    assert not [one for one in context.cookies() if one["name"] == "__Host-fencepost"]


def test_a_token_signs_in_as_before(context: BrowserContext, sites: Sites) -> None:
    with ThreadPoolExecutor(1) as thread:
        token = thread.submit(called, "token", "create", "ci", "--store", sites.store, "--role", "viewer")
    page = context.new_page()
    page.goto(f"{sites.address}/runs")
    page.get_by_label("Token").fill(token.result().strip())
    page.get_by_role("button", name="Sign in").click()
    page.wait_for_url(f"{sites.address}/runs")


def test_the_way_back_cannot_be_gone_twice(context: BrowserContext, sites: Sites) -> None:
    """Not even by a program that has the browser's cookie of the attempt."""
    gone = list[Request]()
    context.on("request", lambda one: gone.append(one) if BACK in one.url else None)
    page = context.new_page()
    sign_in(page, sites, "anna")
    page.wait_for_url(f"{sites.address}/")
    (once,) = gone
    cookie = once.all_headers()["cookie"]
    assert "__Host-fencepost-oidc=" in cookie
    for shown, status in ((cookie, 502), ("", 403)):
        answer = asked(once.url, shown)
        assert answer.status == status
        assert "__Host-fencepost=" not in str(answer.getheaders())


def asked(url: str, cookie: str) -> http.client.HTTPResponse:
    parts = urlsplit(url)
    connection = http.client.HTTPConnection(parts.netloc, timeout=PATIENCE_S)
    headers = {"Accept": "text/html", **({"Cookie": cookie} if cookie else {})}
    connection.request("GET", f"{parts.path}?{parts.query}", headers=headers)
    answer = connection.getresponse()
    answer.read()
    connection.close()
    return answer
