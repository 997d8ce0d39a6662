"""The hub: asks the store once for all listeners.

It looks at most once a second: after a second where something goes on (a run began or ended, something runs,
a log is watched), else when a hint comes, and after some seconds in any case. Without a listener it asks
nothing.

The order of times is not the order of commits (`ports.views`): each look goes back some seconds before the
last one, and runs that were told already, by run key, fence and state, are not told again. A change whose
transaction took longer to commit than that is seen when the page is read anew. Where two looks lie further
apart than that, or one of them failed, all listeners get `resync`. The hub itself goes on after every error:
readers must not bring down what they watch.
"""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from collections.abc import Awaitable, Callable, Collection, Iterable, Sequence

from fencepost.clock import Clock
from fencepost.model.access import Principal
from fencepost.model.clocks import Monotonic, StoreTime, later
from fencepost.model.dataclasses import dataclass
from fencepost.model.identifiers import Namespace, RunKey
from fencepost.model.run_log import LogPlace
from fencepost.model.times import from_epoch_s
from fencepost.model.views import News, RunNews, Standing
from fencepost.ports.signals import Topic
from fencepost.ports.store import Store
from fencepost.services.service import Wakeup
from fencepost.telemetry.logs import Log
from fencepost.web.live import messages
from fencepost.web.live.listener import Listener
from fencepost.web.live.run_logs import tell_logs

NEWS_MAX = 500
FAR_AHEAD = StoreTime(from_epoch_s(7_000 * 365 * 86_400))
AGE_SPREAD = 0.1
"""The part of its age by which a stream may end sooner, so that streams of one moment do not return
together."""
StillGood = Callable[[Sequence[Principal]], Awaitable[Collection[str]]]
TOPICS = (Topic.RUNS, Topic.SCHEDULES, Topic.LEASES)


@dataclass(frozen=True, slots=True)
class Pace:
    """How often the hub looks and how far back, how often it checks the listeners' credentials, and how old
    and how many the streams may be."""

    busy_s: float = 1.0
    quiet_s: float = 5.0
    overlap_s: float = 10.0
    check_every_s: float = 4.0
    age_max_s: float = 3_600.0
    streams_max: int = 800
    """Fewer than the connections that the server takes, so that streams never keep out requests."""
    per_credential_max: int = 20


class TooManyStreams(Exception):
    """There is no room for one more stream; the text says whose limit it was."""


class Hub:
    """One for a process. `still_good` says which of the listeners' credentials are still good."""

    def __init__(
        self,
        store: Store,
        still_good: StillGood,
        clock: Clock,
        pace: Pace | None = None,
        dice: Callable[[], float] = random.random,
    ) -> None:
        self.pace = pace or Pace()
        self._store = store
        self._still_good = still_good
        self._clock = clock
        self._dice = dice
        self._log = Log("live")
        self._listeners: dict[Listener, None] = {}
        self._has_listener = asyncio.Event()
        self._closed = False
        self._wakeup = Wakeup()
        self._number = 0
        self._news: News | None = None
        self._looked_at = Monotonic(0.0)
        self._told: dict[tuple[Namespace, RunKey, int, str], StoreTime] = {}
        self._standings: dict[Namespace, Standing] = {}
        self._checked_at = clock.monotonic()
        self._leases_hinted = False
        self._failed = False

    def join(
        self,
        principal: Principal,
        namespace: Namespace,
        *,
        resumed: bool = False,
        run_key: RunKey | None = None,
        place: LogPlace | None = None,
    ) -> Listener:
        """Add a listener. Raises `TooManyStreams`."""
        mine = Counter(one.principal.credential_id for one in self._listeners)[principal.credential_id]
        if mine >= self.pace.per_credential_max:
            raise TooManyStreams(f"this credential has {mine} streams open already")
        if len(self._listeners) >= self.pace.streams_max:
            raise TooManyStreams(f"this server has {len(self._listeners)} streams open already")
        age_max_s = self.pace.age_max_s * (1 - AGE_SPREAD * self._dice())
        until = Monotonic(self._clock.monotonic() + age_max_s)
        listener = Listener(principal, namespace, until, run_key, place)
        if self._closed:
            listener.end()
            return listener
        if resumed:
            self._offer(listener, messages.resync(self._number))
        self._listeners[listener] = None
        self._has_listener.set()
        self._wakeup.wake()
        return listener

    def leave(self, listener: Listener) -> None:
        """Remove a listener."""
        listener.end()
        self._listeners.pop(listener, None)
        if not self._listeners:
            self._has_listener.clear()

    def close(self) -> None:
        """End every stream at once, and admit no more."""
        self._closed = True
        for listener in list(self._listeners):
            self.leave(listener)

    async def run(self) -> None:
        """Look after look, while there is a listener, until cancelled."""
        stops = [await self._store.signals.listen(topic, self._hint(topic)) for topic in TOPICS]
        try:
            while True:
                await self._has_listener.wait()
                rest_s = await self._pass()
                await self._clock.sleep(self.pace.busy_s)
                if rest_s > self.pace.busy_s:
                    await self._wakeup.rest(rest_s - self.pace.busy_s)
        finally:
            for stop in stops:
                stop()
            self.close()

    async def run_once(self) -> float:
        """One look for all; after how many seconds the next one is due."""
        now = self._clock.monotonic()
        cold = self._news is None or now - self._looked_at > self.pace.overlap_s
        namespaces = sorted({one.namespace for one in self._listeners})
        news = await self._store.ledger.news(self._since(cold), NEWS_MAX, namespaces)
        self._number += 1
        if cold:
            self._offer_all(messages.resync(self._number), but_new=True)
        fresh = self._fresh(news)
        self._tell(news, fresh, namespaces)
        self._news, self._looked_at = news, now
        logs = await tell_logs(self._store.run_logs, self._watching(), self._number, self._log)
        await self._see_out(now)
        lively = cold or fresh or logs or any(one.running for one in news.standings.values())
        return self.pace.busy_s if lively else self.pace.quiet_s

    async def _pass(self) -> float:
        try:
            rest_s = await self.run_once()
        except Exception as error:
            if not self._failed:
                self._log.warning(
                    "the look failed, the next one follows", error=f"{type(error).__name__}: {error}"
                )
            self._failed = True
            return self.pace.quiet_s
        if self._failed:
            self._failed = False
            self._offer_all(messages.resync(self._number))
        return rest_s

    def _since(self, cold: bool) -> StoreTime:
        """A hub that begins, or comes back after a while, needs no old news: only the time, and how things
        stand."""
        if cold or self._news is None:
            self._told.clear()
            return FAR_AHEAD
        return later(self._news.at, -self.pace.overlap_s)

    def _fresh(self, news: News) -> list[RunNews]:
        """The news that were not told yet. Those from before the next look's beginning cannot come again."""
        begin = later(news.at, -2 * self.pace.overlap_s)
        self._told = {key: at for key, at in self._told.items() if at > begin}
        fresh = [one for one in news.runs if _key(one) not in self._told]
        self._told |= {_key(one): one.at for one in fresh}
        return fresh

    def _tell(self, news: News, fresh: Iterable[RunNews], namespaces: Iterable[Namespace]) -> None:
        """A new listener of a namespace that was not asked about waits for the next look."""
        changed = self._leases_hinted or (self._news is not None and news.leases_at != self._news.leases_at)
        self._leases_hinted = False
        cut = self._is_cut(news)
        for namespace in namespaces:
            mine = [one for one in fresh if one.namespace == namespace]
            told = self._of_namespace(namespace, news, mine, cut)
            if changed:
                told += messages.event("leases", {}, self._number)
            welcome = self._welcome(namespace, news, cut)
            for listener in self._in(namespace):
                message = welcome if listener.is_new else told
                listener.is_new = False
                if message:
                    self._offer(listener, message)
        self._standings = dict(news.standings)

    def _is_cut(self, news: News) -> bool:
        """Whether something new was left out: news older than the last look were told by that."""
        return news.cut and (self._news is None or news.runs[-1].at >= self._news.at)

    def _of_namespace(self, namespace: Namespace, news: News, fresh: list[RunNews], cut: bool) -> bytes:
        """The message for listeners that have listened for a while: the news."""
        before = self._standings.get(namespace, Standing())
        standing = news.standings.get(namespace, Standing())
        told = b"" if standing == before else messages.counts(standing, self._number)
        if fresh or cut:
            told += messages.runs(fresh, cut, self._number)
        if standing.schedules_at != before.schedules_at:
            told += messages.event("schedules", {}, self._number)
        return told

    def _welcome(self, namespace: Namespace, news: News, cut: bool) -> bytes:
        """The first message of a new listener: how things stand, and what happened while the page loaded."""
        standing = news.standings.get(namespace, Standing())
        lately = [one for one in news.runs if one.namespace == namespace]
        told = messages.counts(standing, self._number)
        return told + messages.runs(lately, cut, self._number) if lately or cut else told

    async def _see_out(self, now: Monotonic) -> None:
        """End the streams whose time is over, and, now and then, those whose credential has ended."""
        for listener in [one for one in self._listeners if one.until <= now]:
            self.leave(listener)
        if now - self._checked_at < self.pace.check_every_s:
            return
        self._checked_at = now
        asked = {one.principal.credential_id: one.principal for one in self._listeners}
        good = await self._still_good(list(asked.values()))
        gone = asked.keys() - set(good)
        for listener in [one for one in self._listeners if one.principal.credential_id in gone]:
            self.leave(listener)

    def _watching(self) -> list[Listener]:
        return [one for one in self._listeners if one.run_key is not None]

    def _in(self, namespace: Namespace) -> list[Listener]:
        return [one for one in self._listeners if one.namespace == namespace]

    def _offer(self, listener: Listener, message: bytes) -> None:
        listener.offer(message, messages.resync(self._number))

    def _offer_all(self, message: bytes, *, but_new: bool = False) -> None:
        for listener in self._listeners:
            if not (but_new and listener.is_new):
                self._offer(listener, message)

    def _hint(self, topic: Topic) -> Callable[[], None]:
        def hinted() -> None:
            self._leases_hinted |= topic is Topic.LEASES
            self._wakeup.wake()

        return hinted


def _key(run: RunNews) -> tuple[Namespace, RunKey, int, str]:
    return run.namespace, run.run_key, run.fence, run.state
