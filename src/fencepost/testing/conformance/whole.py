"""All contracts of a store in one class."""

from __future__ import annotations

from fencepost.testing.conformance.access import TokenContract
from fencepost.testing.conformance.audit_log import AuditLogContract
from fencepost.testing.conformance.backfills import BackfillContract, FillModeContract
from fencepost.testing.conformance.by_name import ByNameContract
from fencepost.testing.conformance.calendars import CalendarContract, CalendarUseContract
from fencepost.testing.conformance.claims import AdoptionContract, ClaimContract, OutlookContract
from fencepost.testing.conformance.due_times import DueTimeContract
from fencepost.testing.conformance.epochs import EpochContract, ReshardContract
from fencepost.testing.conformance.freezes import FreezeContract, FreezeOfAllContract
from fencepost.testing.conformance.gates import GateContract, GateFactContract
from fencepost.testing.conformance.holds import HoldContract, SkipContract
from fencepost.testing.conformance.idempotency import AnswerContract
from fencepost.testing.conformance.jobs import JobContract
from fencepost.testing.conformance.joins import JoinContract
from fencepost.testing.conformance.lanes import LaneContract
from fencepost.testing.conformance.ledger import LedgerContract
from fencepost.testing.conformance.limited_ticks import LimitedTickContract
from fencepost.testing.conformance.limits import RateContract, SlotContract
from fencepost.testing.conformance.many_runs import ManyRunsContract
from fencepost.testing.conformance.many_schedules import ManySchedulesContract
from fencepost.testing.conformance.missed_ranges import MissedRangeContract
from fencepost.testing.conformance.nodes import DrainContract, NodesContract
from fencepost.testing.conformance.notifications import NotificationContract
from fencepost.testing.conformance.outcomes import OutcomesContract
from fencepost.testing.conformance.paging import RunPagingContract, ScheduleFindingContract
from fencepost.testing.conformance.parking import ParkingContract
from fencepost.testing.conformance.plans import PlansContract
from fencepost.testing.conformance.policies import CatchUpContract, OverlapContract
from fencepost.testing.conformance.progress import ProgressContract
from fencepost.testing.conformance.queue_freezes import QueueFreezeContract, QueueViewContract
from fencepost.testing.conformance.quotas import QuotaContract
from fencepost.testing.conformance.readings import ReadingContract
from fencepost.testing.conformance.renewals import RenewalContract
from fencepost.testing.conformance.replays import ReplayContract
from fencepost.testing.conformance.reports import ReportContract
from fencepost.testing.conformance.rescues import GraceContract, RescueContract
from fencepost.testing.conformance.resuming import ResumingContract
from fencepost.testing.conformance.retention import RetentionContract
from fencepost.testing.conformance.rows import RowContract
from fencepost.testing.conformance.run_logs import RunLogsContract
from fencepost.testing.conformance.run_times import RunTimesContract
from fencepost.testing.conformance.schedules import ScheduleContract
from fencepost.testing.conformance.sign_in import SessionContract, SignInLinkContract
from fencepost.testing.conformance.signals import SignalContract
from fencepost.testing.conformance.steps import StepContract
from fencepost.testing.conformance.store import StoreContract
from fencepost.testing.conformance.successors import SuccessorContract
from fencepost.testing.conformance.terms import TermContract
from fencepost.testing.conformance.ticks import SweepContract, TickContract
from fencepost.testing.conformance.triggering import TriggerContract
from fencepost.testing.conformance.unique import ExpiryContract, SnoozeContract, UniqueContract
from fencepost.testing.conformance.verdicts import FactContract, StopContract, VerdictContract
from fencepost.testing.conformance.views import NewsContract, StripContract, TrafficContract
from fencepost.testing.conformance.zone_rules import ConfirmationContract, OutlivedContract


class StoreConformance(
    AdoptionContract,
    AnswerContract,
    AuditLogContract,
    BackfillContract,
    ByNameContract,
    CalendarContract,
    CalendarUseContract,
    CatchUpContract,
    ClaimContract,
    ConfirmationContract,
    DrainContract,
    DueTimeContract,
    EpochContract,
    ExpiryContract,
    FactContract,
    FillModeContract,
    FreezeContract,
    FreezeOfAllContract,
    GateContract,
    GateFactContract,
    GraceContract,
    HoldContract,
    JobContract,
    JoinContract,
    LaneContract,
    LedgerContract,
    LimitedTickContract,
    RunLogsContract,
    ManyRunsContract,
    ManySchedulesContract,
    MissedRangeContract,
    NewsContract,
    NotificationContract,
    OutlivedContract,
    OutlookContract,
    OverlapContract,
    ParkingContract,
    PlansContract,
    ProgressContract,
    RunTimesContract,
    QueueFreezeContract,
    QueueViewContract,
    QuotaContract,
    RateContract,
    ReadingContract,
    RenewalContract,
    ReplayContract,
    ReportContract,
    ReshardContract,
    RescueContract,
    ResumingContract,
    RetentionContract,
    NodesContract,
    RowContract,
    RunPagingContract,
    ScheduleContract,
    ScheduleFindingContract,
    SessionContract,
    SignInLinkContract,
    SignalContract,
    SkipContract,
    SlotContract,
    SnoozeContract,
    StepContract,
    StopContract,
    StoreContract,
    OutcomesContract,
    StripContract,
    SuccessorContract,
    SweepContract,
    TermContract,
    TickContract,
    TrafficContract,
    TokenContract,
    TriggerContract,
    UniqueContract,
    VerdictContract,
):
    """Everything that a store must do; a subclass brings the harness."""
