"""The fleet for people to look at: which node leads which shard, and what deserves an alarm.

There are three sources, and none of them knows everything. The lease store says who *should* lead, and for
how long. The ledger says whose plans *count*, since when, and how often that has changed. The nodes say what
they *believe*, and for how long they may still believe it. Nothing is decided by what is computed here.

The ledger's record replaces the lease where the lease store was not read, or holds nothing of a shard whose
leader goes on believing in it. When the lease runs out is then unknown: the leases are elsewhere, or lost.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from enum import StrEnum

from fencepost.core.split_brain import Pretender, pretenders
from fencepost.model.clocks import StoreTime, later, since
from fencepost.model.dataclasses import dataclass
from fencepost.model.identifiers import Epoch, Lineage, Namespace, NodeId, Shard
from fencepost.model.leader import LeaderRecord
from fencepost.model.lease import LeaseRecord
from fencepost.model.node import Led, NodeRecord

NAMED_MAX = 8
BROKER_AWAY_S = 5.0
"""A connection that broke and came back is no alarm."""
KEEP_TIME = "have NTP keep the time of that host, by slewing"


@dataclass(frozen=True)
class Witnesses:
    """What was said at one moment, `now` by the store's clock; `leases` is None where they were not read."""

    now: StoreTime
    shards: int
    leaders: Sequence[LeaderRecord]
    leases: Sequence[LeaseRecord] | None
    nodes: Sequence[NodeRecord]
    from_future: Sequence[NodeRecord] = ()
    """Nodes whose last sign of life lies ahead; none of them counts as alive."""


@dataclass(frozen=True, slots=True)
class ShardView:
    """One shard; `epoch` is what plans are compared with.

    `expires_in_s` is None where it is unknown, and 0 where the lease is free. `since` is when the holder
    was registered. The holder itself reports the rest, None where it has said nothing of this shard:
    `renewals_failed`; `trusted_for_s`, the time to the leader's own deadline; `renewed_at`, when it sent its
    last renewal that was answered; and `ttl_s`, the length of its lease.
    """

    shard: Shard
    holder: NodeId | None
    epoch: Epoch
    expires_in_s: float | None
    since: StoreTime | None
    transitions: int
    renewals_failed: int | None
    trusted_for_s: float | None
    lineage: Lineage | None
    renewed_at: StoreTime | None = None
    ttl_s: float | None = None


class AlarmKind(StrEnum):
    """What can be wrong with a fleet."""

    RIVALS = "rivals"
    SKEW = "skew"
    LEADERLESS = "leaderless"
    CUT_OFF = "cut_off"
    BROKER = "broker"
    CLOCK = "clock"


@dataclass(frozen=True, slots=True)
class Alarm:
    """Something that a person should look at, with the remedy, and what it is about."""

    kind: AlarmKind
    text: str
    shards: tuple[Shard, ...] = ()
    nodes: tuple[NodeId, ...] = ()


@dataclass(frozen=True, slots=True)
class _Belief:
    """What a live node said of a shard that it leads, and how long it may go on believing it."""

    node_id: NodeId
    led: Led
    left_s: float
    renewed_at: StoreTime | None


def shard_views(seen: Witnesses) -> list[ShardView]:
    """Every shard of the present cut, also one that no node has ever led."""
    leaders = {one.shard: one for one in seen.leaders}
    beliefs = _beliefs(seen)
    alive = {one.node.node_id for one in seen.nodes}
    leases = _held(seen.leases or ())
    return [
        _unread(shard, leaders.get(shard), beliefs.get(shard, ()), alive)
        if seen.leases is None
        else _read(shard, leases.get(shard), leaders.get(shard), beliefs.get(shard, ()))
        for shard in map(Shard, range(seen.shards))
    ]


def elsewhere(seen: Witnesses) -> list[ShardView]:
    """Shards that a node leads although the lease store, which was read, has no lease for them."""
    if seen.leases is None:
        return []
    return [one for one in shard_views(seen) if one.holder is not None and one.expires_in_s is None]


def alarms(seen: Witnesses, skew_warning_s: float) -> list[Alarm]:
    """What a person should look at, the worst first."""
    return [
        *_rivals(seen),
        *_leaderless(seen),
        *_set_back(seen),
        *_set_ahead(seen.nodes),
        *_cut_off(seen.nodes),
        *_without_broker(seen.nodes),
        *_skewed(seen.nodes, skew_warning_s),
    ]


def hidden_names(owners: Mapping[NodeId, Namespace], only: Namespace | None) -> Callable[[NodeId], bool]:
    """Which nodes are hidden from those who see one namespace: those of others, live or gone. While no other
    namespace ever had a node, the whole fleet is theirs, also a node of which nothing is known any more."""
    if only is None or all(one == only for one in owners.values()):
        return lambda _: False
    return lambda node_id: owners.get(node_id) != only


def without_names(found: Sequence[Alarm], hidden: Callable[[NodeId], bool]) -> list[Alarm]:
    """The alarms that name no hidden node. A shard without a leader concerns all, and that alarm names
    none."""
    shown = [one for one in found if one.kind is AlarmKind.LEADERLESS or not any(map(hidden, one.nodes))]
    return [replace(one, nodes=tuple(node for node in one.nodes if not hidden(node))) for one in shown]


def is_skewed(node: NodeRecord, skew_warning_s: float) -> bool:
    """Whether a node's clock is too far from the store's."""
    return abs(node.skew_s) > skew_warning_s


def shown_shards(shards: Iterable[Shard]) -> str:
    """`shard 3`, or `shards 0-3, 7`."""
    listed = list(shards)
    return f"shard{'' if len(listed) == 1 else 's'} {shard_numbers(listed)}"


def epoch_numbers(epochs: Iterable[Epoch]) -> str:
    """`7`, or `7,8`: each once."""
    return ",".join(str(one) for one in sorted(set(epochs)))


def shard_numbers(shards: Iterable[Shard]) -> str:
    """`3`, or `0-3, 7`."""
    ordered = sorted(shards)
    runs: list[list[Shard]] = []
    for shard in ordered:
        if runs and shard == runs[-1][-1] + 1:
            runs[-1].append(shard)
        else:
            runs.append([shard])
    words = [str(run[0]) if len(run) == 1 else f"{run[0]}-{run[-1]}" for run in runs]
    return _some(words)


def _read(
    shard: Shard, lease: LeaseRecord | None, leader: LeaderRecord | None, beliefs: Sequence[_Belief]
) -> ShardView:
    if lease is not None:
        return _view(shard, lease.holder, lease.expires_in_s, lease, leader, beliefs)
    holder = leader.holder if leader is not None else None
    if any(one.node_id == holder and one.left_s > 0 for one in beliefs):
        return _view(shard, holder, None, None, leader, beliefs)
    return _view(shard, None, 0.0, None, leader, beliefs)


def _unread(
    shard: Shard, leader: LeaderRecord | None, beliefs: Sequence[_Belief], alive: set[NodeId]
) -> ShardView:
    """The ledger keeps its last leader for ever; a leader that is not alive leads nothing."""
    holder = leader.holder if leader is not None and leader.holder in alive else None
    return _view(shard, holder, None, None, leader, beliefs)


def _view(
    shard: Shard,
    holder: NodeId | None,
    expires_in_s: float | None,
    lease: LeaseRecord | None,
    leader: LeaderRecord | None,
    beliefs: Sequence[_Belief],
) -> ShardView:
    own = next((one for one in beliefs if one.node_id == holder), None)
    is_registered = leader is not None and leader.holder == holder
    return ShardView(
        shard=shard,
        holder=holder,
        epoch=_epoch(holder, lease, leader),
        expires_in_s=expires_in_s,
        since=leader.since if leader is not None and is_registered else None,
        transitions=leader.transitions if leader is not None else 0,
        renewals_failed=own.led.renewals_failed if own is not None else None,
        trusted_for_s=own.left_s if own is not None else None,
        lineage=leader.lineage if leader is not None else None,
        renewed_at=own.renewed_at if own is not None else None,
        ttl_s=own.led.ttl_s if own is not None else None,
    )


def _epoch(holder: NodeId | None, lease: LeaseRecord | None, leader: LeaderRecord | None) -> Epoch:
    """The ledger's epoch; until a new holder is registered, only the number of its grant is known."""
    if lease is not None and (leader is None or leader.holder != holder):
        return lease.epoch
    return leader.epoch if leader is not None else Epoch(0)


def _held(leases: Iterable[LeaseRecord]) -> dict[Shard, LeaseRecord]:
    return {
        one.shard: one
        for one in leases
        if one.holder is not None and one.expires_in_s > 0 and not one.from_future
    }


def _beliefs(seen: Witnesses) -> Mapping[Shard, Sequence[_Belief]]:
    """The store says how old a report is; the time for which a node believes its lease has run on since."""
    found: dict[Shard, list[_Belief]] = {}
    for one in seen.nodes:
        age_s = 0.0 if one.reported_at is None else since(one.reported_at, seen.now).total_seconds()
        for led in one.report.leads:
            left_s = max(led.trusted_for_s - max(age_s, 0.0), 0.0)
            renewed_at = _renewed_at(one, led)
            found.setdefault(led.shard, []).append(_Belief(one.node.node_id, led, left_s, renewed_at))
    return found


def _renewed_at(node: NodeRecord, led: Led) -> StoreTime | None:
    if node.reported_at is None or led.renewed_ago_s is None:
        return None
    return later(node.reported_at, -led.renewed_ago_s)


def _rivals(seen: Witnesses) -> list[Alarm]:
    """One alarm a node, however many shards it is wrong about."""
    found: dict[NodeId, list[Pretender]] = {}
    for one in pretenders(seen.leaders, seen.nodes):
        found.setdefault(one.node_id, []).append(one)
    return [_rival(node_id, claims) for node_id, claims in sorted(found.items())]


def _rival(node_id: NodeId, claims: Sequence[Pretender]) -> Alarm:
    shards = tuple(one.shard for one in claims)
    leaders = sorted({one.leader for one in claims if one.leader is not None})
    text = (
        f"{node_id} believes to lead {shown_shards(shards)}, which {_some(leaders) or 'another'} took over; "
        "give all nodes the same --leases (only plans of the one who took over count meanwhile)"
    )
    return Alarm(AlarmKind.RIVALS, text, shards, (node_id, *leaders))


def _leaderless(seen: Witnesses) -> list[Alarm]:
    """Shards without a lease that no node believes to lead, while a live node could lead them."""
    planners = [one for one in seen.nodes if one.node.plans]
    led = _held(seen.leases or ()).keys() | {
        shard for shard, beliefs in _beliefs(seen).items() if any(one.left_s > 0 for one in beliefs)
    }
    shards = tuple(shard for shard in map(Shard, range(seen.shards)) if shard not in led)
    if not planners or not shards:
        return []
    are_draining = all(one.draining for one in planners)
    remedy = (
        "all of them are draining; take one back with: fencepost drain NODE --undo"
        if are_draining
        else "where that lasts longer than a lease, their logs say why"
    )
    alive = f"although {len(planners)} node{' plans' if len(planners) == 1 else 's plan'}"
    text = f"no node leads {shown_shards(shards)}, {alive}: {remedy}"
    return [Alarm(AlarmKind.LEADERLESS, text, shards, tuple(one.node.node_id for one in planners))]


def _cut_off(nodes: Sequence[NodeRecord]) -> list[Alarm]:
    found = tuple(one.node.node_id for one in nodes if one.report.cut_off)
    if not found:
        return []
    text = f"the lease store does not answer {_some(found)}; they lead nothing until it does"
    return [Alarm(AlarmKind.CUT_OFF, text, nodes=found)]


def _without_broker(nodes: Sequence[NodeRecord]) -> list[Alarm]:
    away: dict[str, list[NodeId]] = {}
    for one in nodes:
        broker = one.report.broker
        if broker is not None and broker.away_s >= BROKER_AWAY_S and not one.draining:
            away.setdefault(broker.name, []).append(one.node.node_id)
    return [
        Alarm(
            AlarmKind.BROKER,
            f"the broker {name} does not answer or refuses {_some(found)}; runs that it would carry wait",
            nodes=tuple(found),
        )
        for name, found in away.items()
    ]


def _set_back(seen: Witnesses) -> list[Alarm]:
    """Leases and signs of life from the future: a clock was set back."""
    found = []
    if shards := tuple(one.shard for one in seen.leases or () if one.from_future):
        text = (
            f"{shown_shards(shards)}: leases last longer than their term; the clock of the lease store was "
            f"set back. They count as expired, and the next node that asks gets them; {KEEP_TIME}"
        )
        found.append(Alarm(AlarmKind.CLOCK, text, shards))
    if nodes := tuple(one.node.node_id for one in seen.from_future):
        text = (
            f"{_some(nodes)}: the last sign of life lies in the future; the clock of the store was set back. "
            f"They count as dead until they are heard again; {KEEP_TIME}"
        )
        found.append(Alarm(AlarmKind.CLOCK, text, nodes=nodes))
    return found


def _set_ahead(nodes: Sequence[NodeRecord]) -> list[Alarm]:
    found = [one for one in nodes if one.report.set_ahead_s]
    if not found:
        return []
    names, by_s = tuple(one.node.node_id for one in found), max(one.report.set_ahead_s for one in found)
    text = (
        f"{_some(names)}: the clock of the store was set ahead by {by_s:.0f} s within the last hour. "
        f"Ticks that were judged meanwhile may be missed: fencepost runs list --state missed; {KEEP_TIME}"
    )
    return [Alarm(AlarmKind.CLOCK, text, nodes=names)]


def _skewed(nodes: Sequence[NodeRecord], skew_warning_s: float) -> list[Alarm]:
    return [_skew(one, skew_warning_s) for one in nodes if is_skewed(one, skew_warning_s)]


def _skew(node: NodeRecord, skew_warning_s: float) -> Alarm:
    node_id, way = node.node.node_id, "ahead of" if node.skew_s > 0 else "behind"
    text = (
        f"the clock of {node_id} is {abs(node.skew_s):.3g} s {way} the store's, more than "
        f"{skew_warning_s:g} s; set the time of its host"
    )
    return Alarm(AlarmKind.SKEW, text, nodes=(node_id,))


def _some(words: Sequence[str]) -> str:
    """All words, or the first few and how many more."""
    left = len(words) - NAMED_MAX
    return ", ".join(words[:NAMED_MAX]) + (f" and {left} more" if left > 0 else "")
