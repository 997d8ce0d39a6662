----------------------------- MODULE Planning -----------------------------
(***************************************************************************)
(* How fire times become rows, once each.                                  *)
(*                                                                         *)
(* One schedule.  Each of its versions has a cursor: everything up to      *)
(* `through' is written, and nothing after `until', the end of the         *)
(* version's time in force, ever is.  A plan is a message: it was computed *)
(* from a cursor as somebody read it, and it arrives whenever it likes, as *)
(* often as it likes, after whatever happened meanwhile.  The ledger then  *)
(* compares the epoch and the cursor with what they are now, and writes    *)
(* the rows and the cursor's advance in one step, or nothing.              *)
(*                                                                         *)
(* Of leaders this model assumes nothing at all: any node may send a plan  *)
(* under any epoch that there ever was, at any time.  What a lease is good *)
(* for is the matter of Leadership.tla; that no tick is doubled or lost    *)
(* does not hang on it.                                                    *)
(*                                                                         *)
(* Time is counted in fire times: the schedule fires at 1, 2, 3 ...  The   *)
(* store's clock may step back, retention removes rows, operators edit the *)
(* schedule and cancel ticks.                                              *)
(***************************************************************************)
EXTENDS Naturals, FiniteSets

CONSTANTS
    TimeMax, Horizon, VersionsMax, EpochsMax, PlansMax,
    Keep,      \* a row is kept so long after its fire time
    StepBack   \* how far the store's clock may step back, once; at most Keep

\* The traps.  Each is FALSE in the protocol as it is.
CONSTANTS
    CursorBeforeInsert,  \* the cursor advances in one step, the rows come in another
    LateCursorWins,      \* a plan sets the cursor, wherever that is by now
    DedupByRowsOnly,     \* a plan is compared with the rows there are, not with the cursor
    PlanFromNow,         \* a plan starts at the time of day, not where the last one ended
    OldSpecAfterEdit,    \* a plan is not compared with the end of its version
    EditMovesTheMark,    \* an edit sets the old version's cursor to its end
    ClosedVersionDropped, \* a planner looks only at the version in force
    PrunedAheadOfTime,   \* retention removes what has ended, whatever its fire time
    PrunedBeforePlanned  \* retention removes a tick that the next version has yet to pass

VARIABLES
    now,      \* the store's time
    stepped,  \* whether its clock has stepped back
    epoch,    \* the ledger's epoch for the shard
    from,     \* from[v]: after this version v is in force; Never before it exists
    cursor,   \* cursor[v]: through, until
    row,      \* row[v][f]: what the ledger has for this key at this moment
    written,  \* written[v][f]: how often a row of this key was inserted
    undone,   \* the keys that were withdrawn
    plans     \* plans under way

vars == <<now, stepped, epoch, from, cursor, row, written, undone, plans>>

Versions == 1..VersionsMax
FireTimes == 1..(TimeMax + Horizon)
Never == TimeMax + Horizon + 1  \* later than everything: a version without an end

Min(a, b) == IF a < b THEN a ELSE b
Max(a, b) == IF a > b THEN a ELSE b

Exists(v) == from[v] # Never
Latest == CHOOSE v \in Versions : Exists(v) /\ \A w \in Versions : Exists(w) => w <= v

Init ==
    /\ now = 0
    /\ stepped = FALSE
    /\ epoch = 1
    /\ from = [v \in Versions |-> IF v = 1 THEN 0 ELSE Never]
    /\ cursor = [v \in Versions |-> [through |-> 0, until |-> Never]]
    /\ row = [v \in Versions |-> [f \in FireTimes |-> "none"]]
    /\ written = [v \in Versions |-> [f \in FireTimes |-> 0]]
    /\ undone = {}
    /\ plans = {}

-----------------------------------------------------------------------------
(* The planner: services/planner.py, core/planning.py                        *)

Start(v) == IF PlanFromNow THEN Max(now, cursor[v].through) ELSE cursor[v].through
Reach(v) == Min(now + Horizon, cursor[v].until)

Plan(v, to, e) ==
    [version |-> v, read |-> cursor[v].through, until |-> cursor[v].until,
     start |-> Start(v), to |-> to, epoch |-> e, rows |-> TRUE, moves |-> TRUE]

\* One pass may stop anywhere on its way to the horizon.
Compute(v, to, e) ==
    /\ Exists(v) /\ e <= epoch
    /\ ClosedVersionDropped => v = Latest
    /\ Start(v) < to /\ to <= Reach(v)
    /\ Cardinality(plans) < PlansMax
    /\ plans' = plans \union {Plan(v, to, e)}
    /\ UNCHANGED <<now, stepped, epoch, from, cursor, row, written, undone>>

-----------------------------------------------------------------------------
(* The ledger: ports/planbook.py, write                                      *)

Fits(p) ==
    /\ p.epoch = epoch
    /\ LateCursorWins \/ DedupByRowsOnly \/ ~p.moves \/ cursor[p.version].through = p.read
    /\ OldSpecAfterEdit \/ cursor[p.version].until = p.until

\* A fire time that has a run of whatever version is taken, unless that was
\* withdrawn.
Taken(f) == \E v \in Versions : row[v][f] \notin {"none", "withdrawn"}

New(p) == {f \in FireTimes : p.start < f /\ f <= p.to /\ ~Taken(f) /\ row[p.version][f] = "none"}

Insert(p) ==
    LET v == p.version
    IN  /\ row' = [row EXCEPT ![v] = [f \in FireTimes |-> IF f \in New(p) THEN "planned" ELSE @[f]]]
        /\ written' = [written EXCEPT ![v] = [f \in FireTimes |-> @[f] + (IF f \in New(p) THEN 1 ELSE 0)]]

Advance(p) == cursor' = [cursor EXCEPT ![p.version].through = IF LateCursorWins THEN p.to ELSE Max(@, p.to)]

\* A plan stays on the wire: it may have been sent twice.
Write(p) ==
    /\ Fits(p) /\ p.rows /\ p.moves /\ ~CursorBeforeInsert
    /\ Insert(p) /\ Advance(p)
    /\ UNCHANGED <<now, stepped, epoch, from, undone, plans>>

\* The trap's two halves; the second may never come.
AdvanceOnly(p) ==
    /\ CursorBeforeInsert /\ Fits(p) /\ p.moves
    /\ Advance(p)
    /\ plans' = (plans \ {p}) \union {[p EXCEPT !.moves = FALSE]}
    /\ UNCHANGED <<now, stepped, epoch, from, row, written, undone>>

InsertOnly(p) ==
    /\ CursorBeforeInsert /\ Fits(p) /\ ~p.moves
    /\ Insert(p)
    /\ plans' = plans \ {p}
    /\ UNCHANGED <<now, stepped, epoch, from, cursor, undone>>

Lose(p) ==
    /\ plans' = plans \ {p}
    /\ UNCHANGED <<now, stepped, epoch, from, cursor, row, written, undone>>

\* Another leader registers: Leadership.tla says when, here it may be any time.
Register ==
    /\ epoch < EpochsMax
    /\ epoch' = epoch + 1
    /\ UNCHANGED <<now, stepped, from, cursor, row, written, undone, plans>>

-----------------------------------------------------------------------------
(* The schedule: ports/schedules.py                                          *)

\* An edit ends the version in force and takes back its ticks after that.
Edit ==
    LET v == Latest
        boundary == Max(now, from[v])
        back == {f \in FireTimes : f > boundary /\ row[v][f] = "planned"}
    IN  /\ v < VersionsMax
        /\ from' = [from EXCEPT ![v + 1] = boundary]
        /\ cursor' = [cursor EXCEPT
               ![v].until = boundary,
               ![v].through = IF EditMovesTheMark THEN Max(@, boundary) ELSE @,
               ![v + 1].through = boundary]
        /\ row' = [row EXCEPT ![v] = [f \in FireTimes |-> IF f \in back THEN "withdrawn" ELSE @[f]]]
        /\ undone' = undone \union {<<v, f>> : f \in back}
        /\ UNCHANGED <<now, stepped, epoch, written, plans>>

-----------------------------------------------------------------------------
(* The rest of the ledger's life                                             *)

\* A run that ran, or a tick that was cancelled, perhaps ahead of its time.
End(v, f) ==
    /\ row[v][f] = "planned"
    /\ row' = [row EXCEPT ![v][f] = "ended"]
    /\ UNCHANGED <<now, stepped, epoch, from, cursor, written, undone, plans>>

\* Retention: core/retention.py, ports/ledger.py, forget.  A row may go when
\* nothing can ask for it any more: its fire time is long ago, and every cursor
\* that has this fire time before it has passed it.
PassedByAll(f) == \A v \in Versions : Exists(v) => f <= cursor[v].through \/ f > cursor[v].until

Forget(v, f) ==
    /\ row[v][f] \in {"ended", "withdrawn"}
    /\ f + Keep <= now \/ PrunedAheadOfTime
    /\ PassedByAll(f) \/ PrunedBeforePlanned
    /\ row' = [row EXCEPT ![v][f] = "none"]
    /\ UNCHANGED <<now, stepped, epoch, from, cursor, written, undone, plans>>

PassTime ==
    /\ now < TimeMax
    /\ now' = now + 1
    /\ UNCHANGED <<stepped, epoch, from, cursor, row, written, undone, plans>>

ClockStepsBack ==
    /\ ~stepped /\ now >= StepBack /\ StepBack > 0
    /\ stepped' = TRUE
    /\ now' = now - StepBack
    /\ UNCHANGED <<epoch, from, cursor, row, written, undone, plans>>

PlanArrives == \E p \in plans : Write(p)
CursorAdvances == \E p \in plans : AdvanceOnly(p)
RowsArrive == \E p \in plans : InsertOnly(p)
PlanIsLost == \E p \in plans : Lose(p)

Next ==
    \/ PassTime \/ ClockStepsBack \/ Register \/ Edit
    \/ \E v \in Versions, to \in FireTimes, e \in 1..EpochsMax : Compute(v, to, e)
    \/ PlanArrives \/ CursorAdvances \/ RowsArrive \/ PlanIsLost
    \/ \E v \in Versions, f \in FireTimes : End(v, f) \/ Forget(v, f)

Spec == Init /\ [][Next]_vars

-----------------------------------------------------------------------------
(* What holds                                                                *)

Keys == Versions \X FireTimes
Lives(v, f) == written[v][f] > 0 /\ <<v, f>> \notin undone

\* I1: at most one row for each run key, for ever, also after retention.
I1_OneRowPerKey == \A v \in Versions, f \in FireTimes : written[v][f] <= 1

\* I2, as far as a state can show it: what a cursor has passed was written.
I2_NothingSkipped ==
    \A v \in Versions : Exists(v) =>
        \A f \in FireTimes :
            from[v] < f /\ f <= Min(cursor[v].through, cursor[v].until) => \E w \in Versions : Lives(w, f)

\* I3: no fire time is planned twice, unless the first was withdrawn.
I3_OnePlanPerFireTime ==
    \A f \in FireTimes : Cardinality({v \in Versions : Lives(v, f)}) <= 1

\* I3: after an edit the old version plans nothing that is later than the edit.
I3_EditHolds ==
    [][\A v \in Versions, f \in FireTimes : written'[v][f] > written[v][f] => f <= cursor[v].until]_vars

\* I1: a cursor never goes back.
I1_CursorsNeverFall ==
    [][\A v \in Versions : Exists(v) => cursor'[v].through >= cursor[v].through]_vars

-----------------------------------------------------------------------------
(* I2, with time: once leaders stop changing, and what the last one sends    *)
(* arrives, every fire time up to now has its row.  The leader need not be   *)
(* the same one for ever; here there are EpochsMax of them.                  *)

WriteNext(v) == \E p \in plans : p.version = v /\ Write(p)
ComputeNext(v) == Compute(v, Reach(v), epoch)
LoseOutdated == \E p \in plans : ~Fits(p) /\ Lose(p)

Fairness ==
    /\ WF_vars(PassTime) /\ WF_vars(LoseOutdated)
    /\ \A v \in Versions : SF_vars(ComputeNext(v)) /\ SF_vars(WriteNext(v))

FairSpec == Spec /\ Fairness

Accounted ==
    \A v \in Versions : Exists(v) =>
        \A f \in FireTimes :
            from[v] < f /\ f <= Min(now, cursor[v].until) => \E w \in Versions : Lives(w, f)

I2_EventuallyAccounted == <>[]Accounted

-----------------------------------------------------------------------------
(* What must NOT hold: each says that something worth modelling never comes  *)
(* about, and TLC has to find that it does.                                  *)

NeverStale == \A p \in plans : p.epoch = epoch
NeverOutdatedByEdit == \A p \in plans : p.until = cursor[p.version].until
NeverRepeatedAfterRetention ==
    \A p \in plans : \A f \in FireTimes :
        p.epoch = epoch /\ p.start < f /\ f <= p.to /\ written[p.version][f] > 0 => row[p.version][f] # "none"
NeverClosedBehind == \A v \in Versions : cursor[v].until # Never => cursor[v].through >= cursor[v].until
NeverPlannedAgainAfterWithdrawal ==
    \A f \in FireTimes : Cardinality({v \in Versions : written[v][f] > 0}) <= 1
=============================================================================
