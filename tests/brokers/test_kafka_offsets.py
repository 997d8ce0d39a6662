"""What a group has finished of a partition, in whatever order."""

from __future__ import annotations

from random import Random

import pytest

from fencepost.brokers.kafka.offsets import NOTE_MAX, PartitionOffsets, finished_beyond


def offsets_after(read: int, finished: list[int]) -> PartitionOffsets:
    """A partition of which offsets from 10 were read, and some finished."""
    offsets = PartitionOffsets(10)
    for one in range(10, 10 + read):
        assert offsets.take(one, object())
    for one in finished:
        offsets.finish(one)
    return offsets


@pytest.mark.parametrize(
    ("finished", "due"),
    [
        ([], None),
        ([10], (11, "")),
        ([10, 11, 12, 13], (14, "")),
        ([11], (10, "fencepost:1")),
        ([13, 11], (10, "fencepost:1,3")),
        ([11, 12, 13], (10, "fencepost:1-3")),
        ([10, 12, 13], (11, "fencepost:1-2")),
        ([10, 10, 12], (11, "fencepost:1")),
    ],
)
def test_no_offset_is_committed_before_all_below_it_are_finished(
    finished: list[int], due: tuple[int, str] | None
) -> None:
    assert offsets_after(4, finished).due() == due


def test_what_is_finished_out_of_order_is_not_read_again_by_the_next_owner() -> None:
    due = offsets_after(6, [11, 12, 15]).due()
    assert due is not None
    successor = PartitionOffsets(*due)
    assert [one for one in range(10, 17) if successor.take(one, object())] == [10, 13, 14, 16]


def test_what_was_finished_before_it_was_read_stays_finished_where_all_before_it_is() -> None:
    due = offsets_after(4, [11, 12, 13]).due()
    assert due == (10, "fencepost:1-3")
    successor = PartitionOffsets(*due)
    assert successor.take(10, object())
    successor.finish(10)
    assert successor.due() == (14, "")
    assert [one for one in range(11, 16) if successor.take(one, object())] == [14, 15]


def test_one_message_that_is_held_for_long_does_not_make_each_commit_slower() -> None:
    offsets = offsets_after(200_000, [])
    for one in range(11, 200_010):
        offsets.finish(one)
        assert offsets.due() == (10, f"fencepost:1-{one - 10}" if one > 11 else "fencepost:1")


@pytest.mark.parametrize("seed", range(50))
def test_no_order_of_acknowledgements_loses_a_mark(seed: int) -> None:
    dice = Random(seed)
    finished = dice.sample(range(10, 40), dice.randrange(31))
    due = offsets_after(30, finished).due() or (10, "")
    left = [one for one in range(10, 41) if one not in finished]
    assert due[0] == left[0]
    assert finished_beyond(*due) == sum(one > left[0] for one in finished)
    successor = PartitionOffsets(*due)
    assert [one for one in range(due[0], 41) if successor.take(one, object())] == left


def test_offsets_that_the_server_never_delivers_do_not_stop_the_commit() -> None:
    offsets = PartitionOffsets()
    for one in (3, 7):
        offsets.take(one, object())
        offsets.finish(one)
    assert offsets.due() == (8, "")


def test_what_was_read_before_is_not_read_again() -> None:
    assert not offsets_after(3, []).take(11, object())


def test_a_note_does_not_outgrow_what_the_server_keeps() -> None:
    due = offsets_after(9_000, list(range(11, 9_000, 2))).due()
    assert due is not None
    assert len(due[1]) <= NOTE_MAX + 20
    successor = PartitionOffsets(*due)
    assert not successor.take(11, object())


def test_the_note_of_another_client_is_not_read() -> None:
    assert finished_beyond(10, "1-5") == 0
    assert finished_beyond(10, "fencepost:1-5,7") == 6
