"""The pages about brokers say what is so."""

from __future__ import annotations

from pathlib import Path

import pytest

from fencepost import wiring

GUIDES = Path(__file__).parents[2] / "docs/guides/brokers"


@pytest.mark.parametrize("page", sorted(GUIDES.glob("*.md")), ids=lambda page: page.stem)
def test_the_page_of_a_broker_names_all_its_schemes(page: Path) -> None:
    schemes = [scheme for scheme, kind in wiring.BROKER_SCHEMES.items() if kind == page.stem]
    assert schemes
    text = page.read_text("utf-8")
    for scheme in schemes:
        assert f"{scheme}://" in text, scheme


def test_the_page_of_nats_shows_the_command_that_is_told() -> None:
    from fencepost.brokers.nats.streams import command

    assert command("orders.new") in (GUIDES / "nats.md").read_text("utf-8")


def test_the_page_of_redis_grants_what_the_tests_grant() -> None:
    from tests.brokers.test_redis_access import COMMANDS

    rule = (GUIDES / "redis.md").read_text("utf-8").partition("ACL SETUSER")[2].partition("```")[0]
    assert [part[1:] for part in rule.split() if part.startswith("+")] == COMMANDS
