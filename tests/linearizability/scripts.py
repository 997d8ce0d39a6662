"""Lives of several clients on a virtual clock: what each does, how long its messages travel, and which are
lost."""

from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import Enum
from itertools import count
from random import Random

from fencepost.model.identifiers import Epoch, NodeId
from fencepost.model.lease import Acquisition, Granted, HeldBy, Release, Renewal, Unknown
from tests.linearizability.checker import Operation
from tests.linearizability.lease_history import Acquiring, LeaseCall, LeaseOperation, Releasing, Renewing
from tests.linearizability.model import TTL_S, Model

FIRST = Epoch(1)
CLIENTS = tuple(NodeId(name) for name in ("ann", "ben", "cyd", "dan"))


class Verb(Enum):
    """What a client can do."""

    ACQUIRE = "acquire"
    RENEW = "renew"
    RELEASE = "release"


class Fate(Enum):
    """What becomes of a message."""

    HEARD = "heard"
    ANSWER_LOST = "answer lost"
    REQUEST_LOST = "request lost"
    LATE = "late"
    """The caller turns away, and the request arrives much later."""


@dataclass(frozen=True)
class Act:
    """One call of one client, after a pause."""

    client: NodeId
    verb: Verb
    pause_s: float
    there_s: float
    back_s: float
    fate: Fate
    late_s: float = 0.0


@dataclass
class _Client:
    name: NodeId
    acts: list[Act]
    epoch: Epoch = FIRST


@dataclass
class _Stage:
    """The events to come, in order of time; the model at the end of all lines."""

    model: Model
    history: list[LeaseOperation] = field(default_factory=list)
    events: list[tuple[float, int, Callable[[float], None]]] = field(default_factory=list)
    number: count[int] = field(default_factory=count)

    def at(self, moment: float, event: Callable[[float], None]) -> None:
        heapq.heappush(self.events, (moment, next(self.number), event))

    def play(self) -> None:
        while self.events:
            moment, _, event = heapq.heappop(self.events)
            event(moment)

    def start(self, client: _Client, now: float) -> None:
        """Let the client make its next call, when it has paused."""
        if client.acts:
            act = client.acts.pop(0)
            self.at(now + act.pause_s, lambda sent_at: self._send(client, act, sent_at))

    def _send(self, client: _Client, act: Act, sent_at: float) -> None:
        epoch = client.epoch
        answers: list[Acquisition | Renewal | Release] = []

        def arrive(now: float) -> None:
            answers.append(_perform(self.model, act, epoch, now))

        def hear(now: float) -> None:
            answer = answers[0] if act.fate is Fate.HEARD else Unknown(act.fate.value)
            heard_at = now if act.fate is Fate.HEARD else None
            self.history.append(Operation(_call(act, epoch, answer), sent_at, heard_at))
            if isinstance(answer, Granted | HeldBy):
                client.epoch = answer.epoch
            self.start(client, now)

        if act.fate is not Fate.REQUEST_LOST:
            self.at(sent_at + act.there_s + act.late_s * (act.fate is Fate.LATE), arrive)
        self.at(sent_at + act.there_s + act.back_s, hear)


def play(model: Model, acts: Sequence[Act]) -> list[LeaseOperation]:
    """What the clients see of the model, each doing its acts one after the other."""
    stage, by_client = _Stage(model), defaultdict[NodeId, list[Act]](list)
    for act in acts:
        by_client[act.client].append(act)
    for name, mine in by_client.items():
        stage.start(_Client(name, mine), 0.0)
    stage.play()
    return stage.history


def random_acts(random: Random, acts: int) -> list[Act]:
    """A life full of split brain and bad luck."""
    return [_random_act(random) for _ in range(acts)]


def _random_act(random: Random) -> Act:
    stall = random.random() < 0.15
    return Act(
        client=random.choice(CLIENTS[:3]),
        verb=random.choices(list(Verb), (5, 5, 2))[0],
        pause_s=random.uniform(0.5, 2.5) * TTL_S if stall else random.uniform(0, 0.3) * TTL_S,
        there_s=random.uniform(0, 0.2) * TTL_S,
        back_s=random.uniform(0, 0.2) * TTL_S,
        fate=random.choices(list(Fate), (20, 2, 1, 1))[0],
        late_s=random.uniform(0, 3) * TTL_S,
    )


def _perform(model: Model, act: Act, epoch: Epoch, now: float) -> Acquisition | Renewal | Release:
    match act.verb:
        case Verb.ACQUIRE:
            return model.acquire(now, act.client)
        case Verb.RENEW:
            return model.renew(now, act.client, epoch)
        case Verb.RELEASE:
            return model.release(now, act.client, epoch)


def _call(act: Act, epoch: Epoch, answer: object) -> LeaseCall:
    match act.verb:
        case Verb.ACQUIRE:
            return Acquiring(act.client, answer)  # type: ignore[arg-type]
        case Verb.RENEW:
            return Renewing(act.client, epoch, answer)  # type: ignore[arg-type]
        case Verb.RELEASE:
            return Releasing(act.client, epoch, answer)  # type: ignore[arg-type]
