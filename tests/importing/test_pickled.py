"""A pickle is read, and nothing in it is run."""

import pickle
from base64 import b64encode
from datetime import UTC, date, datetime, timedelta, timezone
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fencepost.errors import InvalidSpec
from fencepost.importing.pickled import date_of, length_of, moment_of, read_pickle, zone_of

BERLIN = ZoneInfo("Europe/Berlin")


def encoded(value: object, protocol: int = pickle.HIGHEST_PROTOCOL) -> str:
    return b64encode(pickle.dumps(value, protocol)).decode()


class Bomb:
    """Touches a file when it is loaded."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Any, ...]:
        return Path.touch, (self.path,)


@pytest.mark.parametrize("protocol", [4, 5])
@pytest.mark.parametrize(
    "moment",
    [
        datetime(2026, 3, 29, 1, 30, tzinfo=UTC),
        datetime(2026, 10, 25, 2, 30, 1, 999_999, tzinfo=BERLIN),
        datetime(2026, 10, 25, 2, 30, tzinfo=BERLIN, fold=1),
        datetime(2026, 3, 29, tzinfo=timezone(timedelta(hours=5, minutes=45))),
    ],
)
def test_a_moment_is_read(moment: datetime, protocol: int) -> None:
    assert moment_of(read_pickle(encoded(moment, protocol))) == moment.astimezone(UTC)


@given(st.dates(), st.timedeltas(), st.datetimes(timezones=st.just(UTC)))
def test_days_lengths_and_moments_are_read(day: date, length: timedelta, moment: datetime) -> None:
    assert date_of(read_pickle(encoded(day))) == day
    assert length_of(read_pickle(encoded(length))) == length
    assert moment_of(read_pickle(encoded(moment))) == moment


@pytest.mark.parametrize(
    ("place", "name"), [(BERLIN, "Europe/Berlin"), (UTC, "UTC"), (ZoneInfo("UTC"), "UTC")]
)
def test_a_zone_is_read(place: Any, name: str) -> None:
    assert zone_of(read_pickle(encoded(place))) == name


@pytest.mark.parametrize("read", [date_of, length_of, moment_of, zone_of])
def test_no_code_of_a_pickle_is_run(read: Any, tmp_path: Path) -> None:
    path = tmp_path / "touched"
    with pytest.raises(InvalidSpec):
        read(read_pickle(encoded(Bomb(path))))
    assert not path.exists()
    pickle.loads(pickle.dumps(Bomb(path)))
    assert path.exists()


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b".",
        b"cos\nsystem\n(S'true'\ntR.",
        b"\x80\x04N",
        b"\x80\x04NN.",
        b"\x80\x04h\x07.",
        b"\x80\x04(N.",
        b"\x80\x04]N.",
        b"\x80\x04}]Ns.",
        b"\x80\x04NNR.",
        b"\x80\x04N}b.",
        b"\x80\x04K\x01K\x02\x93.",
        b"\x80\x04" + b"N0" * 5_000 + b".",
        b"\x80\x04" + b"N" * 5_000 + b".",
        b"P1\n.",
    ],
)
def test_what_is_no_such_pickle_is_refused(data: bytes) -> None:
    with pytest.raises(InvalidSpec):
        moment_of(read_pickle(b64encode(data).decode()))


@pytest.mark.parametrize("text", ["not base64!", "ä", "A" * 1_000_000])
def test_what_is_no_base64_is_refused(text: str) -> None:
    with pytest.raises(InvalidSpec):
        read_pickle(text)


def test_a_naive_moment_is_refused() -> None:
    with pytest.raises(InvalidSpec):
        moment_of(read_pickle(encoded(datetime.fromisoformat("2026-01-01"))))


CODES = st.lists(
    st.sampled_from([bytes([one]) for one in b"()].}]Nabehilpqrstu\x80\x81\x85\x88\x8c\x93\x94K"])
).map(b"".join)


@given(st.binary() | CODES)
def test_any_bytes_are_read_or_refused(data: bytes) -> None:
    try:
        value = read_pickle(b64encode(data).decode())
    except InvalidSpec:
        return
    for read in (date_of, length_of, moment_of, zone_of):
        with pytest.raises(InvalidSpec):
            read(value)
