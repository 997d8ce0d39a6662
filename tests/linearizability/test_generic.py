"""The checker knows nothing of leases: any specification will do."""

from __future__ import annotations

from collections.abc import Iterator

from tests.linearizability.checker import Explained, Objection, Operation, Unexplained, Window, check


class Stairs:
    """A state is a step of the stairs; what is said is from which step to which."""

    def initial(self) -> int:
        return 0

    def ways(self, state: int, operation: Operation[str], window: Window) -> Iterator[int | Objection]:
        for way in operation.what.split():
            start, _, end = way.partition(">")
            yield int(end) if start in ("*", str(state)) else Objection(f"it stands on {state}")


def test_what_was_spent_in_vain_is_not_held_against_another_way() -> None:
    """The first of the two without an answer is better kept for later."""
    keeper, waster = Operation("*>1 2>3", 0, None), Operation("*>1", 0, None)
    first, second = Operation("1>2", 0, 1), Operation("3>4", 2, 3)
    verdict = check([keeper, waster, first, second], Stairs())
    assert isinstance(verdict, Explained)
    assert verdict.order == (waster, first, keeper, second)


def test_an_order_does_not_contradict_the_clock() -> None:
    before, after = Operation("1>2", 0, 1), Operation("0>1", 2, 3)
    verdict = check([before, after], Stairs())
    assert isinstance(verdict, Unexplained)
    assert (verdict.operation, verdict.objections) == (before, ("it stands on 0",))


def test_calls_at_the_same_moment_have_no_order() -> None:
    meeting = [Operation("1>2", 0, 1), Operation("0>1", 1, 2)]
    assert isinstance(check(meeting, Stairs()), Explained)
