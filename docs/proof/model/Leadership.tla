---------------------------- MODULE Leadership ----------------------------
(***************************************************************************)
(* Who leads a shard, and whose plans count.                               *)
(*                                                                         *)
(* Three places take part, and nothing but messages joins them:            *)
(*                                                                         *)
(*   - a lease store, which grants the shard to one node for Ttl units of  *)
(*     its own time, under a number that rises with every grant;           *)
(*   - nodes, each of which believes in its grant up to a deadline that it *)
(*     counts by itself, from when it sent its last renewal;               *)
(*   - the ledger, which keeps a record of the last grant that was offered *)
(*     to it and compares every plan with the epoch that it answered with. *)
(*                                                                         *)
(* A message waits on the wire for as long as it likes, overtakes others,  *)
(* or is lost.  That is all there is to stalls, partitions and crashes:    *)
(* a node that is stalled takes no step, and what it sent arrives later.   *)
(*                                                                         *)
(* The lease store may fall back to an earlier number (a failover or a     *)
(* restored backup).  Where it knows it says so by another lineage, where  *)
(* it does not the lineage stays the same.  It may also free a lease       *)
(* before its time, because it saw the holder's session end.               *)
(*                                                                         *)
(* That at most one node believes to lead is NOT a property of this model: *)
(* after a fall two do.  What holds always is NoStaleWrite: the ledger     *)
(* carries out only plans of the leader that it registered last.           *)
(***************************************************************************)
EXTENDS Naturals, FiniteSets, TLC

CONSTANTS
    Nodes,      \* processes; a process that starts again is another node
    Nobody,
    Ttl,        \* how long a grant lasts, by the lease store's time
    Margin,     \* how much earlier a node stops believing in it
    Drift,      \* by how much a slow clock may stretch a node's term
    TimeMax, GrantsMax, FallsMax, WireMax, PlansMax

\* The traps.  Each is FALSE in the protocol as it is.
CONSTANTS
    RenewalFromReply,        \* a node counts its term from the answer
    NoMargin,                \* a node uses its term up to the end
    GrantBelievedAtOnce,     \* a grant is believed without a renewal
    ReleaseInDoubtRetaken,   \* a lease is taken up while its release is under way
    EpochNotRaisedOnRegrant, \* a grant after expiry has the old number
    EpochCheckedBeforeWrite, \* the epoch is compared when a plan is sent
    LedgerTrustsLeaseEpoch   \* the ledger takes over whatever number it is offered

VARIABLES
    now,     \* the lease store's time
    lease,   \* the lease store's record of the shard
    ledger,  \* the ledger's record of its leader
    node,    \* what each node believes
    wire,    \* messages under way
    grants,  \* how many grants there were: their true order, which no part knows
    fallen,  \* how often the lease store broke its promise
    stale    \* whether the ledger ever carried out a plan of another than its leader

vars == <<now, lease, ledger, node, wire, grants, fallen, stale>>

-----------------------------------------------------------------------------
(* A node is a follower; or it has asked for the lease; or it was granted    *)
(* the lease and renews it, to learn from when it runs; or it has offered    *)
(* the grant to the ledger; or it leads.  `sent' is when the request that it *)
(* waits for was sent, `until' is its deadline in the lease store's time.    *)

Follower == [phase |-> "follower", sent |-> 0, until |-> 0, number |-> 0,
             lineage |-> 0, term |-> 0, epoch |-> 0]

Init ==
    /\ now = 0
    /\ lease = [holder |-> Nobody, number |-> 0, lineage |-> 1, term |-> 0, expires |-> 0]
    /\ ledger = [holder |-> Nobody, number |-> 0, lineage |-> 1, term |-> 0, epoch |-> 0]
    /\ node = [n \in Nodes |-> Follower]
    /\ wire = {}
    /\ grants = 0
    /\ fallen = 0
    /\ stale = FALSE

\* The deadline, with the clock at its slowest: the node counts Ttl - Margin
\* by its own clock, which takes up to Drift longer than that.
TrustUntil(sent) ==
    (IF RenewalFromReply THEN now ELSE sent) + Ttl + Drift - (IF NoMargin THEN 0 ELSE Margin)

Leads(n) == node[n].phase = "leader" /\ now < node[n].until

IsAnswer(m) == m.kind \in {"granted", "registered"}

Send(message) == Cardinality(wire) < WireMax /\ wire' = wire \union {message}
Take(message) == wire' = wire \ {message}

\* An answer reaches only the call that waits for it; what nobody waits for
\* any more is not kept.
Answer(message, answer) == wire' = (wire \ {message}) \union {answer}
AnswerIfAwaited(message, phases, answer) ==
    IF node[message.from].phase \in phases THEN Answer(message, answer) ELSE Take(message)
NoAnswersTo(n) == {m \in wire : ~(IsAnswer(m) /\ m.from = n)}

Store == <<lease, grants, fallen>>
Book == <<ledger, stale>>

-----------------------------------------------------------------------------
(* The nodes: services/elector.py, core/election.py                          *)

Ask(n) ==
    /\ node[n].phase = "follower"
    /\ node' = [node EXCEPT ![n] = [Follower EXCEPT !.phase = "asking", !.sent = now]]
    /\ Send([kind |-> "acquire", from |-> n, sent |-> now])
    /\ UNCHANGED <<now, Store, Book>>

Offer(n, m, until) ==
    /\ node' = [node EXCEPT ![n] = [Follower EXCEPT
           !.phase = "offering", !.until = until,
           !.number = m.number, !.lineage = m.lineage, !.term = m.term]]
    /\ Answer(m, [kind |-> "register", from |-> n,
                  number |-> m.number, lineage |-> m.lineage, term |-> m.term])

\* A grant may be much older than the request that it answers: an earlier
\* request, given up long ago, may have been the one that was granted.  So it
\* is renewed first.  And where a release of the same grant may still arrive
\* it is left alone.  (A node knows which of its releases were not answered;
\* those that are under way are some of them.)
HearGrant(n, m) ==
    /\ m.kind = "granted" /\ m.to = "acquire" /\ m.from = n
    /\ node[n].phase = "asking" /\ node[n].sent = m.sent
    /\ IF /\ ~ReleaseInDoubtRetaken
          /\ [kind |-> "release", from |-> n, number |-> m.number, lineage |-> m.lineage] \in wire
       THEN node' = [node EXCEPT ![n] = Follower] /\ Take(m)
       ELSE IF GrantBelievedAtOnce
       THEN Offer(n, m, TrustUntil(m.sent))
       ELSE /\ node' = [node EXCEPT ![n] = [Follower EXCEPT !.phase = "proving", !.sent = now,
                   !.number = m.number, !.lineage = m.lineage, !.term = m.term]]
            /\ Answer(m, [kind |-> "renew", from |-> n, sent |-> now, number |-> m.number,
                          lineage |-> m.lineage])
    /\ UNCHANGED <<now, Store, Book>>

HearProof(n, m) ==
    /\ m.kind = "granted" /\ m.to = "renew" /\ m.from = n
    /\ node[n].phase = "proving" /\ node[n].sent = m.sent /\ node[n].number = m.number
    /\ Offer(n, m, TrustUntil(m.sent))
    /\ UNCHANGED <<now, Store, Book>>

HearEpoch(n, m) ==
    /\ m.kind = "registered" /\ m.from = n
    /\ node[n].phase = "offering" /\ node[n].number = m.number /\ node[n].lineage = m.lineage
    /\ node' = [node EXCEPT ![n].phase = "leader", ![n].epoch = m.epoch]
    /\ Take(m)
    /\ UNCHANGED <<now, Store, Book>>

Renew(n) ==
    /\ Leads(n)
    /\ node' = [node EXCEPT ![n].sent = now]
    /\ Send([kind |-> "renew", from |-> n, sent |-> now, number |-> node[n].number,
             lineage |-> node[n].lineage])
    /\ UNCHANGED <<now, Store, Book>>

\* A deadline never moves back; an answer that does not come moves nothing.
HearRenewal(n, m) ==
    /\ m.kind = "granted" /\ m.to = "renew" /\ m.from = n
    /\ Leads(n) /\ node[n].sent = m.sent /\ node[n].number = m.number
    /\ node' = [node EXCEPT ![n].until = IF @ > TrustUntil(m.sent) THEN @ ELSE TrustUntil(m.sent)]
    /\ Take(m)
    /\ UNCHANGED <<now, Store, Book>>

\* Unanswered, refused, told that the lease is lost, or past its deadline.
GiveUp(n) ==
    /\ node[n].phase # "follower"
    /\ node' = [node EXCEPT ![n] = Follower]
    /\ wire' = NoAnswersTo(n)
    /\ UNCHANGED <<now, Store, Book>>

Release(n) ==
    /\ Leads(n)
    /\ node' = [node EXCEPT ![n] = Follower]
    /\ Cardinality(NoAnswersTo(n)) < WireMax
    /\ wire' = NoAnswersTo(n) \union
           {[kind |-> "release", from |-> n, number |-> node[n].number, lineage |-> node[n].lineage]}
    /\ UNCHANGED <<now, Store, Book>>

\* Sent while the node believes that it leads; carried out whenever it arrives.
SendPlan(n) ==
    /\ Leads(n)
    /\ Cardinality({m \in wire : m.kind = "plan"}) < PlansMax
    /\ EpochCheckedBeforeWrite => node[n].epoch = ledger.epoch
    /\ Send([kind |-> "plan", from |-> n, epoch |-> node[n].epoch, term |-> node[n].term])
    /\ UNCHANGED <<now, node, Store, Book>>

-----------------------------------------------------------------------------
(* The lease store: ports/leases.py                                          *)

Free == lease.holder = Nobody \/ now >= lease.expires

Grant(m) ==
    LET number == IF EpochNotRaisedOnRegrant /\ lease.number > 0 THEN lease.number ELSE lease.number + 1
    IN  /\ grants < GrantsMax
        /\ grants' = grants + 1
        /\ lease' = [lease EXCEPT !.holder = m.from, !.number = number, !.term = grants + 1,
                                  !.expires = now + Ttl]
        /\ AnswerIfAwaited(m, {"asking"}, [kind |-> "granted", to |-> "acquire", from |-> m.from,
                      sent |-> m.sent, number |-> number, lineage |-> lease.lineage, term |-> grants + 1])

\* A holder that asks for what it holds is told so.  That is not a renewal.
TellAgain(m) ==
    /\ AnswerIfAwaited(m, {"asking"}, [kind |-> "granted", to |-> "acquire", from |-> m.from,
                  sent |-> m.sent, number |-> lease.number, lineage |-> lease.lineage, term |-> lease.term])
    /\ UNCHANGED <<lease, grants>>

HandleAcquire(m) ==
    /\ m.kind = "acquire"
    /\ IF Free THEN Grant(m)
       ELSE IF lease.holder = m.from THEN TellAgain(m)
       ELSE Take(m) /\ UNCHANGED <<lease, grants>>
    /\ UNCHANGED <<now, node, fallen, Book>>

Holds(m) == lease.holder = m.from /\ lease.number = m.number /\ lease.lineage = m.lineage /\ ~Free

HandleRenew(m) ==
    /\ m.kind = "renew"
    /\ IF Holds(m)
       THEN /\ lease' = [lease EXCEPT !.expires = now + Ttl]
            /\ AnswerIfAwaited(m, {"proving", "leader"}, [kind |-> "granted", to |-> "renew",
                          from |-> m.from, sent |-> m.sent, number |-> lease.number,
                          lineage |-> lease.lineage, term |-> lease.term])
       ELSE Take(m) /\ UNCHANGED lease
    /\ UNCHANGED <<now, node, grants, fallen, Book>>

HandleRelease(m) ==
    /\ m.kind = "release"
    /\ lease' = IF Holds(m) THEN [lease EXCEPT !.holder = Nobody] ELSE lease
    /\ Take(m)
    /\ UNCHANGED <<now, node, grants, fallen, Book>>

\* A failover to a copy that had forgotten grants, or a backup restored.
FallBack ==
    /\ fallen < FallsMax
    /\ fallen' = fallen + 1
    /\ \E number \in 0..lease.number, lineage \in {lease.lineage, lease.lineage + 1} :
         lease' = [lease EXCEPT !.holder = Nobody, !.number = number, !.lineage = lineage]
    /\ UNCHANGED <<now, node, wire, grants, Book>>

\* The holder's session ended, so the lease is free before its time.
FreeEarly ==
    /\ fallen < FallsMax
    /\ fallen' = fallen + 1
    /\ lease.holder # Nobody
    /\ lease' = [lease EXCEPT !.holder = Nobody]
    /\ UNCHANGED <<now, node, wire, grants, Book>>

-----------------------------------------------------------------------------
(* The ledger: ports/epochs.py (model/leader.py: succeed), ports/planbook.py *)

SameGrant(m) == ledger.lineage = m.lineage /\ ledger.number = m.number /\ ledger.holder = m.from
Later(m) == ledger.lineage # m.lineage \/ m.number > ledger.number

Register(m) ==
    LET epoch == IF LedgerTrustsLeaseEpoch THEN m.number
                 ELSE IF SameGrant(m) THEN ledger.epoch
                 ELSE IF m.number > ledger.epoch THEN m.number ELSE ledger.epoch + 1
    IN  /\ m.kind = "register"
        /\ IF SameGrant(m) \/ Later(m) \/ LedgerTrustsLeaseEpoch
           THEN /\ ledger' = [holder |-> m.from, number |-> m.number, lineage |-> m.lineage,
                              term |-> m.term, epoch |-> epoch]
                /\ AnswerIfAwaited(m, {"offering"}, [kind |-> "registered", from |-> m.from,
                              number |-> m.number, lineage |-> m.lineage, epoch |-> epoch])
           ELSE Take(m) /\ UNCHANGED ledger
        /\ UNCHANGED <<now, node, Store, stale>>

\* The plan of another node than the leader, or of an earlier grant.  A lease
\* store that fell back may grant the same number to the same process twice;
\* the ledger cannot tell these two from each other, and need not.
IsStale(m) == m.from # ledger.holder \/ (fallen = 0 /\ m.term # ledger.term)

Accepts(m) == m.epoch = ledger.epoch \/ EpochCheckedBeforeWrite

WritePlan(m) ==
    /\ m.kind = "plan"
    /\ stale' = (stale \/ (Accepts(m) /\ IsStale(m)))
    /\ Take(m)
    /\ UNCHANGED <<now, node, Store, ledger>>

-----------------------------------------------------------------------------
\* A lost answer is one that its node has given up.
Lose(m) == ~IsAnswer(m) /\ Take(m) /\ UNCHANGED <<now, node, Store, Book>>

\* A node whose deadline has come believes in nothing any more; it need not be
\* told, because it looks at its clock before each thing that it does.
Overdue(n, time) == node[n].phase \in {"offering", "leader"} /\ time >= node[n].until

PassTime ==
    LET late == {n \in Nodes : Overdue(n, now + 1)}
    IN  /\ now < TimeMax
        /\ now' = now + 1
        /\ node' = [n \in Nodes |-> IF n \in late THEN Follower ELSE node[n]]
        /\ wire' = {m \in wire : ~(IsAnswer(m) /\ m.from \in late)}
        /\ UNCHANGED <<Store, Book>>

AcquireArrives == \E m \in wire : HandleAcquire(m)
RenewalArrives == \E m \in wire : HandleRenew(m)
ReleaseArrives == \E m \in wire : HandleRelease(m)
OfferArrives == \E m \in wire : Register(m)
PlanArrives == \E m \in wire : WritePlan(m)
RequestIsLost == \E m \in wire : Lose(m)
GrantIsHeard == \E m \in wire : HearGrant(m.from, m)
ProofIsHeard == \E m \in wire : HearProof(m.from, m)
EpochIsHeard == \E m \in wire : HearEpoch(m.from, m)
RenewalIsHeard == \E m \in wire : HearRenewal(m.from, m)

Next ==
    \/ PassTime \/ FallBack \/ FreeEarly
    \/ \E n \in Nodes : Ask(n) \/ Renew(n) \/ GiveUp(n) \/ Release(n) \/ SendPlan(n)
    \/ AcquireArrives \/ RenewalArrives \/ ReleaseArrives \/ OfferArrives \/ PlanArrives \/ RequestIsLost
    \/ GrantIsHeard \/ ProofIsHeard \/ EpochIsHeard \/ RenewalIsHeard

Spec == Init /\ [][Next]_vars
Symmetry == Permutations(Nodes)

-----------------------------------------------------------------------------
(* What holds                                                                *)

\* I4: the ledger's epoch never falls ...
I4_EpochsNeverFall == [][ledger'.epoch >= ledger.epoch]_vars

\* ... it rises whenever another leads ...
I4_OneLeaderPerEpoch == [][ledger'.holder # ledger.holder => ledger'.epoch > ledger.epoch]_vars

\* ... and a write with an older epoch changes nothing.
I4_NoStaleWrite == ~stale

\* As long as the lease store keeps its promises a node believes in its lease
\* only while it has it.
TrustWithinLease ==
    fallen = 0 => \A n \in Nodes :
        Leads(n) => lease.holder = n /\ lease.number = node[n].number /\ now < lease.expires

-----------------------------------------------------------------------------
(* What must NOT hold: each says that something worth modelling never comes  *)
(* about, and TLC has to find that it does.                                  *)

NeverRefused == \A m \in wire : m.kind = "plan" => Accepts(m)
NeverTwoLeaders == Cardinality({n \in Nodes : Leads(n)}) <= 1
NeverNumberedByItself == ledger.epoch = ledger.number
NeverRegisteredAfterAFall == fallen > 0 => ledger.lineage = 1
=============================================================================
