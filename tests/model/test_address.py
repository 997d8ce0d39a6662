"""A password is shown to nobody, however the URL was mistyped."""

from __future__ import annotations

import pytest

from fencepost import wiring
from fencepost.config import settings_from
from fencepost.errors import UsageError
from fencepost.model.address import mask, parse_address
from fencepost.stores.memory import MemoryStore
from fencepost.stores.postgres.address import parse_address as parse_store
from fencepost.testing.clock import VirtualClock

SECRET = "hunter2xyz"
MISTYPED = [
    "redis://:hunter2xyz#frag@host:6379/0",
    "redis://user:hunter2xyz/more@host",
    "redis://user:hunter2xyz?more@host",
    "etcd://root:hunter2xyz#@one:2379,two:2379",
    "etcd://root:a@hunter2xyz@one:2379",
    "redis+sentinel://s1:26379/main?sentinel_password=hunter2xyz",
    "mongodb://host/?authMechanismProperties=TOKEN:hunter2xyz",
]


@pytest.mark.parametrize("url", MISTYPED)
def test_a_password_with_special_characters_is_not_shown(url: str) -> None:
    assert SECRET not in mask(url)
    try:
        shown = parse_address(url, 1).shown
    except UsageError as refusal:
        shown = str(refusal)
    assert SECRET not in shown


@pytest.mark.parametrize("url", ["postgresql://u:hunter2xyz#x@h/db", "postgresql://u:hunter2xyz/x@h:5432/db"])
def test_a_stores_password_is_not_shown(url: str) -> None:
    try:
        shown = parse_store(url).shown
    except UsageError as refusal:
        shown = str(refusal)
    assert SECRET not in shown


@pytest.mark.parametrize("url", ["redis//:hunter2xyz@h", "redis:/:hunter2xyz@h", "etcd:root:hunter2xyz@h"])
async def test_a_mistyped_scheme_does_not_show_what_comes_after_it(url: str) -> None:
    for setting in ("leases", "store"):
        settings = settings_from({}, overrides={setting: url})
        with pytest.raises(UsageError) as refusal:
            await (
                wiring.open_leases(settings, MemoryStore(VirtualClock()))
                if setting == "leases"
                else wiring.open_store(settings)
            )
        assert SECRET not in str(refusal.value)


def test_what_is_no_secret_is_shown() -> None:
    assert mask("postgresql://anna@db:5432/shop?sslmode=require") == (
        "postgresql://anna@db:5432/shop?sslmode=require"
    )
    assert mask("etcd://root:pw@one:2379,two:2379?name=x") == "etcd://root:***@one:2379,two:2379?name=x"
