"""Histories made by hand: lives that a lease may have, and lives that it may not, with the answer that cannot
be explained and what is said of it. Terms are of ten seconds, and end exactly then."""

from __future__ import annotations

from fencepost.model.identifiers import Epoch, Lineage, NodeId
from fencepost.model.lease import Granted, HeldBy, Lost, Release, Released, Renewal, Unknown
from tests.linearizability.checker import Operation
from tests.linearizability.lease_history import Acquiring, LeaseOperation, Releasing, Renewing

ANN, BEN, CYD = (NodeId(name) for name in ("ann", "ben", "cyd"))
LOST, RELEASED = Lost(), Released()

History = list[LeaseOperation]


def granted(sent: float, heard: float, holder: NodeId, epoch: int, lineage: str = "store") -> LeaseOperation:
    answer = Granted(Epoch(epoch), Lineage(lineage))
    return Operation(Acquiring(holder, answer), sent, heard)


def refused(sent: float, heard: float, asker: NodeId, holder: NodeId, epoch: int) -> LeaseOperation:
    return Operation(Acquiring(asker, HeldBy(holder, Epoch(epoch), 1.0)), sent, heard)


def renewed(
    sent: float, heard: float, holder: NodeId, epoch: int, answer: Renewal | None = None
) -> LeaseOperation:
    return Operation(Renewing(holder, Epoch(epoch), answer or Granted(Epoch(epoch))), sent, heard)


def released(
    sent: float, heard: float, holder: NodeId, epoch: int, answer: Release = RELEASED
) -> LeaseOperation:
    return Operation(Releasing(holder, Epoch(epoch), answer), sent, heard)


def unheard_grant(sent: float, holder: NodeId) -> LeaseOperation:
    return Operation(Acquiring(holder, Unknown("lost")), sent, None)


def unheard_renewal(sent: float, holder: NodeId, epoch: int) -> LeaseOperation:
    return Operation(Renewing(holder, Epoch(epoch), Unknown("lost")), sent, None)


def unheard_release(sent: float, holder: NodeId, epoch: int) -> LeaseOperation:
    return Operation(Releasing(holder, Epoch(epoch), Unknown("lost")), sent, None)


GOOD: dict[str, History] = {
    "nothing happened": [],
    "nothing was heard": [unheard_grant(0, ANN), unheard_release(1, ANN, 1)],
    "a life": [
        granted(0, 1, ANN, 1),
        refused(2, 3, BEN, ANN, 1),
        renewed(8, 9, ANN, 1),
        renewed(9, 10, BEN, 1, LOST),
        released(12, 13, ANN, 1),
        granted(13, 14, BEN, 2),
    ],
    "answers in another order than the effects": [
        granted(0, 9, ANN, 1),
        refused(1, 2, BEN, ANN, 1),
    ],
    "a grant to each of two who released at once": [
        granted(0, 5, ANN, 1),
        released(3, 5, ANN, 1),
        granted(3, 5, BEN, 2),
    ],
    "asked again": [granted(0, 1, ANN, 1), granted(2, 3, ANN, 1)],
    "granted anew to the same holder after its term": [granted(0, 1, ANN, 1), granted(10, 11, ANN, 2)],
    "epochs with gaps": [granted(0, 1, ANN, 5), released(1, 2, ANN, 5), granted(2, 3, BEN, 90)],
    "expired at the first possible moment": [granted(0, 3, ANN, 1), granted(4, 10, BEN, 2)],
    "lasting until the last possible moment": [granted(0, 3, ANN, 1), refused(13, 14, BEN, ANN, 1)],
    "over for its holder, and released all the same": [
        granted(0, 1, ANN, 1),
        renewed(11, 12, ANN, 1, LOST),
        released(12, 13, ANN, 1),
    ],
    "an unheard grant that happened": [
        unheard_grant(0, ANN),
        refused(2, 3, BEN, ANN, 7),
        granted(3, 4, ANN, 7),
    ],
    "an unheard grant that did not happen": [unheard_grant(0, ANN), granted(2, 3, BEN, 1)],
    "an unheard grant that happened much later": [
        unheard_grant(0, ANN),
        granted(2, 3, BEN, 1),
        released(30, 31, BEN, 1),
        refused(90, 91, BEN, ANN, 2),
    ],
    "an unheard renewal that happened": [
        granted(0, 1, ANN, 1),
        unheard_renewal(8, ANN, 1),
        refused(17, 18, BEN, ANN, 1),
    ],
    "an unheard renewal that did not happen": [
        granted(0, 1, ANN, 1),
        unheard_renewal(8, ANN, 1),
        granted(11, 12, BEN, 2),
    ],
    "an unheard release that happened": [
        granted(0, 1, ANN, 1),
        unheard_release(2, ANN, 1),
        granted(3, 4, BEN, 2),
    ],
    "an unheard release that did not happen": [
        granted(0, 1, ANN, 1),
        unheard_release(2, ANN, 1),
        renewed(3, 4, ANN, 1),
    ],
    "an unheard grant, renewed and released without anyone having heard": [
        unheard_grant(0, ANN),
        unheard_renewal(5, ANN, 3),
        unheard_release(6, ANN, 3),
        refused(14, 15, BEN, ANN, 3),
        granted(16, 17, BEN, 4),
    ],
}

BAD: dict[str, tuple[History, int, str]] = {
    "two grants at once": (
        [granted(0, 1, ANN, 1), granted(2, 3, BEN, 2)],
        1,
        "ann holds it under epoch 1 until 10.000 at least, and the answer came by 3.000",
    ),
    "two grants in calls that overlap": (
        [granted(0, 5, ANN, 1), granted(0, 5, BEN, 2)],
        1,
        "holds it under epoch",
    ),
    "a repeated epoch": (
        [granted(0, 1, ANN, 4), released(2, 3, ANN, 4), granted(4, 5, BEN, 4)],
        2,
        "the epoch of a new grant must be above 4",
    ),
    "a falling epoch": (
        [granted(0, 1, ANN, 4), granted(11, 12, BEN, 3)],
        1,
        "the epoch of a new grant must be above 4",
    ),
    "an epoch of nothing": ([granted(0, 1, ANN, 0)], 0, "the epoch of a new grant must be above 0"),
    "no room for the epoch of a grant that was not heard": (
        [
            granted(0, 1, ANN, 1),
            unheard_grant(11, BEN),
            refused(12, 13, ANN, BEN, 2),
            released(12, 14, BEN, 2),
            granted(15, 16, ANN, 2),
        ],
        4,
        "the epoch of a new grant must be above 2",
    ),
    "the epoch of a grant that was not heard is below one that was": (
        [granted(0, 1, ANN, 5), unheard_grant(11, BEN), refused(12, 13, ANN, BEN, 4)],
        2,
        "ben's epoch must be 6 or larger",
    ),
    "asked again and granted another epoch": (
        [granted(0, 1, ANN, 1), granted(2, 3, ANN, 2)],
        1,
        "ann holds it under epoch 1",
    ),
    "a renewal of another's lease": (
        [granted(0, 1, ANN, 1), renewed(2, 3, BEN, 1)],
        1,
        "ann holds it under epoch 1",
    ),
    "a renewal under another epoch": (
        [granted(0, 1, ANN, 2), renewed(2, 3, ANN, 1)],
        1,
        "ann holds it under epoch 2",
    ),
    "a renewal that changes the epoch": (
        [granted(0, 1, ANN, 1), renewed(2, 3, ANN, 1, Granted(Epoch(2)))],
        1,
        "a renewal does not change the epoch, 1",
    ),
    "a renewal of what nobody ever had": ([renewed(2, 3, ANN, 1)], 0, "nobody ever held it"),
    "a released lease renewed": (
        [granted(0, 1, ANN, 1), released(2, 3, ANN, 1), renewed(4, 5, ANN, 1)],
        2,
        "nobody holds it, and the last epoch was 1",
    ),
    "a lease renewed long after its term": (
        [granted(0, 1, ANN, 1), renewed(11.5, 12, ANN, 1)],
        1,
        "epoch 1 must have run out by 11.000, and the call came at 11.500 or later",
    ),
    "a lease that does not end": (
        [granted(0, 1, ANN, 1), refused(11.5, 12, BEN, ANN, 1)],
        1,
        "epoch 1 must have run out by 11.000",
    ),
    "a slow renewal that can only have happened before the term": (
        [granted(0, 1, ANN, 1), refused(25, 26, BEN, ANN, 1), renewed(5, 40, ANN, 1)],
        1,
        "epoch 1 must have run out by 21.000",
    ),
    "early expiry, seen by a rival": (
        [granted(0, 1, ANN, 1), renewed(5, 6, ANN, 1), granted(13, 14.9, BEN, 2)],
        2,
        "ann holds it under epoch 1 until 15.000 at least, and the answer came by 14.900",
    ),
    "a renewal that was overtaken and shortens the lease": (
        [
            granted(0, 1, ANN, 1),
            renewed(5, 6, ANN, 1),
            renewed(2, 12.5, ANN, 1),
            granted(13, 14, BEN, 2),
        ],
        3,
        "ann holds it under epoch 1 until 15.000 at least",
    ),
    "early expiry, seen by the holder": (
        [granted(0, 1, ANN, 1), renewed(8, 9, ANN, 1, LOST)],
        1,
        "ann holds it under epoch 1 until 10.000 at least, and the answer came by 9.000",
    ),
    "a release that was refused for no reason": (
        [granted(0, 1, ANN, 1), released(8, 9, ANN, 1, LOST)],
        1,
        "ann holds it under epoch 1 until 10.000 at least",
    ),
    "a release of another's lease": (
        [granted(0, 1, ANN, 1), released(2, 3, BEN, 1)],
        1,
        "ann holds it under epoch 1",
    ),
    "a release that did nothing": (
        [granted(0, 1, ANN, 1), released(2, 3, ANN, 1), refused(4, 5, BEN, ANN, 1)],
        2,
        "nobody holds it",
    ),
    "over for one, and then not for another": (
        [granted(0, 5, ANN, 1), renewed(11, 12, ANN, 1, LOST), refused(13, 14, BEN, ANN, 1)],
        2,
        "an earlier answer told that epoch 1 was over",
    ),
    "held by somebody who never asked": (
        [granted(0, 1, ANN, 1), refused(2, 3, BEN, CYD, 1)],
        1,
        "ann holds it under epoch 1",
    ),
    "held by one whose call had not been sent": (
        [refused(0, 1, BEN, ANN, 1), granted(2, 3, ANN, 1)],
        0,
        "nobody ever held it",
    ),
    "held under an epoch that it never had": (
        [granted(0, 1, ANN, 1), refused(2, 3, BEN, ANN, 2)],
        1,
        "ann holds it under epoch 1",
    ),
    "held by whoever asks": (
        [granted(0, 1, ANN, 1), refused(2, 3, ANN, ANN, 1)],
        1,
        "who holds it is granted it again",
    ),
    "an unheard grant that happened, and one that then cannot have": (
        [unheard_grant(0, ANN), refused(2, 3, BEN, ANN, 1), granted(4, 5, BEN, 2)],
        2,
        "ann holds it under epoch 1 until 10.000 at least",
    ),
    "an unheard release that happened twice": (
        [
            granted(0, 1, ANN, 1),
            unheard_release(2, ANN, 1),
            granted(3, 4, BEN, 2),
            granted(5, 6, CYD, 3),
        ],
        3,
        "ben holds it under epoch 2",
    ),
    "another lineage": (
        [granted(0, 1, ANN, 1), released(2, 3, ANN, 1), granted(4, 5, ANN, 2, "copy")],
        2,
        "lineage copy is not the lease's, store",
    ),
}
