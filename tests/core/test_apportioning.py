"""Who may start next: ageing within a queue, weights among queues."""

from collections import Counter
from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from fencepost.core.lane_limits import lane_limits, share
from fencepost.model.claiming import Head
from fencepost.model.identifiers import DEFAULT_QUEUE, Queue
from fencepost.model.job import LANES, PRIORITY_BEHIND

NOW = datetime(2026, 3, 1, tzinfo=UTC)
AGEING_S = 60.0
MAIL, IMAGES = Queue("mail"), Queue("images")


def head(priority: int, waited_s: float, queue: Queue = DEFAULT_QUEUE) -> Head:
    return Head(priority, NOW - timedelta(seconds=waited_s), queue)


def walk(*heads: Head, most: int = 10, turn: int = 0) -> list[tuple[Queue, int, int]]:
    queues = {one.queue for one in heads}
    given, turns = dict.fromkeys(queues, most), dict.fromkeys(queues, turn)
    return [(one.queue, one.priority, one.most) for one in lane_limits(heads, given, AGEING_S, turns)]


def test_fresh_work_does_not_leave_the_order_of_its_priority() -> None:
    assert walk(head(4, 0), head(1, 0), head(2, 30)) == [
        (DEFAULT_QUEUE, 1, 10),
        (DEFAULT_QUEUE, 2, 10),
        (DEFAULT_QUEUE, 4, 10),
    ]


def test_the_last_priority_does_not_wait_for_ever() -> None:
    assert walk(head(1, 0), head(4, 179))[0][1] == 1
    assert walk(head(1, 0), head(4, 181))[0][1] == 4


def test_an_old_pile_does_not_take_all_from_fresh_work() -> None:
    assert walk(head(1, 0), head(4, 999)) == [(DEFAULT_QUEUE, 4, 5), (DEFAULT_QUEUE, 1, 10)]
    assert walk(head(1, 0), head(4, 999), most=1)[0] == (DEFAULT_QUEUE, 4, 1)


def test_an_old_pile_does_not_take_all_where_there_is_room_for_one_at_a_time() -> None:
    firsts = [walk(head(1, 0), head(4, 999), most=1, turn=turn)[0][1] for turn in range(8)]
    assert Counter(firsts) == {1: 4, 4: 4}
    assert walk(head(1, 0), head(4, 999), most=1, turn=1) == [(DEFAULT_QUEUE, 1, 1), (DEFAULT_QUEUE, 4, 1)]


def test_two_old_piles_do_not_take_all_from_fresh_work() -> None:
    heads = head(1, 0), head(3, 999), head(4, 999)
    assert [one[1:] for one in walk(*heads, most=8)] == [(3, 4), (1, 8), (4, 8)]
    firsts = Counter(walk(*heads, most=1, turn=turn)[0][1] for turn in range(8))
    assert firsts == {3: 4, 1: 4}


def test_of_two_old_piles_none_waits_for_the_other_to_end() -> None:
    waited = {3: 990.0, 4: 999.0}
    taken: Counter[int] = Counter()
    for turn in range(200):
        heads = [head(priority, waited_s) for priority, waited_s in waited.items()]
        first = walk(head(1, 0), *heads, most=1, turn=turn)[0][1]
        taken[first] += 1
        if first in waited:
            waited[first] -= 1
    assert taken == {1: 100, 3: 76, 4: 24}


def test_an_old_pile_that_waits_a_turn_does_not_come_behind_catch_up() -> None:
    order = walk(head(PRIORITY_BEHIND, 9_999), head(1, 0), head(4, 999), most=1, turn=1)
    assert [one[1] for one in order] == [1, 4, PRIORITY_BEHIND]


def test_a_lane_is_not_walked_twice() -> None:
    assert walk(head(2, 0), head(2, 5), head(2, 9)) == [(DEFAULT_QUEUE, 2, 10)]


def test_what_comes_behind_never_goes_before_live_work_of_its_queue() -> None:
    order = walk(head(PRIORITY_BEHIND, 99_999), head(4, 0))
    assert [one[1] for one in order] == [4, PRIORITY_BEHIND]


def test_no_second_lane_comes_before_a_first_one() -> None:
    order = walk(head(1, 9), head(2, 9), head(3, 0, MAIL))
    assert [one[:2] for one in order] == [(DEFAULT_QUEUE, 1), (MAIL, 3), (DEFAULT_QUEUE, 2)]


def test_room_is_not_kept_for_a_queue_that_has_nothing() -> None:
    assert share([head(2, 0)], 7, {DEFAULT_QUEUE: 1, MAIL: 99}, {}, AGEING_S) == {DEFAULT_QUEUE: 7}
    assert share([], 7, {}, {}, AGEING_S) == {}


def test_room_is_shared_by_weight() -> None:
    heads = [head(2, 0), head(2, 0, MAIL)]
    assert share(heads, 8, {MAIL: 3, DEFAULT_QUEUE: 1}, {}, AGEING_S) == {DEFAULT_QUEUE: 2, MAIL: 6}
    assert share(heads, 8, {}, {}, AGEING_S) == {DEFAULT_QUEUE: 4, MAIL: 4}


def test_a_full_worker_that_frees_one_place_at_a_time_does_not_forget_the_weights() -> None:
    heads, weights = [head(2, 0), head(2, 0, MAIL)], {MAIL: 3, DEFAULT_QUEUE: 1}
    busy = {MAIL: 20, DEFAULT_QUEUE: 0}
    for _ in range(400):
        ended = MAIL if busy[MAIL] >= busy[DEFAULT_QUEUE] else DEFAULT_QUEUE
        busy[ended] -= 1
        for queue, got in share(heads, 1, weights, busy, AGEING_S).items():
            busy[queue] += got
    assert busy == {MAIL: 15, DEFAULT_QUEUE: 5}


def test_the_more_urgent_queue_goes_first_where_all_else_is_equal() -> None:
    assert share([head(2, 0), head(1, 0, MAIL)], 1, {}, {}, AGEING_S)[MAIL] == 1


lanes = st.builds(
    head, st.sampled_from(LANES), st.floats(0, 1_000), st.sampled_from([DEFAULT_QUEUE, MAIL, IMAGES])
)


@given(st.lists(lanes, max_size=15), st.integers(0, 50), st.integers(1, 9), st.integers(0, 99))
def test_the_room_is_given_out_exactly(heads: list[Head], room: int, weight: int, turn: int) -> None:
    given_out = share(heads, room, {MAIL: weight}, {}, AGEING_S)
    assert sum(given_out.values()) == (room if heads else 0)
    walked = lane_limits(heads, given_out, AGEING_S, dict.fromkeys(given_out, turn))
    assert all(0 < one.most <= given_out[one.queue] for one in walked)
    for queue in {one.queue for one in walked}:
        firsts = [one for one in walked if one.queue == queue]
        assert max(one.most for one in firsts) == given_out[queue]
