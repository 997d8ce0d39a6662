"""A live cluster on the store of the module, and people who look at it; one of each a module.

The driver of the browser keeps a loop running in this thread, and tests of other files have loops of their
own: so nothing of it outlives its module.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, expect

from tests.browser.cluster import Cluster, cluster_on
from tests.browser.looking import PATIENCE_MS, PHONE, Looker, browser_here, looker_at

expect.set_options(timeout=PATIENCE_MS)


@pytest.fixture(scope="module")
def cluster(store: str) -> Iterator[Cluster]:
    with cluster_on(store) as made:
        yield made


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with browser_here() as opened:
        yield opened


@pytest.fixture(scope="module")
def admin_at_a_verbs(browser: Browser, cluster: Cluster) -> Iterator[Looker]:
    with looker_at(browser, cluster) as looker:
        yield looker


@pytest.fixture(scope="module")
def admin_with_a_phone(browser: Browser, cluster: Cluster) -> Iterator[Looker]:
    with looker_at(browser, cluster, PHONE) as looker:
        yield looker


@pytest.fixture(scope="module")
def viewer_at_a_verbs(browser: Browser, cluster: Cluster) -> Iterator[Looker]:
    with looker_at(browser, cluster, role="viewer") as looker:
        yield looker


@pytest.fixture(scope="module")
def admins(browser: Browser, cluster: Cluster, admin_at_a_verbs: Looker) -> Iterator[dict[str, Looker]]:
    """One whose browser runs scripts, and one whose does not."""
    with looker_at(browser, cluster, script=False) as without_script:
        yield {"script": admin_at_a_verbs, "no-script": without_script}


@pytest.fixture
def admin(admin_at_a_verbs: Looker) -> Iterator[Looker]:
    """An admin who has seen no complaint at the end of the test."""
    yield from _watched(admin_at_a_verbs)


@pytest.fixture
def phone(admin_with_a_phone: Looker) -> Iterator[Looker]:
    """An admin with a phone who has seen no complaint at the end of the test."""
    yield from _watched(admin_with_a_phone)


@pytest.fixture
def viewer(viewer_at_a_verbs: Looker) -> Iterator[Looker]:
    """A viewer who has seen no complaint at the end of the test."""
    yield from _watched(viewer_at_a_verbs)


@pytest.fixture
def stranger(browser: Browser, cluster: Cluster) -> Iterator[Looker]:
    """Somebody who has not signed in."""
    with looker_at(browser, cluster, role=None) as looker:
        yield looker
        looker.watch.check()


def _watched(looker: Looker) -> Iterator[Looker]:
    looker.watch.forget()
    looker.in_scheme("light")
    yield looker
    looker.watch.check()
