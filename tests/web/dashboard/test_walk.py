"""What holds for every page that there is, and for those that will be added."""

from typing import Any

import pytest

from fencepost.model.access import Role
from fencepost.model.identifiers import Namespace
from fencepost.web.dashboard.actions.operations import changes
from fencepost.web.dashboard.navigation import GROUPS
from fencepost.web.dashboard.page import Page, all_pages
from tests.services.house import House
from tests.web.dashboard.furnished import HOSTILE, furnished
from tests.web.dashboard.house import Dashboard, somebody, words_of
from tests.web.dashboard.reading import faults, forms, parsed
from tests.web.dashboard.test_pages import address

PAGES = [(one, found) for one in all_pages() if (found := address(one)) is not None]
OF_ONE_THING = [(one, path) for one, path in PAGES if one.in_path]
OF_THE_HOUSE = [(one, path) for one, path in PAGES if not one.in_path]
FLEET = {"/leases", "/workers"}
"""Nodes and leases serve every namespace, and everybody sees them."""


def test_every_page_is_walked() -> None:
    assert [one.path for one in all_pages() if address(one) is None] == []


def test_every_word_of_the_navigation_leads_to_a_page() -> None:
    paths = {one.path: one for one in all_pages()}
    for _, places in GROUPS:
        for place in places:
            assert paths[place.href].role == place.role
            assert paths[place.href].section == place.section


def test_no_two_words_of_the_navigation_share_a_letter() -> None:
    letters = [place.key for _, places in GROUPS for place in places]
    assert len(letters) == len(set(letters))


@pytest.mark.parametrize(("page", "path"), PAGES, ids=[one.path for one, _ in PAGES])
@pytest.mark.parametrize("role", Role)
async def test_nobody_finds_a_form_that_would_be_refused(page: Page[Any], path: str, role: Role) -> None:
    if not role.covers(page.role):
        return
    board = Dashboard(await furnished(), somebody(role))
    text = await board.page(path)
    for one in parsed(text).elements:
        for name in ("action", "formaction"):
            operation = one.attributes.get(name, "").removeprefix("/do/")
            if one.attributes.get(name, "").startswith("/do/"):
                known = changes()[operation]
                assert role.covers(known.role), f"{path}: {operation} is not for {role}"
                assert not known.whole_fleet, f"{path}: {operation} is for those of all namespaces"


@pytest.mark.parametrize(("page", "path"), PAGES, ids=[one.path for one, _ in PAGES])
async def test_no_form_puts_a_secret_into_an_address(page: Page[Any], path: str) -> None:
    board = Dashboard(await furnished(), somebody(namespace="*"))
    texts = [await board.page(path)] + ([await board.posted(path)] if page.posted else [])
    secret = {"csrf", "payload", "reason", "token", "link", *page.posted}
    for form, names in [one for text in texts for one in forms(text)]:
        match form.attributes.get("method", "get"):
            case "get":
                assert names & secret == set(), (path, form)
            case "post":
                assert "csrf" in names, (path, form)
            case other:
                assert (other, names) == ("dialog", set())


async def test_those_of_all_namespaces_find_what_is_for_the_whole_fleet() -> None:
    board = Dashboard(await furnished(), somebody(namespace="*"))
    assert 'action="/do/nodes.drain"' in await board.page("/workers")


@pytest.mark.parametrize(("page", "path"), OF_ONE_THING, ids=[one.path for one, _ in OF_ONE_THING])
async def test_a_thing_of_another_namespace_is_not_there(page: Page[Any], path: str) -> None:
    board = Dashboard(await furnished(), somebody(namespace="other"))
    text = await board.page(path, 404)
    assert HOSTILE[:8] not in words_of(text)


@pytest.mark.parametrize(("page", "path"), OF_THE_HOUSE, ids=[one.path for one, _ in OF_THE_HOUSE])
async def test_a_list_shows_nothing_of_another_namespace(page: Page[Any], path: str) -> None:
    board = Dashboard(await furnished(), somebody(namespace="other"))
    text = await board.page(path)
    if page.path not in FLEET:
        assert "minutely" not in text
        assert "mail/digest" not in text
        assert "&lt;b&gt;bold" not in text


@pytest.mark.parametrize(("page", "path"), OF_THE_HOUSE, ids=[one.path for one, _ in OF_THE_HOUSE])
async def test_a_page_of_an_empty_house_stands(page: Page[Any], path: str) -> None:
    assert faults(await Dashboard(House(), somebody()).page(page.path)) == []


@pytest.mark.parametrize(("page", "path"), PAGES, ids=[one.path for one, _ in PAGES])
async def test_a_nul_in_the_address_is_refused(page: Page[Any], path: str) -> None:
    board = Dashboard(House(), somebody())
    query = "&" if "?" in path else "?"
    assert (await board.get(f"{path}{query}after=%00")).status == 400


def test_the_namespace_of_the_walk_is_nobodys() -> None:
    assert Namespace("other") != somebody().namespace
