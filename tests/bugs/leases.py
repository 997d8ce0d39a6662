"""Bugs in how long a node believes in a lease, and in how a lease store grants one."""

from __future__ import annotations

import time
from typing import Any
from unittest.mock import patch

from fencepost.clock import SystemClock
from fencepost.core import election
from fencepost.model.clocks import Monotonic, later
from fencepost.model.lease import Granted, HeldBy, Lost, Released, Unknown
from fencepost.model.tables import LEASES
from fencepost.ports.signals import Topic
from fencepost.rules import leases
from fencepost.rules.leases import LeaseRules
from fencepost.rules.part import writes
from fencepost.services.elector import Elector
from fencepost.services.leadership import Leadership
from tests.bugs.bug import Planted, all_of, bug

ELECTOR = "tests/services/test_elector.py"
CHANGES = "tests/services/test_elector_changes.py"
CONTRACT = "tests/leases/test_memory.py"


@bug("a renewal counts from when it was sent", f"{ELECTOR}::test_a_renewal_does_not_count_from_its_answer")
def renewal_counted_from_its_answer() -> Planted:
    """The answer to a renewal took nine seconds of ten, and the node believes for ten more."""

    async def renew(self: Any, held: Any) -> None:
        answers = await self._asked(held, self._extend(held)) if held else {}
        for shard, answer in answers.items():
            if isinstance(answer, Granted):
                self._leadership.renewed(shard, self._clock.monotonic())
            elif isinstance(answer, Lost):
                self._leadership.step_down([shard], "refused")

    return patch.object(Elector, "_renew", renew)


@bug("an unanswered renewal is not a renewal", "leases", seed=1)
def unanswered_renewal_taken_as_held() -> Planted:
    """The lease store is away, and its last holder goes on planning for as long as that lasts."""
    asked = Elector._asked

    async def optimistic(self: Any, shards: Any, answers: Any) -> Any:
        heard = await asked(self, shards, answers)
        held = self._held()
        return {
            shard: Granted(held[shard]) if isinstance(one, Unknown) and shard in held else one
            for shard, one in heard.items()
        }

    return patch.object(Elector, "_asked", optimistic)


@bug(
    "an unanswered renewal is not a loss either",
    f"{ELECTOR}::test_an_unanswered_renewal_leaves_the_old_deadline",
)
def unanswered_renewal_taken_as_lost() -> Planted:
    """One lost packet, and the fleet has no leader until the lease of the one that gave up has run out."""

    def step_down(self: Any, shard: Any) -> None:
        self.step_down([shard], "no answer")

    return patch.object(Leadership, "unrenewed", step_down)


@bug(
    "trust ends a margin before the lease does",
    f"{ELECTOR}::test_the_loss_is_told_at_the_deadline_and_not_after",
)
def trust_without_a_margin() -> Planted:
    """A slow clock reads nine seconds when ten have passed: two nodes lead for the tenth."""

    def trust_until(sent_at: Monotonic, terms: Any) -> Monotonic:
        return Monotonic(sent_at + terms.ttl_s)

    return patch.object(election, "trust_until", trust_until)


@bug("a lease runs out by itself", "leases", seed=1)
def deadline_never_passes() -> Planted:
    """A node believes in its lease until somebody tells it otherwise, and nobody can."""
    return all_of(
        patch.object(Leadership, "expire", lambda self, now: None),
        patch.object(Leadership, "next_deadline", lambda self: None),
    )


@bug(
    "a node times its trust by a clock that nobody can set",
    "tests/test_clock.py::test_the_monotonic_clock_is_not_the_one_that_people_set",
)
def trust_timed_by_the_wall_clock() -> Planted:
    """Somebody sets a clock back by an hour, and the node believes in its lease for an hour."""

    def monotonic(self: SystemClock) -> Monotonic:
        return Monotonic(self.wall().timestamp())

    return patch.object(SystemClock, "monotonic", monotonic)


@bug(
    "a lease does not wait for a sleeping machine",
    "tests/test_clock.py::test_the_monotonic_clock_does_not_stand_still_while_the_machine_is_suspended",
)
def trust_timed_by_a_clock_that_sleeps() -> Planted:
    """A laptop was closed for an hour, and its clock says that the lease has nine seconds left."""
    return patch.object(SystemClock, "_clock_id", time.CLOCK_MONOTONIC)


@bug("acting ends before the lease is released", "leases")
def lease_released_and_still_believed_in() -> Planted:
    """A drained node gives its leases to others and goes on planning beside them."""

    async def release(self: Any, held: Any) -> None:
        if held:
            await self._give_up(held)

    return patch.object(Elector, "_release", release)


@bug(
    "a lease is released only when no write is in flight",
    f"{ELECTOR}::test_a_lease_is_not_released_while_a_write_is_in_flight",
)
def released_while_a_write_is_in_flight() -> Planted:
    """The next leader has begun when the last plan of the one before arrives: only the fence is left."""

    async def release(self: Any, held: Any) -> None:
        self._leadership.step_down(held, "resigned")
        if held:
            await self._give_up(held)

    return patch.object(Elector, "_release", release)


@bug(
    "a lease whose release is in doubt is not taken up again",
    f"{CHANGES}::test_a_lease_whose_release_is_in_doubt_is_not_taken_up_again",
)
def doubtful_release_forgotten() -> Planted:
    """A release whose answer was lost arrives late, and frees the lease under the same node's next reign."""

    async def give_up(self: Any, held: Any) -> None:
        await self._asked(held, self._leases.release(held, self._membership.node.node_id))

    return patch.object(Elector, "_give_up", give_up)


@bug(
    "a grant may be older than the request that it answers",
    f"{CHANGES}::test_a_request_that_arrives_late_is_not_believed_from_a_later_answer",
)
def grant_believed_without_a_renewal() -> Planted:
    """The lease was granted to an earlier request; the node believes in it from the later one on."""

    async def campaign(self: Any, shards: Any) -> Any:
        self._stand(shards)
        return await self._asked(shards, self._request(list(shards)))

    return patch.object(Elector, "_campaign", campaign)


@bug("a lease is not granted while it is held", "leases")
def held_lease_granted_to_another() -> Planted:
    """Whoever asks gets the lease: its holder learns of that at its next renewal, and plans until then."""
    acquire = leases._acquire

    async def as_if_free(tx: Any, lease: Any, *arguments: Any) -> Any:
        return await acquire(tx, {**lease, "holder": None}, *arguments)

    return patch.object(leases, "_acquire", as_if_free)


@bug(
    "a lease is released by compare-and-delete",
    f"{CONTRACT}::TestMemoryLeases::test_a_late_release_does_not_free_the_successors_lease",
)
def release_without_comparing() -> Planted:
    """A release that arrives late, or twice, frees what is another's by then."""

    async def release(self: Any, tx: Any, held: Any, holder: Any) -> Any:
        free = {"holder": None, "expires_at": leases.START_OF_TIME}
        await tx.change(LEASES, [(lease, free) for lease in await _locked(tx, held)])
        tx.hint(Topic.LEASES)
        return dict.fromkeys(held, Released())

    return patch.object(LeaseRules, "release", writes(release))


@bug(
    "the epoch rises at a grant after expiry, to the same node too",
    f"{CONTRACT}::TestMemoryLeases::test_a_grant_after_expiry_does_not_have_the_old_epoch",
)
def epoch_not_raised_for_the_same_node() -> Planted:
    """What the node sent in its last reign passes for what it sends in this one."""
    acquire = leases._acquire

    async def regrant(tx: Any, lease: Any, holder: Any, ttl_s: float, now: Any) -> Any:
        if lease["holder"] == holder and lease["expires_at"] <= now:
            await tx.change(LEASES, [(lease, {"expires_at": later(now, ttl_s)})])
            return Granted(lease["epoch"])
        return await acquire(tx, lease, holder, ttl_s, now)

    return patch.object(leases, "_acquire", regrant)


@bug("the epoch rises at every change of holder", "I2", seed=1)
def epoch_not_raised_at_a_takeover() -> Planted:
    """The ledger refuses the successor, who comes under an epoch that is another's: nobody plans."""

    async def acquire(tx: Any, lease: Any, holder: Any, ttl_s: float, now: Any) -> Any:
        if lease["holder"] not in (None, holder) and lease["expires_at"] > now:
            return HeldBy(lease["holder"], lease["epoch"], (lease["expires_at"] - now).total_seconds())
        first = {"holder": holder, "epoch": 1, "expires_at": later(now, ttl_s)}
        (granted,) = await tx.change(LEASES, [(lease, first)])
        return Granted(granted["epoch"])

    return patch.object(leases, "_acquire", acquire)


@bug(
    "a renewal compares holder, epoch and expiry",
    f"{CONTRACT}::TestMemoryLeases::test_does_not_renew_an_expired_lease",
)
def expired_lease_renewed() -> Planted:
    """A lease that had run out comes back to life under its old epoch, as if it had always been held."""

    async def renew(self: Any, tx: Any, held: Any, holder: Any, ttl_s: float) -> Any:
        mine = [one for one in await _locked(tx, held) if one["holder"] == holder]
        return await _renewed(tx, held, [one for one in mine if one["epoch"] == held[one["shard"]]], ttl_s)

    return patch.object(LeaseRules, "renew", writes(renew))


@bug(
    "a renewal does not compare the holder alone",
    f"{CONTRACT}::TestMemoryLeases::test_does_not_renew_under_an_epoch_of_its_own_past",
)
def renewal_compares_the_holder_only() -> Planted:
    """A process renews by the epoch of its own past, and is told that it still leads under that."""

    async def renew(self: Any, tx: Any, held: Any, holder: Any, ttl_s: float) -> Any:
        mine, now = [one for one in await _locked(tx, held) if one["holder"] == holder], await tx.now()
        return await _renewed(tx, held, [one for one in mine if one["expires_at"] > now], ttl_s)

    return patch.object(LeaseRules, "renew", writes(renew))


@bug("believing ends with a refusal", f"{ELECTOR}::test_a_refused_renewal_ends_the_belief_at_once")
def refused_renewal_ignored() -> Planted:
    """The lease store says that the lease is another's, and the node goes on until its own deadline."""

    async def renew(self: Any, held: Any) -> None:
        sent_at = self._clock.monotonic()
        answers = await self._asked(held, self._extend(held)) if held else {}
        for shard, answer in answers.items():
            if isinstance(answer, Granted):
                self._leadership.renewed(shard, sent_at)

    return patch.object(Elector, "_renew", renew)


async def _locked(tx: Any, held: Any) -> Any:
    return await tx.lock(LEASES.among((shard,) for shard in sorted(held)))


async def _renewed(tx: Any, held: Any, good: Any, ttl_s: float) -> Any:
    """The answers to a renewal that these leases are good for."""
    until, shards = later(await tx.now(), ttl_s), {lease["shard"] for lease in good}
    await tx.change(LEASES, [(lease, {"expires_at": until}) for lease in good])
    return {shard: Granted(epoch) if shard in shards else Lost() for shard, epoch in held.items()}
