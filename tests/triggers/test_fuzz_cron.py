"""Whatever is written as a cron expression is understood or refused, in one line and at once."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from random import Random

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from fencepost.errors import InvalidTrigger
from fencepost.triggers import Cron
from tests.properties import examples
from tests.triggers import oracle_cases as cases
from tests.triggers.oracle import Unreadable, read

NOW = datetime(2026, 1, 1, tzinfo=UTC)
SEED = "invoices"
FIELDS = ("second", "minute", "hour", "day", "month", "weekday")
LENGTH_MAX = 512
LIST_ITEMS_MAX = 100
CPU_S_MAX = 0.25

# The letters of all names and signs, digits of three scripts, and what looks like them.
ALPHABET = "0123456789*,-/?#()+@ LWHlwhJANFEBMRPYULGSOCTVDIaueriso٣３²½\t\u2003\x00é–"
SIGNS = (
    "*",
    ",",
    "-",
    "/",
    "?",
    "#",
    "L",
    "W",
    "H",
    "(",
    ")",
    "+",
    "@",
    " ",
    "0",
    "31",
    "MON",
    "FEB",
    "#L",
    "L-",
)
PIECES = (*SIGNS, "H(", "H(0-29)", "LW", "15W", "FRIL", "MON#2", "5-7", "*/15", "@every ", "99", "1-", "\n")

any_random = st.randoms(use_true_random=False)
expressions = any_random.map(cases.expression)


def mutated(random: Random) -> str:
    """A valid expression after a few slips of the pen."""
    text = cases.expression(random)
    for _ in range(random.randint(1, 2)):
        at, length = random.randint(0, len(text)), random.choice((0, 0, 1, 2))
        text = text[:at] + random.choice((*PIECES, "")) + text[at + length :]
    return text


fields = st.lists(
    st.lists(st.sampled_from(PIECES), min_size=1, max_size=4).map("".join), min_size=5, max_size=6
)
texts = st.one_of(
    st.text(max_size=40),
    st.text(ALPHABET, max_size=40),
    st.text(ALPHABET.replace(" ", ""), min_size=1, max_size=6).map(lambda one: f"{one} * * * *"),
    st.text(ALPHABET.replace(" ", ""), min_size=1, max_size=6).map(lambda one: f"0 0 {one} * *"),
    st.text(ALPHABET.replace(" ", ""), min_size=1, max_size=6).map(lambda one: f"0 0 * * {one}"),
    fields.map(" ".join),
    any_random.map(mutated),
)


@examples(1_000)
@given(text=texts)
@example("")
@example("\ud800 * * * *")
@example("@every \ud800")
@example("@")
@example("+ + + + +")
@example("0 0 * * +")
@example("H( * * * *")
@example("H() * * * *")
@example("0 0 L- * *")
@example("0 0 W * *")
@example("0 0 * * L")
@example("0 0 * * #")
@example(",,,, * * * *")
def test_any_text_is_understood_as_the_oracle_does_or_refused(text: str) -> None:
    known, answer = understood(text), asked(text)
    if isinstance(answer, InvalidTrigger):
        assert_readable(str(answer))
    else:
        assert answer.next_after(NOW) is not None
    assert known in (None, isinstance(answer, Cron))


@pytest.mark.parametrize("field", FIELDS)
@examples(60)
@given(data=st.data())
def test_a_refusal_names_the_field(field: str, data: st.DataObject) -> None:
    junk = data.draw(st.text("xyzXYZ_!~", min_size=1, max_size=5))
    words = dict.fromkeys(FIELDS, "*") | {field: junk}
    with pytest.raises(InvalidTrigger) as refusal:
        Cron(" ".join(words.values()))
    assert f'{field} "{junk}" is not a value, expected ' in str(refusal.value)


HOSTILE = {
    "a list without end": "1," * 100_000 + "1 * * * *",
    "commas": "," * 500 + " * * * *",
    "a hundred ranges": ",".join(["0-59/1"] * 80) + " * * * *",
    "a long number": "9" * 500 + " * * * *",
    "a long step": "*/" + "9" * 500 + " * * * *",
    "a long range": "1-" * 250 + " * * * *",
    "open brackets": "H(" * 250 + " * * * *",
    "closed brackets": "H" + "(" * 240 + ")" * 240 + " * * * *",
    "hash signs": "0 0 * * " + "#" * 490,
    "days before the last": "0 0 L" + "-3" * 240 + " * *",
    "working days": "0 0 " + "W" * 490 + " * *",
    "many special days": "0 0 " + ",".join(f"{day}W" for day in [*range(1, 32)] * 3) + " * *",
    "many last weekdays": "0 0 * * " + ",".join(["FRI#L", "MON#5", "5L"] * 30),
    "plus signs": "0 0 * * " + "+" * 490,
    "a long macro": "@" * 500,
    "a long interval": "@every " + "9" * 480 + "d",
    "many intervals": "@every " + "1h" * 240,
    "many words": "* " * 250_000,
    "white space": " " * 1_000_000,
    "line breaks": "\n" * 1_000_000,
    "one long word": "x" * 1_000_000,
    "wide digits": "٣" * 500 + " * * * *",
    "a leap day on one weekday": "0 0 29 2 +MON",
    "a fifth weekday of February": "59 59 23 * 2 SUN#5",
    "never, by month": "0 0 30,31 2 *",
    "never, by weekday": "0 0 29 2 +MON#4",
    "never, by working day": "* * * LW,15W,1W,31W * +SAT,SUN",
    "every second": "* * * * * *",
}


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE.keys())
def test_no_text_takes_long(text: str) -> None:
    # The first trigger of all loads the zone.
    Cron("0 0 * * *").next_after(NOW)
    begun = time.process_time()
    answer = asked(text)
    if isinstance(answer, Cron):
        assert len(answer.next(NOW, 5)) == 5
        assert answer.previous(NOW) is not None
    assert time.process_time() - begun < CPU_S_MAX
    if isinstance(answer, InvalidTrigger):
        assert_readable(str(answer))


def asked(text: str) -> Cron | InvalidTrigger:
    """The trigger, or the refusal."""
    try:
        return Cron(text, seed=SEED)
    except InvalidTrigger as refusal:
        return refusal


def understood(text: str) -> bool | None:
    """Whether the oracle reads an expression that can fire; None where a limit or a macro decides."""
    words = text.split()
    if len(" ".join(words)) > LENGTH_MAX or any(word.count(",") >= LIST_ITEMS_MAX for word in words):
        return None
    if words and words[0].startswith("@"):
        return None
    try:
        return read(text, SEED).can_match()
    except Unreadable:
        return False


def assert_readable(message: str) -> None:
    """One line that can be shown anywhere, and that begins with what is wrong."""
    assert message.startswith(('cron "', 'cron expression "'))
    assert message.isprintable()
