"""A real browser at the door: the cookie is kept and shown, and another site can do nothing with it."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, sync_playwright

from tests.cli.calls import called
from tests.web.serving import Server, require

pytestmark = [pytest.mark.proof, pytest.mark.browser, pytest.mark.timeout(300)]

OPTIONS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--no-first-run"]
OPTIONS += ["--disable-component-update", "--disable-sync", "--disable-quic"]
PATIENCE_MS = 60_000
DOCUMENT = "/api/v1/openapi.json"
COOKIE = "__Host-fencepost"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("door")
    made = Server(f"sqlite:///{folder / 'store.db'}")
    with made.process(folder):
        yield made


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    require("chromium")
    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path="/usr/bin/chromium", args=OPTIONS)
        yield opened
        opened.close()


@pytest.fixture
def context(browser: Browser) -> Iterator[BrowserContext]:
    opened = browser.new_context()
    opened.set_default_timeout(PATIENCE_MS)
    yield opened
    opened.close()


@contextmanager
def another_site(page: str) -> Iterator[str]:
    """The address of a page on another site: `localhost` is none of 127.0.0.1's."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            self.wfile.write(page.encode())

        def log_message(self, *_: object) -> None:
            return None

    serving = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=serving.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://localhost:{serving.server_port}/"
    finally:
        serving.shutdown()
        serving.server_close()
        thread.join()


def told(*arguments: str) -> str:
    """What a command prints; in a thread of its own, because the browser's driver has a loop in this one."""
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(called, *arguments).result().strip()


def address(server: Server) -> str:
    return f"http://127.0.0.1:{server.port}"


def signed_in(server: Server, context: BrowserContext) -> Page:
    link = told("token", "link", "--url", address(server), "--store", server.store)
    page = context.new_page()
    page.goto(link)
    page.get_by_role("button", name="Sign in").click()
    page.wait_for_url(lambda url: "/sign-in" not in url)
    return page


def status_of(page: Page, url: str) -> int:
    answer = page.goto(url)
    assert answer is not None
    return answer.status


def test_a_link_signs_a_browser_in_over_plain_http_on_this_host(
    server: Server, context: BrowserContext
) -> None:
    complaints: list[str] = []
    context.on("console", lambda message: complaints.append(message.text))
    page = signed_in(server, context)
    (cookie,) = context.cookies(address(server))
    assert (cookie["name"], cookie["secure"], cookie["httpOnly"]) == (COOKIE, True, True)
    assert (cookie["sameSite"], cookie["path"]) == ("Strict", "/")
    assert status_of(page, address(server) + DOCUMENT) == 200
    assert page.evaluate("document.cookie") == ""
    assert [one for one in complaints if "Content Security Policy" in one] == []


def test_a_link_is_good_for_one_browser(server: Server, browser: Browser) -> None:
    link = told("token", "link", "--url", address(server), "--store", server.store)
    refused = []
    for _ in range(2):
        context = browser.new_context()
        page = context.new_page()
        page.goto(link)
        page.get_by_role("button", name="Sign in").click()
        page.wait_for_load_state()
        refused.append("not good, or not any more" in page.content())
        context.close()
    assert refused == [False, True]


def test_a_page_that_was_asked_for_is_shown_after_a_token_was_typed(
    server: Server, context: BrowserContext
) -> None:
    token = told("token", "create", "anna", "--role", "viewer", "--store", server.store)
    page = context.new_page()
    page.goto(f"{address(server)}/nowhere?a=1")
    assert page.url == f"{address(server)}/sign-in?next=%2Fnowhere%3Fa%3D1"
    page.get_by_label("Token").fill(token)
    page.get_by_role("button", name="Sign in").click()
    page.wait_for_url(f"{address(server)}/nowhere?a=1")


def test_whoever_follows_a_link_from_another_site_is_still_signed_in(
    server: Server, context: BrowserContext
) -> None:
    page = signed_in(server, context)
    with another_site(f'<a href="{address(server)}/nowhere?b=2">see</a>') as elsewhere:
        page.goto(elsewhere)
        page.get_by_role("link").click()
        page.wait_for_url(f"{address(server)}/nowhere?b=2")
        page.wait_for_function("!document.querySelector('meta[http-equiv=refresh]')")
    assert page.url == f"{address(server)}/nowhere?b=2"
    assert "Token" not in page.inner_text("body")


def test_a_form_on_another_site_changes_nothing(server: Server, context: BrowserContext) -> None:
    page = signed_in(server, context)
    form = f'<form action="{address(server)}/sign-out" method="post"><button>win</button></form>'
    with another_site(form) as elsewhere:
        page.goto(elsewhere)
        page.get_by_role("button").click()
        page.wait_for_url(lambda url: url.startswith(address(server)))
    assert status_of(page, address(server) + DOCUMENT) == 200


def test_no_other_site_signs_a_browser_in(server: Server, context: BrowserContext) -> None:
    link = told("token", "link", "--url", address(server), "--store", server.store)
    secret = link.partition("?link=")[2]
    field = f'<input name="link" value="{secret}">'
    form = f'<form action="{address(server)}/sign-in" method="post">{field}<button>win</button></form>'
    page = context.new_page()
    with another_site(form) as elsewhere:
        page.goto(elsewhere)
        page.get_by_role("button").click()
        page.wait_for_url(lambda url: url.startswith(address(server)))
    assert context.cookies(address(server)) == []
