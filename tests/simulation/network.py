"""The network between processes and stores: late, lossy, cut in one direction, given to repeating itself.

A request is a message. Once it is sent it arrives or not whatever becomes of its sender, so a killed process
can still have its last write carried out, and a stalled one its write of long ago. The sender hears nothing
of a loss; it gives up after a while and does not know what happened.
"""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any

from fencepost.errors import StoreUnavailable
from tests.simulation.loop import context_of, the_loop

LATENCY_MAX_S = 0.02
REFUSED_AFTER_S = 0.005

MISHAPS = (
    "request lost",
    "request cut off",
    "request repeated",
    "executed, then timed out",
    "answer cut off",
    "given up on",
)
"""What happens to messages."""

Work = Callable[[], Coroutine[Any, Any, Any]]


class Network:
    """What all lines have in common."""

    def __init__(self, dice: random.Random, gives_up_s: float, repeats_within_s: float = 20.0) -> None:
        self.dice = dice
        self.gives_up_s = gives_up_s
        self.repeats_within_s = repeats_within_s
        self.lost_share = 0.0
        self.repeated_share = 0.0
        self.closed = False
        self.counted: Counter[str] = Counter()
        self.loop = the_loop()
        self._context = context_of(None)

    def later(self, delay_s: float, act: Callable[..., None], *arguments: Any) -> None:
        """Something that happens out there, whatever becomes of the sender."""
        self.loop.call_at(self.loop.time() + delay_s, act, *arguments, context=self._context)

    def latency_s(self) -> float:
        return self.dice.random() * LATENCY_MAX_S

    def loses(self) -> bool:
        return self.lost_share > 0 and self.dice.random() < self.lost_share

    def repeats(self) -> bool:
        return self.repeated_share > 0 and self.dice.random() < self.repeated_share


class Server:
    """A store at the far end of the lines. Down it refuses, slow it takes its time."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.up = True
        self.starts = 0
        self.slow_s = 0.0

    def restart(self) -> None:
        """What was under way is carried out or not, and nobody is told."""
        self.starts += 1


class Line:
    """From one host to one server."""

    def __init__(self, network: Network, server: Server) -> None:
        self._network = network
        self._server = server
        self.requests_cut = False
        self.answers_cut = False
        self.slow_s = 0.0
        self._traps: dict[str, Callable[[], None]] = {}
        self._parked: list[Callable[[], None]] = []

    async def call(self, name: str, work: Work) -> Any:
        """One round trip."""
        if self._network.closed:
            raise StoreUnavailable("the world is over")
        answer: asyncio.Future[Any] = self._network.loop.create_future()
        message = _Message(self._network, self._server, self, work, answer)
        trap = self._traps.pop(name, None)
        if trap is None:
            message.send()
        else:
            self._parked.append(message.send)
            message.give_up_in(self._network.gives_up_s)
            trap()
        return await answer

    def trap(self, name: str, act: Callable[[], None]) -> None:
        """Hold the next request of that name back until the line is released, and act when it is sent."""
        self._traps[name] = act

    def park(self, message: Callable[[], None]) -> None:
        self._parked.append(message)

    def release(self) -> None:
        """What was held back goes on its way, late but complete."""
        self._traps.clear()
        parked, self._parked = self._parked, []
        for message in parked:
            message()

    @property
    def delay_s(self) -> float:
        slow_s = self.slow_s + self._server.slow_s
        return self._network.latency_s() + (self._network.dice.random() * slow_s if slow_s else 0.0)


class _Message:
    """A request on its way, and its answer on the way back."""

    def __init__(
        self, network: Network, server: Server, line: Line, work: Work, answer: asyncio.Future[Any]
    ) -> None:
        self._network = network
        self._server = server
        self._line = line
        self._work = work
        self._answer = answer
        self._sent_at = network.loop.time()

    def send(self) -> None:
        network = self._network
        if network.loses():
            self._lose("request lost")
            return
        delay_s = self._line.delay_s
        network.later(delay_s, self._arrive)
        self._patience(delay_s)
        if network.repeats():
            network.counted["request repeated"] += 1
            network.later(delay_s + network.dice.random() * network.repeats_within_s, self._arrive_again)

    def give_up_in(self, seconds: float) -> None:
        self._network.later(seconds, self._fail, "no answer in time")

    def _arrive(self) -> None:
        if self._line.requests_cut:
            self._lose("request cut off")
            if self._network.dice.random() < 0.5:
                self._line.park(self._arrive)
            return
        if not self._server.up:
            self._network.later(REFUSED_AFTER_S, self._fail, "connection refused")
            return
        starts = self._server.starts
        try:
            done, value = True, carry_out(self._work())
        except Exception as error:
            done, value = False, error
        if self._network.loses():
            self._lose("executed, then timed out")
            return
        delay_s = self._line.delay_s
        self._network.later(delay_s, self._reply, done, value, starts)
        self._patience(delay_s)

    def _arrive_again(self) -> None:
        """The same request a second time; nobody waits for its answer."""
        if not self._line.requests_cut and self._server.up:
            try:
                carry_out(self._work())
            except Exception:
                self._network.counted["repetition refused"] += 1

    def _reply(self, done: bool, value: Any, starts: int) -> None:
        if self._line.answers_cut or starts != self._server.starts:
            self._lose("answer cut off")
        elif not self._answer.done():
            if done:
                self._answer.set_result(value)
            else:
                self._answer.set_exception(value)

    def _lose(self, how: str) -> None:
        self._network.counted[how] += 1
        self.give_up_in(max(self._left_s(), REFUSED_AFTER_S))

    def _patience(self, delay_s: float) -> None:
        """Who would have to wait for longer than it waits for anything gives up before that."""
        if delay_s > self._left_s():
            self._network.counted["given up on"] += 1
            self.give_up_in(max(self._left_s(), REFUSED_AFTER_S))

    def _left_s(self) -> float:
        return self._sent_at + self._network.gives_up_s - self._network.loop.time()

    def _fail(self, why: str) -> None:
        if not self._answer.done():
            self._answer.set_exception(StoreUnavailable(why))


def carry_out(work: Awaitable[Any]) -> Any:
    """All of a call at one instant: nothing in a store in memory waits, so each call is a transaction."""
    steps = work.__await__()
    try:
        next(steps)
    except StopIteration as finished:
        return finished.value
    raise AssertionError("a store in memory has waited")
