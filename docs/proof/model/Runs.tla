------------------------------- MODULE Runs -------------------------------
(***************************************************************************)
(* How a row becomes an effect: claim, heartbeat, rescue, completion.      *)
(*                                                                         *)
(* A claim gives the attempt a ticket: the run, the number of the attempt, *)
(* and a fence from one sequence that only rises.  Everything that the     *)
(* attempt does later carries the ticket.  A worker that is silent for too *)
(* long has its run taken away; it may not be dead, and whatever it sends  *)
(* may still arrive, at any time and more than once.                       *)
(*                                                                         *)
(* So a ledger that asks only "is it running?" lets a zombie finish the    *)
(* attempt of its successor, and an effect outside of the ledger can be    *)
(* kept in order only by whoever receives it: by the fence.                *)
(*                                                                         *)
(* Workers have no names here.  A ticket that was given to one acts by     *)
(* itself for ever after: that is a worker which may be stalled, cut off,  *)
(* or alive and believed to be dead.  One that crashed takes no more steps.*)
(***************************************************************************)
EXTENDS Naturals, FiniteSets

CONSTANTS
    Runs,         \* the runs of one schedule
    AtMostOnce,   \* those of them that must not be tried again by themselves
    AttemptsMax,  \* attempts that a run has
    ReplaysMax,   \* how often operators send an ended run on its way again
    ClaimsMax     \* bounds the model: claims in all

\* The traps.  Each is FALSE in the protocol as it is.
CONSTANTS
    CompletionByStateOnly,      \* an outcome counts where the run is running, whosever it is
    FenceReused,                \* a later attempt has the fence of the one before
    CrashesNotCounted,          \* only attempts that reported a failure count
    AtMostOnceRescued,          \* a silent run is tried again although it must not be
    RescueWithoutLookingAgain,  \* a rescue is carried out as it was found necessary
    ClaimWithoutCompare,        \* a claim is carried out as it was found possible
    SinkIgnoresFence            \* the receiver of effects does not compare fences

VARIABLES
    run,      \* the ledger's row of each run
    fences,   \* the last fence that was given
    tickets,  \* every ticket that was ever given
    outcomes, \* what attempts reported; each may arrive any number of times
    seen,     \* runs that some claimer has read to be ready
    silent,   \* tickets that the reaper has read to be silent
    sink,     \* what the receiver of effects knows: the last fence, and whose effect it was
    replays,  \* the runs' replays so far, each with an entry in the audit log
    zombies   \* outcomes that were accepted from another attempt than the run's own

vars == <<run, fences, tickets, outcomes, seen, silent, sink, replays, zombies>>

Ended == {"succeeded", "dead"}

Init ==
    /\ run = [r \in Runs |-> [state |-> "ready", attempt |-> 0, fence |-> 0, spent |-> 0, failed |-> 0,
                              alive |-> FALSE]]
    /\ fences = 0
    /\ tickets = {}
    /\ outcomes = {}
    /\ seen = {}
    /\ silent = {}
    /\ sink = [r \in Runs |-> [fence |-> 0, attempt |-> 0]]
    /\ replays = 0
    /\ zombies = 0

TicketOf(r) == [run |-> r, attempt |-> run[r].attempt, fence |-> run[r].fence]
Owns(t) == run[t.run].state = "running" /\ t = TicketOf(t.run)

\* Attempts since the run was last replayed; `failed' of them have said so.
Tried(r, failed) == IF CrashesNotCounted THEN failed ELSE run[r].attempt - run[r].spent
MayTryAgain(r, failed) == r \notin AtMostOnce /\ Tried(r, failed) < AttemptsMax

-----------------------------------------------------------------------------
(* The claim: ports/ledger.py, claim_direct and claim_ticks.  Looking and    *)
(* claiming are two steps, and many may have looked; the claim compares.     *)

Look(r) ==
    /\ run[r].state = "ready"
    /\ seen' = seen \union {r}
    /\ UNCHANGED <<run, fences, tickets, outcomes, silent, sink, replays, zombies>>

\* Whether its answer reaches the worker or not: where it does not the worker
\* asks for what is its own (adopt).
Claim(r) ==
    LET fence == IF FenceReused /\ run[r].fence > 0 THEN run[r].fence ELSE fences + 1
    IN  /\ r \in seen /\ Cardinality(tickets) < ClaimsMax
        /\ run[r].state = "ready" \/ ClaimWithoutCompare
        /\ run' = [run EXCEPT ![r].state = "running", ![r].attempt = @ + 1, ![r].fence = fence,
                              ![r].alive = TRUE]
        /\ fences' = IF fence > fences THEN fence ELSE fences
        /\ tickets' = tickets \union {[run |-> r, attempt |-> run[r].attempt + 1, fence |-> fence]}
        /\ UNCHANGED <<outcomes, seen, silent, sink, replays, zombies>>

-----------------------------------------------------------------------------
(* The attempt: services/worker.py, heartbeat.py, clerk.py                   *)

Pulse(t) ==
    /\ Owns(t) /\ ~run[t.run].alive
    /\ run' = [run EXCEPT ![t.run].alive = TRUE]
    /\ UNCHANGED <<fences, tickets, outcomes, seen, silent, sink, replays, zombies>>

\* Something that cannot be undone, sent with the fence to whoever compares it.
Effect(t) ==
    /\ t.fence >= sink[t.run].fence \/ SinkIgnoresFence
    /\ sink[t.run].attempt # t.attempt
    /\ sink' = [sink EXCEPT ![t.run] = [fence |-> t.fence, attempt |-> t.attempt]]
    /\ UNCHANGED <<run, fences, tickets, outcomes, seen, silent, replays, zombies>>

\* An attempt ends once, whatever becomes of its report.
Report(t, result) ==
    /\ \A o \in outcomes : o.ticket # t
    /\ outcomes' = outcomes \union {[ticket |-> t, result |-> result]}
    /\ UNCHANGED <<run, fences, tickets, seen, silent, sink, replays, zombies>>

Settled(r, result, failed) ==
    IF result = "success" THEN "succeeded" ELSE IF MayTryAgain(r, failed) THEN "ready" ELSE "dead"

Finish(o) ==
    LET r == o.ticket.run
        failed == run[r].failed + (IF o.result = "failure" THEN 1 ELSE 0)
    IN  /\ Owns(o.ticket) \/ (CompletionByStateOnly /\ run[r].state = "running")
        /\ run' = [run EXCEPT ![r].state = Settled(r, o.result, failed), ![r].failed = failed]
        /\ zombies' = zombies + (IF Owns(o.ticket) THEN 0 ELSE 1)
        /\ UNCHANGED <<fences, tickets, outcomes, seen, silent, sink, replays>>

-----------------------------------------------------------------------------
(* The reaper: services/reaper.py, core/liveness.py                          *)

FallSilent(r) ==
    /\ run[r].state = "running" /\ run[r].alive
    /\ run' = [run EXCEPT ![r].alive = FALSE]
    /\ UNCHANGED <<fences, tickets, outcomes, seen, silent, sink, replays, zombies>>

FindSilent(r) ==
    /\ run[r].state = "running" /\ ~run[r].alive
    /\ silent' = silent \union {TicketOf(r)}
    /\ UNCHANGED <<run, fences, tickets, outcomes, seen, sink, replays, zombies>>

\* Taking the run away raises the fence, so the old ticket is dead from here on.
Rescue(t) ==
    LET r == t.run
        again == MayTryAgain(r, run[r].failed) \/ (AtMostOnceRescued /\ r \in AtMostOnce)
    IN  /\ t \in silent
        /\ (Owns(t) /\ ~run[r].alive) \/ RescueWithoutLookingAgain
        /\ run' = [run EXCEPT ![r].state = IF again THEN "ready" ELSE "dead",
                              ![r].fence = IF FenceReused THEN @ ELSE fences + 1,
                              ![r].alive = FALSE]
        /\ fences' = IF FenceReused THEN fences ELSE fences + 1
        /\ UNCHANGED <<tickets, outcomes, seen, silent, sink, replays, zombies>>

-----------------------------------------------------------------------------
(* The operator: ports/ledger.py, replay                                     *)

Replay(r) ==
    /\ replays < ReplaysMax /\ run[r].state \in Ended
    /\ replays' = replays + 1
    /\ run' = [run EXCEPT ![r].state = "ready", ![r].spent = run[r].attempt, ![r].failed = 0,
                          ![r].fence = 0]
    /\ UNCHANGED <<fences, tickets, outcomes, seen, silent, sink, zombies>>

ClaimArrives == \E r \in seen : Claim(r)
RescueArrives == \E t \in silent : Rescue(t)
OutcomeArrives == \E o \in outcomes : Finish(o)
PulseArrives == \E t \in tickets : Pulse(t)
EffectArrives == \E t \in tickets : Effect(t)
AttemptEnds == \E t \in tickets, result \in {"success", "failure"} : Report(t, result)

Next ==
    \/ \E r \in Runs : Look(r) \/ FallSilent(r) \/ FindSilent(r) \/ Replay(r)
    \/ ClaimArrives \/ RescueArrives \/ OutcomeArrives
    \/ PulseArrives \/ EffectArrives \/ AttemptEnds

Spec == Init /\ [][Next]_vars

-----------------------------------------------------------------------------
(* What holds                                                                *)

\* I5: fences rise strictly, for one run by attempt, and no two claims share one.
I5_FencesRise ==
    \A t, u \in tickets :
        /\ t.run = u.run /\ t.attempt < u.attempt => t.fence < u.fence
        /\ t # u => t.fence # u.fence

\* I5: a write with an older fence changes nothing.
I5_OldFenceChangesNothing == zombies = 0

\* I5, outside: once a later attempt has had its effect no earlier one has.
I5_EffectsInOrder == [][\A r \in Runs : sink'[r].attempt >= sink[r].attempt]_vars

\* I6: what has ended stays so, unless an operator says otherwise, by name.
I6_EndedStaysEnded ==
    [][\A r \in Runs : run[r].state \in Ended /\ run'[r].state # run[r].state => replays' > replays]_vars

\* I8: a run that must be tried once is not tried again by itself.
I8_AtMostOnce == \A r \in AtMostOnce : run[r].attempt - run[r].spent <= 1

\* I9: attempts are bounded, also through crashes.
I9_AttemptsBounded == \A r \in Runs : run[r].attempt - run[r].spent <= AttemptsMax

-----------------------------------------------------------------------------
(* What must NOT hold: each says that something worth modelling never comes  *)
(* about, and TLC has to find that it does.                                  *)

NeverRescued ==
    \A r \in Runs : run[r].state = "ready" /\ run[r].attempt > 0 => run[r].failed > 0 \/ run[r].spent > 0
NeverRefused == \A o \in outcomes : Owns(o.ticket) \/ run[o.ticket.run].state # "running"
NeverLost == \A r \in AtMostOnce : ~(run[r].state = "dead" /\ run[r].failed = 0)
NeverRefusedByTheSink == \A t \in tickets : t.fence >= sink[t.run].fence
NeverTriedAfterReplay == \A r \in Runs : run[r].spent = 0 \/ run[r].attempt = run[r].spent
=============================================================================
