"""The protocol of leases, fences and the ledger, checked in every state that a small world can be in.

The models keep their promises; each trap that is switched on is found, by the promise that it breaks; and
what makes the models worth checking does happen in them.

A check takes longer than five seconds where a world has many states: it visits every one.
"""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from tests.proof.tlc import MODELS, Finding, check, names

pytestmark = pytest.mark.timeout(600)

README = (MODELS / "README.md").read_text("utf-8")


@dataclass(frozen=True)
class World:
    """A model at one size, and how many states it has at least."""

    name: str
    module: str
    states_min: int
    unused: frozenset[str] = frozenset()
    """Actions that happen only in a trap, or not at this size."""

    @property
    def configuration(self) -> str:
        return (MODELS / f"{self.name}.cfg").read_text("utf-8")


HALVES = frozenset({"CursorAdvances", "RowsArrive"})
FALLS = frozenset({"FallBack", "FreeEarly"})

LEASES = World("Leadership", "Leadership", 100_000, FALLS)
FALLING = World("LeadershipFalls", "Leadership", 80_000, frozenset({"PassTime"}))
PLANNING = World("Planning", "Planning", 80_000, HALVES)
FAIR = World("PlanningFair", "Planning", 2_000, HALVES | {"ClockStepsBack"})
RUNS = World("Runs", "Runs", 70_000, frozenset({"Replay"}))
REPLAYS = World("RunsReplayed", "Runs", 20_000)
BUFFERED = World("Lateness", "Lateness", 60_000)
WORLDS = (LEASES, FALLING, PLANNING, FAIR, RUNS, REPLAYS, BUFFERED)

TRAPS = [
    (LEASES, "RenewalFromReply", "TrustWithinLease"),
    (LEASES, "NoMargin", "TrustWithinLease"),
    (LEASES, "GrantBelievedAtOnce", "TrustWithinLease"),
    (LEASES, "ReleaseInDoubtRetaken", "TrustWithinLease"),
    (LEASES, "EpochNotRaisedOnRegrant", "I4_NoStaleWrite"),
    (LEASES, "EpochCheckedBeforeWrite", "I4_NoStaleWrite"),
    (LEASES, "LedgerTrustsLeaseEpoch", "I4_EpochsNeverFall"),
    (FALLING, "LedgerTrustsLeaseEpoch", "I4_OneLeaderPerEpoch"),
    (PLANNING, "CursorBeforeInsert", "I2_NothingSkipped"),
    (PLANNING, "LateCursorWins", "I1_CursorsNeverFall"),
    (PLANNING, "DedupByRowsOnly", "I1_OneRowPerKey"),
    (PLANNING, "PlanFromNow", "I2_NothingSkipped"),
    (PLANNING, "OldSpecAfterEdit", "I3_EditHolds"),
    (PLANNING, "EditMovesTheMark", "I2_NothingSkipped"),
    (PLANNING, "PrunedAheadOfTime", "I3_OnePlanPerFireTime"),
    (PLANNING, "PrunedBeforePlanned", "I3_OnePlanPerFireTime"),
    (FAIR, "ClosedVersionDropped", "I2_EventuallyAccounted"),
    (RUNS, "CompletionByStateOnly", "I5_OldFenceChangesNothing"),
    (RUNS, "FenceReused", "I5_FencesRise"),
    (RUNS, "CrashesNotCounted", "I9_AttemptsBounded"),
    (RUNS, "AtMostOnceRescued", "I8_AtMostOnce"),
    (RUNS, "RescueWithoutLookingAgain", "I6_EndedStaysEnded"),
    (RUNS, "ClaimWithoutCompare", "I8_AtMostOnce"),
    (RUNS, "SinkIgnoresFence", "I5_EffectsInOrder"),
    (BUFFERED, "AnyRunExcuses", "NoStaleStart"),
    (BUFFERED, "NothingExcuses", "NoExcuseLost"),
]

HAPPENINGS = [
    (LEASES, "NeverRefused"),
    (FALLING, "NeverTwoLeaders"),
    (FALLING, "NeverNumberedByItself"),
    (FALLING, "NeverRegisteredAfterAFall"),
    (PLANNING, "NeverStale"),
    (PLANNING, "NeverOutdatedByEdit"),
    (PLANNING, "NeverRepeatedAfterRetention"),
    (PLANNING, "NeverClosedBehind"),
    (PLANNING, "NeverPlannedAgainAfterWithdrawal"),
    (RUNS, "NeverRescued"),
    (RUNS, "NeverRefused"),
    (RUNS, "NeverLost"),
    (RUNS, "NeverRefusedByTheSink"),
    (REPLAYS, "NeverTriedAfterReplay"),
    (BUFFERED, "NeverExcused"),
    (BUFFERED, "NeverMissed"),
    (BUFFERED, "NeverExcusedByATick"),
]


@pytest.mark.proof
@pytest.mark.parametrize("world", WORLDS, ids=lambda world: world.name)
def test_no_state_breaks_a_promise_and_no_action_is_idle(world: World) -> None:
    finding = check(world.module, world.configuration, hurried=False, counted=True)
    assert finding.violated is None, finding.trace
    assert finding.distinct >= world.states_min
    assert f"({world.name}.cfg): {finding.distinct:,}" in README
    assert {name for name, times in finding.taken.items() if times == 0} == world.unused


@pytest.mark.proof
@pytest.mark.parametrize(("world", "switch", "promise"), TRAPS)
def test_a_trap_does_not_stay_unseen(world: World, switch: str, promise: str) -> None:
    finding = trapped(world, switch)
    assert finding.violated == promise
    steps = "–" if world is FAIR else len(finding.trace)
    assert f"| `{switch}` | `{promise}` | {steps} |" in README, finding.trace


@pytest.mark.proof
@pytest.mark.parametrize(("world", "denial"), HAPPENINGS)
def test_what_the_model_is_about_does_happen(world: World, denial: str) -> None:
    head, _, _ = world.configuration.partition("INVARIANTS")
    assert check(world.module, f"{head}INVARIANTS\n    {denial}\n").violated == denial


@pytest.mark.parametrize("world", WORLDS, ids=lambda world: world.name)
def test_no_switch_and_no_promise_is_without_a_trap(world: World) -> None:
    switches = {line.split()[0] for line in world.configuration.splitlines() if line.endswith(" = FALSE")}
    promises = set(names(world.configuration, "INVARIANTS", "PROPERTIES"))
    mine = [(switch, promise) for one, switch, promise in TRAPS if one.module == world.module]
    assert switches == {switch for switch, _ in mine}
    assert promises <= {promise for _, promise in mine}


def test_every_configuration_is_checked() -> None:
    assert {path.stem for path in MODELS.glob("*.cfg")} == {world.name for world in WORLDS}
    assert {path.stem for path in MODELS.glob("*.tla")} == {world.module for world in WORLDS}


def trapped(world: World, switch: str) -> Finding:
    """What is found with one switch on."""
    off = f"    {switch} = FALSE\n"
    assert off in world.configuration
    return check(world.module, world.configuration.replace(off, f"    {switch} = TRUE\n"))
