"""The store in memory keeps every contract."""

import pytest

from fencepost.testing.conformance.claims import AdoptionContract, ClaimContract, OutlookContract
from fencepost.testing.conformance.harness import StoreHarness
from fencepost.testing.conformance.jobs import JobContract
from fencepost.testing.conformance.leases import LeaseContract
from fencepost.testing.conformance.ledger import LedgerContract
from fencepost.testing.conformance.planbook import PlanBookContract
from fencepost.testing.conformance.reports import ReportContract
from fencepost.testing.conformance.rescues import RescueContract
from fencepost.testing.conformance.retention import RetentionContract
from fencepost.testing.conformance.roster import RosterContract
from fencepost.testing.conformance.schedules import ScheduleContract
from fencepost.testing.conformance.signals import SignalContract
from fencepost.testing.conformance.store import StoreContract
from fencepost.testing.conformance.ticks import SweepContract, TickContract
from fencepost.testing.conformance.triggering import TriggerContract
from tests.conformance.clocked import open_memory


@pytest.fixture
def harness() -> StoreHarness:
    return open_memory()


class TestAdoption(AdoptionContract):
    """See `AdoptionContract`."""


class TestClaim(ClaimContract):
    """See `ClaimContract`."""


class TestOutlook(OutlookContract):
    """See `OutlookContract`."""


class TestJob(JobContract):
    """See `JobContract`."""


class TestLease(LeaseContract):
    """See `LeaseContract`."""


class TestLedger(LedgerContract):
    """See `LedgerContract`."""


class TestPlanBook(PlanBookContract):
    """See `PlanBookContract`."""


class TestReport(ReportContract):
    """See `ReportContract`."""


class TestRescue(RescueContract):
    """See `RescueContract`."""


class TestRetention(RetentionContract):
    """See `RetentionContract`."""


class TestRoster(RosterContract):
    """See `RosterContract`."""


class TestSchedule(ScheduleContract):
    """See `ScheduleContract`."""


class TestSignal(SignalContract):
    """See `SignalContract`."""


class TestStore(StoreContract):
    """See `StoreContract`."""


class TestSweep(SweepContract):
    """See `SweepContract`."""


class TestTick(TickContract):
    """See `TickContract`."""


class TestTrigger(TriggerContract):
    """See `TriggerContract`."""
