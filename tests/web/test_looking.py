"""Many who come at once do not ask the store all at once who they are."""

from __future__ import annotations

import asyncio
from secrets import token_bytes
from typing import Any

import pytest

from fencepost.model.access import CredentialKind, mint
from fencepost.web.auth.known import LOOKING_MAX
from tests.web.door import Door

AT_ONCE = 50


class Looks:
    """How often the store was asked for a token, and by how many at a time."""

    def __init__(self, door: Door, monkeypatch: pytest.MonkeyPatch) -> None:
        self.count, self.most, self._now = 0, 0, 0
        self._find = door.house.store.access.find_token
        monkeypatch.setattr(door.house.store.access, "find_token", self)

    async def __call__(self, token_id: str) -> Any:
        self.count += 1
        self._now += 1
        self.most = max(self.most, self._now)
        await asyncio.sleep(0)
        self._now -= 1
        return await self._find(token_id)


async def test_one_credential_is_looked_up_once(monkeypatch: pytest.MonkeyPatch) -> None:
    door = Door()
    made = (await door.token()).credential.reveal()
    looks = Looks(door, monkeypatch)
    answers = await asyncio.gather(*(door.get(token=made) for _ in range(AT_ONCE)))
    assert {one.status for one in answers} == {200}
    assert looks.count <= LOOKING_MAX


async def test_strangers_ask_a_few_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    door = Door()
    looks = Looks(door, monkeypatch)
    wrong = [mint(CredentialKind.TOKEN, token_bytes).reveal() for _ in range(AT_ONCE)]
    answers = await asyncio.gather(*(door.get(token=one) for one in wrong))
    assert {one.status for one in answers} == {401}
    assert (looks.count, looks.most) == (AT_ONCE, LOOKING_MAX)
