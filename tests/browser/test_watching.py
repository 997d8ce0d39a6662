"""Those who watch do see: a page that does what no page may is complained about, in the same browser."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Route

from tests.browser.cluster import Cluster
from tests.browser.looking import Looker, browser_here, looker_at

pytestmark = [pytest.mark.proof, pytest.mark.browser, pytest.mark.timeout(300)]
POLICY = {"Content-Security-Policy": "script-src 'self'; style-src 'self'"}
PATIENCE_S = 30
LOOK_EVERY_MS = 20


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with browser_here() as opened:
        yield opened


@pytest.fixture
def looker(browser: Browser) -> Iterator[Looker]:
    with looker_at(browser, Cluster("sqlite:///nowhere.db"), role=None) as made:
        yield made


def complaints(looker: Looker, body: str) -> str:
    def answer(route: Route) -> None:
        if route.request.is_navigation_request():
            text = f"<!doctype html><html lang=en><title>t</title><main><h1>t</h1>{body}</main>"
            route.fulfill(body=text, content_type="text/html", headers=POLICY)
        else:
            route.abort()

    looker.context.route("**/*", answer)
    looker.page.goto(looker.cluster.address + "/", wait_until="load")
    return "\n".join(looker.watch.complaints)


def test_a_plain_page_is_not_complained_about(looker: Looker) -> None:
    assert complaints(looker, "<p>fine</p>") == ""
    looker.check_width()
    looker.check_access()


@pytest.mark.parametrize(
    ("body", "complaint"),
    [
        ("<script>1</script>", "stopped by the policy: script-src"),
        ("<p style='color: red'>x</p>", "stopped by the policy: style-src"),
        ("<img alt='' src='http://elsewhere.test/x.png'>", "leaves the house: http://elsewhere.test/x.png"),
        ("<img alt='' src='/missing.png'>", "failed: "),
    ],
)
def test_what_no_page_may_do_is_complained_about(looker: Looker, body: str, complaint: str) -> None:
    seen = complaints(looker, body)
    deadline = time.monotonic() + PATIENCE_S
    while complaint not in seen and time.monotonic() < deadline:
        looker.page.wait_for_timeout(LOOK_EVERY_MS)
        seen = "\n".join(looker.watch.complaints)
    assert complaint in seen, "a violation is an event of its own: it may come after the page has loaded"


def test_a_page_that_is_too_wide_is_found(looker: Looker) -> None:
    complaints(looker, "<pre>" + "x" * 3_000 + "</pre>")
    with pytest.raises(AssertionError, match="too wide"):
        looker.check_width()


def test_a_field_without_a_name_is_found(looker: Looker) -> None:
    complaints(looker, "<input>")
    with pytest.raises(AssertionError, match="label"):
        looker.check_access()
