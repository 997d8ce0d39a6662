"""What a stream says to whom: nothing of another tenant, nothing secret, and each event under its number."""

from __future__ import annotations

from fencepost.model.run import RunState
from fencepost.web.live.listener import Listener
from tests.web.live.theatre import NS, OTHER, Theatre, heard, principal, runs_in

SECRET = "hunter2"


async def test_a_new_listener_hears_nothing_of_another_namespace() -> None:
    """The hub is warm: what happened a moment ago, to whomever, is at hand when the next one comes."""
    theatre = Theatre()
    theatre.hub.join(principal(), NS)
    await theatre.look()
    mine, theirs = await theatre.begin("mine"), await theatre.begin("theirs", OTHER)
    await theatre.look()
    new, stranger = theatre.hub.join(principal(), NS), theatre.hub.join(principal("t2", OTHER), OTHER)
    await theatre.look()
    assert runs_in(await heard(new)) == [(mine.run_key, "running")]
    assert runs_in(await heard(stranger)) == [(theirs.run_key, "running")]


async def test_an_error_is_told_without_its_secrets() -> None:
    theatre = Theatre()
    listener = theatre.hub.join(principal(), NS)
    await theatre.look()
    claim = await theatre.begin("one")
    error = f"ConnectionError: postgresql://shop:{SECRET}@db/shop"
    await theatre.end(claim, RunState.DEAD, error=error)
    await theatre.look()
    told = await raw(listener)
    assert b"postgresql://shop:***@db/shop" in told
    assert SECRET.encode() not in told


async def test_each_event_has_the_number_of_its_look_so_that_a_browser_says_it_was_there() -> None:
    """A browser that comes back shows the last number, and without one it would not be told to read anew."""
    theatre = Theatre()
    listener = theatre.hub.join(principal(), NS)
    await theatre.look()
    await theatre.begin("one")
    await theatre.look()
    blocks = (await raw(listener)).decode().strip().split("\n\n")
    assert [block.splitlines()[:2] for block in blocks] == [
        ["id: 1", "event: counts"],
        ["id: 2", "event: counts"],
        ["id: 2", "event: runs"],
    ]


async def raw(listener: Listener) -> bytes:
    """What waits for a listener, as it is sent."""
    return await listener.take(0) or b""
