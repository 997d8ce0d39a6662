"""Payloads in the user's types, and results as text."""

import dataclasses
import subprocess
import sys
from collections.abc import Callable
from datetime import UTC, date, datetime
from enum import Enum, StrEnum
from types import SimpleNamespace
from typing import Annotated, Any
from uuid import UUID

import msgspec
import pydantic
import pytest

from fencepost import Fencepost, Secret
from fencepost.core.payload import PAYLOAD_BYTES_MAX, check_payload
from fencepost.errors import InvalidPayload, PermanentFailure
from fencepost.executors.binding import Binding, kept_result, plain_payload
from fencepost.executors.values import Unreadable, kind_of
from fencepost.model.identifiers import JobName
from fencepost.model.job import JobSpec
from fencepost.model.json import JsonValue
from fencepost.model.text import RESULT_LENGTH_MAX
from fencepost.testing import PlainBench


class Colour(StrEnum):
    RED = "red"


class Size(Enum):
    SMALL = 1


@dataclasses.dataclass
class Point:
    x: int
    y: int = 0


class Item(msgspec.Struct):
    name: str
    tags: set[str] = set()


class Address(pydantic.BaseModel):
    street: str
    since: date = date(2026, 1, 1)


class Order(pydantic.BaseModel):
    model_config = pydantic.ConfigDict(populate_by_name=True)

    number: int = pydantic.Field(gt=0, alias="orderNumber")
    to: Address


@dataclasses.dataclass
class Parcel:
    order: Order
    at: Point


MOMENT = datetime(2026, 3, 1, 12, tzinfo=UTC)
HOME = Address(street="Elm")
ORDER = Order(orderNumber=7, to=HOME)
VALUES: list[tuple[Any, Any]] = [
    (int, 5),
    (Point, Point(1, 2)),
    (Item, Item("a", {"x"})),
    (Colour, Colour.RED),
    (Size, Size.SMALL),
    (datetime, MOMENT),
    (UUID, UUID(int=7)),
    (bytes, b"abc"),
    (dict[str, Point], {"a": Point(1)}),
    (Address, HOME),
    (Order, ORDER),
    (list[Order], [ORDER, ORDER]),
    (dict[str, Address], {"home": HOME}),
    (Order | None, ORDER),
    (Order | None, None),
    (Address | int, 3),
    (Address | int, HOME),
    (Parcel, Parcel(ORDER, Point(1))),
    (Annotated[int, msgspec.Meta(ge=1)], 1),
    (Annotated[int, pydantic.Field(ge=1)], 2),
    (Any, {"a": [1, None, "x"]}),
]


def taking(annotation: Any) -> Binding:
    def work(value: Any) -> Any:
        return value

    work.__annotations__["value"] = annotation
    return Binding(work)


@pytest.mark.parametrize(("annotation", "value"), VALUES)
def test_what_is_enqueued_arrives_in_its_type(annotation: Any, value: Any) -> None:
    app, seen = Fencepost(), []

    def work(value: Any) -> None:
        seen.append(value)

    work.__annotations__["value"] = annotation
    app.job()(work)
    with PlainBench(app) as bench:
        bench.enqueue(work, value=value)
        bench.drain()
    assert seen == [value]
    assert type(seen[0]) is type(value)


@pytest.mark.parametrize(
    ("annotation", "given", "complaint"),
    [
        (Point, {"x": "1"}, r"Expected `int`, got `str` - at `\$.x`"),
        (list[Point], [{"x": 1}, {}], r"missing required field `x` - at `\$\[1\]`"),
        (Order, {"orderNumber": 0, "to": {"street": "Elm"}}, "orderNumber: Input should be greater than 0"),
        (list[Order], [{}], "orderNumber: Field required; to: Field required"),
        (Address | int, "x", "payload: value:"),
        (Annotated[int, msgspec.Meta(ge=1)], 0, "Expected `int` >= 1"),
        (Annotated[int, pydantic.Field(ge=1)], 0, "greater than or equal to 1"),
        (Colour, "blue", "Invalid enum value"),
        (complex, "1j", "a complex cannot be made from JSON"),
    ],
)
def test_what_does_not_fit_is_refused_in_one_line(annotation: Any, given: Any, complaint: str) -> None:
    with pytest.raises(InvalidPayload, match=complaint) as caught:
        taking(annotation).check({"value": given})
    assert "\n" not in str(caught.value)


def test_a_complaint_does_not_repeat_the_value() -> None:
    with pytest.raises(InvalidPayload) as caught:
        taking(Order).check({"value": {"orderNumber": "hunter22", "to": {"street": 1}}})
    assert "hunter22" not in str(caught.value)


def test_a_payload_never_names_a_type() -> None:
    given: JsonValue = {"__class__": "os.system", "py/object": "builtins.eval", "$type": "x"}
    assert taking(Any)._bind({"value": given}, lambda one: Secret("", "")) == {"value": given}


@pytest.mark.parametrize(
    ("hint", "kind"),
    [
        (int, "integer"),
        (float, "number"),
        (list[int], "array"),
        (set[str], "array"),
        (dict[str, int], "object"),
        (Point, "object"),
        (Item, "object"),
        (Order, "object"),
        (datetime, "string"),
        (Colour, "string"),
        (Secret, "secret"),
        (Secret | None, "secret or null"),
        (Annotated[int, msgspec.Meta(ge=1)], "integer"),
        (Size, "any"),
        (int | None, "any"),
        (pydantic.RootModel[list[int]], "any"),
        (Any, "any"),
    ],
)
def test_those_without_the_code_know_the_kind(hint: Any, kind: str) -> None:
    assert kind_of(hint) == kind
    (parameter,) = taking(hint).parameters
    assert parameter.kind == kind


@pytest.mark.parametrize(("annotation", "value"), VALUES)
def test_no_kind_refuses_what_the_signature_takes(annotation: Any, value: Any) -> None:
    spec = JobSpec(JobName("work"), parameters=taking(annotation).parameters)
    check_payload(spec, plain_payload({"value": value}))


def test_pydantic_is_not_imported_for_those_who_do_not_use_it() -> None:
    code = (
        "import sys\nfrom fencepost import Fencepost\napp = Fencepost()\n"
        "@app.job()\ndef work(a: int, b: list[str] = []): ...\n"
        "app.jobs['work'].executor.check({'a': 1})\nprint('pydantic' in sys.modules)"
    )
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert said.stdout.strip() == "False"


@pytest.mark.parametrize(
    ("result", "kept"),
    [
        (None, None),
        ("a text", "a text"),
        ("", ""),
        (3, "3"),
        (True, "true"),
        ({"a": [1, MOMENT]}, '{"a":[1,"2026-03-01T12:00:00Z"]}'),
        (Point(1), '{"x":1,"y":0}'),
        (ORDER, '{"orderNumber":7,"to":{"street":"Elm","since":"2026-01-01"}}'),
        ({1: "one"}, '{"1":"one"}'),
        (object(), "(the result is not kept: object: a object has no form in JSON)"),
        (
            Secret("a", "hunter22"),
            "(the result is not kept: Secret: a secret is passed on by its reference, never by its value)",
        ),
    ],
)
def test_a_result_is_text_or_json(result: Any, kept: str | None) -> None:
    assert kept_result(result) == kept


def test_a_result_without_end_is_a_note() -> None:
    endless: list[Any] = []
    endless.append(endless)
    kept = kept_result(endless)
    assert kept is not None
    assert kept.startswith("(the result is not kept: list:")


def test_a_long_result_is_cut_with_a_note() -> None:
    kept = kept_result("x" * 100_000)
    assert kept is not None
    assert kept.startswith("x" * RESULT_LENGTH_MAX)
    assert kept.endswith("… (100000 characters; the rest is not kept)")
    assert len(kept) < 64 * 1024


async def test_a_payload_that_is_too_long_is_refused_wherever_it_is_written(tmp_path: Any) -> None:
    from fencepost import Every
    from fencepost.manifest import load
    from fencepost.testing import Bench

    app = Fencepost()

    @app.job()
    async def work(text: str) -> None: ...

    long: dict[str, Any] = {"text": "x" * (PAYLOAD_BYTES_MAX + 1)}
    says = rf"payload of job work: \d+ bytes, at most {PAYLOAD_BYTES_MAX}"
    async with Bench(app):
        with pytest.raises(InvalidPayload, match=says):
            await app.enqueue(work, **long)
        with pytest.raises(InvalidPayload, match=says):
            await app.enqueue_many(work, [long])
        with pytest.raises(InvalidPayload, match=says):
            await app.schedules.add("hourly", job=work, trigger=Every("1h"), payload=long)
    with pytest.raises(InvalidPayload, match=says):
        app.add_schedule("hourly", job=work, trigger=Every("1h"), payload=long)
    file = tmp_path / "fencepost.toml"
    file.write_text(
        '[jobs.work]\ncommand = ["/bin/true"]\n[schedules.hourly]\njob = "work"\nevery = "1h"\n'
        f'payload = {{ text = "{long["text"]}" }}\n'
    )
    with pytest.raises(Exception, match="bytes, at most"):
        load(file, {})


def test_a_payload_that_does_not_fit_at_the_run_is_a_permanent_failure() -> None:
    run: Any = SimpleNamespace(payload={"value": "x"})
    with pytest.raises(PermanentFailure, match="payload: value: Expected `int`"):
        taking(int).call_for(run)


def returns_text() -> str: ...  # type: ignore[empty-body]
def returns_either() -> str | int: ...  # type: ignore[empty-body]
def returns_points() -> list[Point]: ...  # type: ignore[empty-body]
def returns_anything(): ...  # type: ignore[no-untyped-def]


@pytest.mark.parametrize(
    ("function", "result"),
    [
        (returns_text, "7"),
        (returns_text, '{"a": 1}'),
        (returns_text, None),
        pytest.param(returns_either, "7", id="digits"),
        (returns_either, 7),
        (returns_either, '"quoted"'),
        (returns_either, "plain words"),
        (returns_points, [Point(1, 2)]),
        (returns_anything, {"a": [1, None]}),
        (returns_anything, "plain words"),
    ],
)
def test_what_was_returned_is_read_back(function: Callable[..., Any], result: Any) -> None:
    binding = Binding(function)
    assert binding.returned(binding.kept(result)) == result


@pytest.mark.parametrize("result", ["long " * 20_000, {"a": "long " * 20_000}, {"a": object()}])
def test_a_result_that_is_not_kept_whole_is_never_read_back_as_something_else(result: Any) -> None:
    for function in (returns_text, returns_either, returns_anything):
        binding = Binding(function)
        with pytest.raises(Unreadable):
            binding.returned(binding.kept(result))
