"""The outcomes of the crash points as the guide on effects tells them: a row for points that are one to a
reader, a column for what the job does about its effect."""

from __future__ import annotations

from collections.abc import Sequence

from tests.effects.crash_points import IN_TRANSACTIONS, Delivery, Kind, Point, expected, points_of

HEADING = "At every crash point"
PLAIN = tuple(kind for kind in Kind if kind not in (*IN_TRANSACTIONS, Kind.GUARDED))
COLUMNS: dict[str, tuple[Delivery, Sequence[Kind]]] = {
    "at_least_once, plain effect": (Delivery.AT_LEAST_ONCE, PLAIN),
    "at_least_once, run.transaction()": (Delivery.AT_LEAST_ONCE, IN_TRANSACTIONS),
    "at_least_once, fenced guard": (Delivery.AT_LEAST_ONCE, (Kind.GUARDED,)),
    "at_most_once, plain effect": (Delivery.AT_MOST_ONCE, PLAIN),
}
ROWS: dict[str, Sequence[Point]] = {
    "killed before the claim's commit": (Point.BEFORE_CLAIM,),
    "killed after the claim, before the start": (Point.CLAIM_WRITTEN, Point.BEFORE_START),
    "killed during the work": (Point.AFTER_START,),
    "killed after the effect, before the report": (
        *(Point.EFFECT_DONE, Point.BEFORE_REPORT),
        *(Point.IN_TRANSACTION, Point.BEFORE_COMMIT),
    ),
    "killed after the report was written, before its answer": (Point.REPORT_WRITTEN, Point.AFTER_COMMIT),
}
STALLED = "stalled past the heartbeat, and wakes up"
OF_THE_DRILL = ("1 or 2; succeeded", "1; succeeded", "1; succeeded", "0 or 1; dead")
"""What the drill sees of workers that are stalled, and asks of them: the control is doubled now and then."""


def table() -> str:
    """In Markdown."""
    lines = [("the worker is", *COLUMNS), ("---",) * (len(COLUMNS) + 1)]
    lines += [(row, *(_cell(points, *column) for column in COLUMNS.values())) for row, points in ROWS.items()]
    lines.append((STALLED, *OF_THE_DRILL))
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def told(guide: str) -> str:
    """What a guide has under its heading."""
    section = guide.partition(f"# {HEADING}\n")[2].partition("\n#")[0]
    return "".join(line for line in section.splitlines(keepends=True) if line.startswith("|"))


def _cell(points: Sequence[Point], delivery: Delivery, kinds: Sequence[Kind]) -> str:
    outcomes = [
        expected(kind, point, delivery) for kind in kinds for point in points if point in points_of(kind)
    ]
    (state,) = {one.state for one in outcomes}
    return f"{' or '.join(map(str, sorted({one.effects for one in outcomes})))}; {state}"
