"""A lease store that is right by inspection, and others that are wrong in one way each."""

from __future__ import annotations

from dataclasses import dataclass, replace

from fencepost.model.identifiers import Epoch, NodeId
from fencepost.model.lease import Acquisition, Granted, HeldBy, Lost, Release, Released, Renewal

TTL_S = 10.0
LAG_S = 1.5


@dataclass(frozen=True)
class Row:
    """The one lease."""

    holder: NodeId | None = None
    epoch: int = 0
    expires_at: float = 0.0


class Model:
    """Every call happens at the instant it is told; a mutant changes one of the small methods."""

    def __init__(self) -> None:
        self.row = Row()

    def acquire(self, now: float, holder: NodeId) -> Acquisition:
        if self.free(now):
            self.grant(now, holder)
        elif self.row.holder != holder:
            return self.refusal(holder)
        else:
            self.asked_again(now)
        return Granted(Epoch(self.row.epoch))

    def renew(self, now: float, holder: NodeId, epoch: Epoch) -> Renewal:
        if not self.renewable(now, holder, epoch):
            return Lost()
        self.extend(now)
        return Granted(Epoch(self.row.epoch))

    def release(self, now: float, holder: NodeId, epoch: Epoch) -> Release:
        if not self.matches(holder, epoch):
            return Lost()
        self.clear()
        return Released()

    def free(self, now: float) -> bool:
        return self.row.holder is None or self.row.expires_at <= now

    def matches(self, holder: NodeId, epoch: Epoch) -> bool:
        return (self.row.holder, self.row.epoch) == (holder, epoch)

    def renewable(self, now: float, holder: NodeId, epoch: Epoch) -> bool:
        return self.matches(holder, epoch) and not self.free(now)

    def grant(self, now: float, holder: NodeId) -> None:
        self.row = Row(holder, self.row.epoch + 1, now + TTL_S)

    def refusal(self, holder: NodeId) -> HeldBy:
        assert self.row.holder not in (None, holder)
        return HeldBy(self.row.holder or holder, Epoch(self.row.epoch), 1.0)

    def asked_again(self, now: float) -> None:
        """Nothing changes."""

    def extend(self, now: float) -> None:
        self.row = replace(self.row, expires_at=now + TTL_S)

    def clear(self) -> None:
        self.row = replace(self.row, holder=None)


class ExpiresEarly(Model):
    def free(self, now: float) -> bool:
        return super().free(now + TTL_S / 3)


class ExpiresLate(Model):
    def free(self, now: float) -> bool:
        return super().free(now - TTL_S / 2)


class RepeatsTheEpochAtATakeover(Model):
    def grant(self, now: float, holder: NodeId) -> None:
        self.row = Row(holder, max(1, self.row.epoch), now + TTL_S)


class ForgetsTheEpochAtARelease(Model):
    def clear(self) -> None:
        self.row = Row()


class RenewsForAnybody(Model):
    def renewable(self, now: float, holder: NodeId, epoch: Epoch) -> bool:
        return self.row.epoch == epoch and not self.free(now)


class RenewsUnderAnyEpoch(Model):
    def renewable(self, now: float, holder: NodeId, epoch: Epoch) -> bool:
        return self.row.holder == holder and not self.free(now)


class RenewsWhatHasExpired(Model):
    def renewable(self, now: float, holder: NodeId, epoch: Epoch) -> bool:
        return self.matches(holder, epoch)


class RenewsWithoutExtending(Model):
    def extend(self, now: float) -> None:
        """Nothing changes, and the caller believes it did."""


class RaisesTheEpochAtARenewal(Model):
    def extend(self, now: float) -> None:
        self.row = replace(self.row, epoch=self.row.epoch + 1, expires_at=now + TTL_S)


class RaisesTheEpochWhenAskedAgain(Model):
    def asked_again(self, now: float) -> None:
        self.row = replace(self.row, epoch=self.row.epoch + 1)


class RenewsWhenAskedAgain(Model):
    def asked_again(self, now: float) -> None:
        self.extend(now)


class ReleasesForAnybody(Model):
    def matches(self, holder: NodeId, epoch: Epoch) -> bool:
        return self.row.holder is not None

    def renewable(self, now: float, holder: NodeId, epoch: Epoch) -> bool:
        return super().matches(holder, epoch) and not self.free(now)


class SaysReleasedAndKeeps(Model):
    def clear(self) -> None:
        """Nothing changes."""


class LosesWhatLasts(Model):
    def renewable(self, now: float, holder: NodeId, epoch: Epoch) -> bool:
        return super().renewable(now + TTL_S / 2, holder, epoch)


class NamesTheHolderBefore(Model):
    def __init__(self) -> None:
        super().__init__()
        self.before: NodeId | None = None

    def grant(self, now: float, holder: NodeId) -> None:
        self.before = self.row.holder or self.before
        super().grant(now, holder)

    def refusal(self, holder: NodeId) -> HeldBy:
        true = super().refusal(holder)
        return true if self.before in (None, holder) else replace(true, holder=self.before or holder)


class AsksACopyThatLags(Model):
    """Who may have the lease is decided by what was true a moment ago."""

    def __init__(self) -> None:
        super().__init__()
        self.rows = [(0.0, self.row)]

    def acquire(self, now: float, holder: NodeId) -> Acquisition:
        self.rows.append((now, self.row))
        latest, epoch = self.row, self.row.epoch
        self.row = next((row for at, row in reversed(self.rows) if at <= now - LAG_S), Row())
        if not self.free(now):
            self.row = latest
        self.row = replace(self.row, epoch=epoch)
        answer = super().acquire(now, holder)
        self.rows.append((now, self.row))
        return answer


MUTANTS: tuple[type[Model], ...] = (
    ExpiresEarly,
    ExpiresLate,
    RepeatsTheEpochAtATakeover,
    ForgetsTheEpochAtARelease,
    RenewsForAnybody,
    RenewsUnderAnyEpoch,
    RenewsWhatHasExpired,
    RenewsWithoutExtending,
    RaisesTheEpochAtARenewal,
    RaisesTheEpochWhenAskedAgain,
    RenewsWhenAskedAgain,
    ReleasesForAnybody,
    SaysReleasedAndKeeps,
    LosesWhatLasts,
    NamesTheHolderBefore,
    AsksACopyThatLags,
)
