"""All contracts of a store in one class."""

from __future__ import annotations

from fencepost.testing.conformance.calendars import CalendarContract, CalendarUseContract
from fencepost.testing.conformance.claims import AdoptionContract, ClaimContract, OutlookContract
from fencepost.testing.conformance.due_times import DueTimeContract
from fencepost.testing.conformance.jobs import JobContract
from fencepost.testing.conformance.leases import LeaseContract
from fencepost.testing.conformance.ledger import LedgerContract
from fencepost.testing.conformance.planbook import PlanBookContract
from fencepost.testing.conformance.renewals import RenewalContract
from fencepost.testing.conformance.reports import ReportContract
from fencepost.testing.conformance.rescues import RescueContract
from fencepost.testing.conformance.retention import RetentionContract
from fencepost.testing.conformance.roster import RosterContract
from fencepost.testing.conformance.schedules import ScheduleContract
from fencepost.testing.conformance.signals import SignalContract
from fencepost.testing.conformance.store import StoreContract
from fencepost.testing.conformance.ticks import SweepContract, TickContract
from fencepost.testing.conformance.triggering import TriggerContract
from fencepost.testing.conformance.zone_rules import ConfirmationContract, OutlivedContract


class StoreConformance(
    AdoptionContract,
    CalendarContract,
    CalendarUseContract,
    ClaimContract,
    ConfirmationContract,
    DueTimeContract,
    OutlivedContract,
    OutlookContract,
    JobContract,
    LeaseContract,
    LedgerContract,
    PlanBookContract,
    RenewalContract,
    ReportContract,
    RescueContract,
    RetentionContract,
    RosterContract,
    ScheduleContract,
    SignalContract,
    StoreContract,
    SweepContract,
    TickContract,
    TriggerContract,
):
    """What a store owes in whole; a subclass brings the harness."""
