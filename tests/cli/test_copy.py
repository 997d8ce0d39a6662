"""`fencepost copy`: what it refuses, and what it leaves behind where it is interrupted."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import pytest
from click.testing import Result

from fencepost.cli.progress import Progress
from fencepost.config import settings_from
from fencepost.model.claiming import ClaimRequest
from fencepost.model.identifiers import DEFAULT_NAMESPACE, DEFAULT_QUEUE, NodeId
from fencepost.model.node import Node, NodeReport
from fencepost.model.run import Claim
from fencepost.ports.store import Store
from fencepost.services import copying
from fencepost.testing.conformance.builders import ALICE, JOB, by_hand, success
from fencepost.wiring import open_store
from tests.cli.calls import call, called, called_json

REFUSED = 2


@pytest.fixture
def target(tmp_path: Path) -> str:
    """The address of a store that is not there yet."""
    return f"sqlite:///{tmp_path / 'target.db'}"


def copied(source: str, target: str) -> Result:
    return call("copy", "--from", source, "--to", target)


def on(url: str, work: Callable[[Store], Awaitable[object]]) -> None:
    """Do something to a store behind the command's back."""

    async def carry_out() -> None:
        store = await open_store(settings_from(overrides={"store": url}))
        await work(store)
        await store.close()

    asyncio.run(carry_out())


def test_what_was_done_is_not_done_again_on_the_target(used: str, target: str) -> None:
    before = called_json("runs", "list", "--store", used)
    called("copy", "--from", used, "--to", target)
    assert called_json("runs", "list", "--store", target) == before
    again = ("enqueue", "double", "--key", "ok", "--payload", '{"number": 21}', "--store", target)
    assert not called_json(*again)["new"]
    assert called_json("schedules", "list", "--store", target) == called_json(
        "schedules", "list", "--store", used
    )


def test_a_source_with_living_nodes_is_refused_and_no_target_is_made(used: str, target: str) -> None:
    node = Node(NodeId("alice-1"), "host", 7, plans=True, works=True)
    on(used, lambda store: store.nodes.beat(node, NodeReport(), 30))
    refused = copied(used, target)
    assert refused.exit_code == REFUSED
    assert "source: alice-1 is alive; stop every process of this store" in refused.stderr
    assert not Path(target.removeprefix("sqlite:///")).exists()


def test_a_target_that_has_something_is_refused(used: str, target: str) -> None:
    called("migrate", "--store", target)
    called("token", "create", "anna", "--role", "admin", "--store", target)
    refused = copied(used, target)
    assert refused.exit_code == REFUSED
    assert "target: it is not empty, it has audit_log, tokens; name a store that is new" in refused.stderr


def test_a_store_is_not_copied_into_itself(used: str) -> None:
    refused = copied(used, used.replace("store.db", "./store.db"))
    assert (refused.exit_code, "it is the same store as the source" in refused.stderr) == (REFUSED, True)


def test_a_source_that_is_not_there_is_told_in_one_line(url: str, target: str) -> None:
    refused = copied(url, target)
    assert refused.exit_code == REFUSED
    assert refused.stderr.startswith("fencepost: no store at ")


def test_a_source_that_was_restored_and_not_lifted_is_refused(used: str, target: str) -> None:
    on(used, lambda store: store.epochs.mark_older("fence 874 was seen"))
    refused = copied(used, target)
    assert "fence 874 was seen; first run on it: fencepost migrate --restored" in refused.stderr


def test_nothing_opens_a_target_before_the_copy_has_ended_and_the_same_call_begins_anew(
    used: str, target: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(copying, "PAGE", 1)
    reached = Progress.reached

    def interrupt(bar: Progress, value: int) -> None:
        reached(bar, value)
        if value == 5:
            raise KeyboardInterrupt

    monkeypatch.setattr(Progress, "reached", interrupt)
    stopped = copied(used, target)
    assert stopped.exit_code == 130
    assert "no process opens a target with part of a ledger: copy again" in stopped.stderr
    for command in (("status",), ("migrate",), ("migrate", "--restored"), ("enqueue", "double")):
        refused = call(*command, "--store", target)
        assert refused.exit_code == REFUSED
        assert "a copy to it was not finished; run the same fencepost copy again" in refused.stderr
    assert "a copy to it was not finished" in copied(target, f"{target}.2").stderr
    monkeypatch.setattr(Progress, "reached", reached)
    # What was copied before is not what the source has now.
    called("schedules", "pause", "report", "--store", used)
    called("copy", "--from", used, "--to", target)
    for words in (("schedules", "list"), ("runs", "list")):
        assert called_json(*words, "--store", target) == called_json(*words, "--store", used)


def test_a_source_that_changes_meanwhile_is_not_copied(
    used: str, target: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = ("enqueue", "double", "--key", "late", "--payload", '{"number": 2}', "--store", used)
    with ThreadPoolExecutor(1) as another:
        monkeypatch.setattr(Progress, "reached", lambda *_: another.submit(called, *words).result())
        refused = copied(used, target)
    assert "source: it changed while it was copied" in refused.stderr
    assert "a copy to it was not finished" in call("status", "--store", target).stderr


def test_a_source_in_which_a_run_ends_meanwhile_is_not_copied(
    used: str, target: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A success without output writes no new row, and takes no fence."""
    claims: list[Claim] = []

    async def claim(store: Store) -> None:
        await store.ledger.enqueue(DEFAULT_NAMESPACE, [by_hand("under way")])
        wanted = ClaimRequest(ALICE, (DEFAULT_QUEUE,), (JOB,), 0.0, DEFAULT_NAMESPACE)
        claims.extend(await store.ledger.claim_direct(wanted, 1))

    on(used, claim)
    ended = partial(on, used, lambda store: store.ledger.finish([success(claims[0].ticket)]))
    with ThreadPoolExecutor(1) as another:
        monkeypatch.setattr(Progress, "reached", lambda *_: another.submit(ended).result())
        refused = copied(used, target)
    assert "source: it changed while it was copied" in refused.stderr
