----------------------------- MODULE Lateness -----------------------------
(***************************************************************************)
(* Which ticks of a buffer still run: how late a tick is, and what excuses *)
(* it.                                                                     *)
(*                                                                         *)
(* A tick is due at its own number.  The planner may write it much later.  *)
(* One run at a time is unfinished; ticks that are due go before other     *)
(* runs (by hand, caught up, filled in), which begin at any time.          *)
(*                                                                         *)
(* The guide: a tick is not late while it stands behind a run that had     *)
(* begun when it became due, or behind an earlier tick of its buffer.      *)
(* `late` counts that as time passes, step by step.  The ledger cannot: it *)
(* judges now and then, by when runs began and ended.  Both must agree.    *)
(***************************************************************************)
EXTENDS Naturals, FiniteSets

CONSTANTS
    Ticks,        \* numbers, from 1 on: each is due at its own
    Others,       \* runs of the schedule that are no ticks
    TimeMax,      \* bounds the model
    LatenessMax   \* max_lateness

\* The traps.  Each is FALSE in the protocol as it is.
CONSTANTS
    AnyRunExcuses,   \* lateness counts from the end of any run, and not while one is unfinished
    NothingExcuses   \* lateness counts from when the tick became due

VARIABLES
    now,      \* the ledger's time
    written,  \* the planner has written the ticks up to here
    state,    \* of each run: "waits", "running", "ended" or "missed"
    began,    \* when it did
    ended,    \* when it did
    late,     \* how long each tick has waited since nothing excused it any more
    stale,    \* ticks that began too late
    wronged   \* ticks that were missed and not too late

vars == <<now, written, state, began, ended, late, stale, wronged>>

Runs == Ticks \union Others
Begun == {r \in Runs : state[r] \in {"running", "ended"}}
Unfinished == {r \in Runs : state[r] = "running"}
Due == {t \in Ticks : t <= written /\ t <= now /\ state[t] = "waits"}

Max(S) == CHOOSE m \in S : \A n \in S : n <= m

Init ==
    /\ now = 0
    /\ written = 0
    /\ state = [r \in Runs |-> "waits"]
    /\ began = [r \in Runs |-> 0]
    /\ ended = [r \in Runs |-> 0]
    /\ late = [t \in Ticks |-> 0]
    /\ stale = {}
    /\ wronged = {}

---------------------------------------------------------------------------
\* The truth, at one moment.

Excuses(r, t) == began[r] <= t \/ (r \in Ticks /\ r < t)

IsExcused(t) == \E r \in Unfinished : Excuses(r, t)

\* A tick that is due gets later by one, unless it stands behind something.
PassTime ==
    /\ now < TimeMax
    /\ now' = now + 1
    /\ late' = [t \in Ticks |->
                   IF t > now \/ state[t] # "waits" THEN late[t]
                   ELSE IF IsExcused(t) THEN 0 ELSE late[t] + 1]
    /\ UNCHANGED <<written, state, began, ended, stale, wronged>>

---------------------------------------------------------------------------
\* The ledger, which knows when runs began and ended.

StoodBehind(t) == {r \in Begun : AnyRunExcuses \/ (~NothingExcuses /\ Excuses(r, t))}

FreeSince(t) == Max({t} \union {ended[r] : r \in {b \in StoodBehind(t) : state[b] = "ended"}})

IsOnTime(t) ==
    \/ \E r \in StoodBehind(t) : state[r] = "running"
    \/ now - FreeSince(t) <= LatenessMax

WritePlan ==
    /\ written < now
    /\ written' = now
    /\ UNCHANGED <<now, state, began, ended, late, stale, wronged>>

Begin(r) ==
    /\ Unfinished = {}
    /\ state' = [state EXCEPT ![r] = "running"]
    /\ began' = [began EXCEPT ![r] = now]
    /\ UNCHANGED <<now, written, ended, late, wronged>>

BeginTick(t) ==
    /\ t \in Due
    /\ \A u \in Due : t <= u
    /\ IsOnTime(t)
    /\ Begin(t)
    /\ stale' = IF late[t] > LatenessMax THEN stale \union {t} ELSE stale

BeginOther(r) ==
    /\ state[r] = "waits"
    /\ Due = {}
    /\ Begin(r)
    /\ UNCHANGED stale

Miss(t) ==
    /\ t \in Due
    /\ ~IsOnTime(t)
    /\ state' = [state EXCEPT ![t] = "missed"]
    /\ wronged' = IF late[t] > LatenessMax THEN wronged ELSE wronged \union {t}
    /\ UNCHANGED <<now, written, began, ended, late, stale>>

\* Work takes its time.
End(r) ==
    /\ r \in Unfinished
    /\ began[r] < now
    /\ state' = [state EXCEPT ![r] = "ended"]
    /\ ended' = [ended EXCEPT ![r] = now]
    /\ UNCHANGED <<now, written, began, late, stale, wronged>>

---------------------------------------------------------------------------
Next ==
    \/ PassTime
    \/ WritePlan
    \/ \E t \in Ticks : BeginTick(t) \/ Miss(t)
    \/ \E r \in Others : BeginOther(r)
    \/ \E r \in Runs : End(r)

Spec == Init /\ [][Next]_vars

---------------------------------------------------------------------------
\* No tick begins that has been late for longer than it may be.
NoStaleStart == stale = {}

\* And none is missed before.
NoExcuseLost == wronged = {}

---------------------------------------------------------------------------
\* What the model is about does happen: each of these must be refuted.

NeverExcused == \A t \in Ticks : began[t] <= t + LatenessMax
NeverMissed == \A t \in Ticks : state[t] # "missed"
NeverExcusedByATick ==
    ~ \E t \in Ticks : \E u \in Ticks :
        u < t /\ began[u] > t /\ state[t] = "running" /\ began[t] > t + LatenessMax
=============================================================================
