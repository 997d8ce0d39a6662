"""What is wrong with a form is said beside its fields, all at once; choices are where there are choices."""

from typing import Any

import pytest

from fencepost.model.identifiers import ScheduleId
from fencepost.model.policies import OVERLAPS, CatchUpMode
from tests.services.house import NS
from tests.web.dashboard.house import Dashboard, words_of
from tests.web.dashboard.reading import form_fields, parsed
from tests.web.dashboard.test_posted import EDIT, EDITED, FRESH, NEW, values, with_fields

WRONG = {
    "schedule_id": "no spaces",
    "when": "99 99 * * *",
    "tz": "No/Where",
    "overlap_most": "0",
    "mode_most": "3",
    "max_lateness": "soon",
    "spread": "wide",
    "jitter": "some",
    "priority": "first",
    "labels": "team",
    "payload": "[1",
}
BESIDE = {**{name: name for name in WRONG}, "overlap_most": "overlap", "mode_most": "mode"}


def errors(text: str) -> dict[str, str]:
    """What is said beside each field."""
    found = {}
    for one in parsed(text).elements:
        if name := one.attributes.get("data-error-of"):
            said = text.partition(f'data-error-of="{name}">')[2].partition("</span>")[0]
            if said:
                found[name] = said
    return found


@pytest.mark.parametrize("name", WRONG)
async def test_what_is_wrong_stands_beside_its_field(board: Dashboard, name: str) -> None:
    more = {"overlap": "allow"} if name == "overlap_most" else {}
    text = await board.posted(with_fields(NEW, {**FRESH, **more, name: WRONG[name]}))
    assert set(errors(text)) == {BESIDE[name]}
    (field,) = [one for one in parsed(text).elements if one.attributes.get("name") == BESIDE[name]]
    assert field.attributes["aria-invalid"] == "true"
    assert field.attributes["aria-describedby"] == f"error-{BESIDE[name]}"
    assert "/do/schedules.add" not in text


async def test_all_that_is_wrong_is_said_at_once(board: Dashboard) -> None:
    text = await board.posted(with_fields(NEW, {**FRESH, "overlap": "allow", **WRONG}))
    assert set(errors(text)) == set(BESIDE.values())
    assert f"Correct {len(WRONG)} fields" in words_of(text)


async def test_an_empty_form_says_what_is_missing(board: Dashboard) -> None:
    text = await board.posted(with_fields(NEW, {"overlap": "skip"}))
    assert set(errors(text)) == {"schedule_id", "job", "when"}


async def test_what_is_wrong_only_together_stands_beside_the_field_that_it_names(board: Dashboard) -> None:
    text = await board.posted(with_fields(NEW, {**FRESH, "job": "never-registered"}))
    assert set(errors(text)) <= {"job"}
    assert "never-registered" in words_of(text.partition('role="alert"')[2])


async def test_a_form_that_is_not_wrong_says_nothing(board: Dashboard) -> None:
    for path, fields in ((NEW, FRESH), (EDIT, EDITED)):
        text = await board.posted(with_fields(path, fields))
        assert errors(text) == {}
        assert 'role="alert"' not in text


async def test_an_edit_is_not_refused_for_what_it_leaves_alone(board: Dashboard) -> None:
    text = await board.posted(with_fields(EDIT, {**EDITED, "priority": "77"}))
    assert set(errors(text)) == {"priority"}


def options(text: str, name: str) -> list[str]:
    """What a field offers."""
    inside = text.partition(f'<select name="{name}"')[2].partition("</select>")[0]
    return [one.attributes["value"] for one in parsed(f"<select>{inside}</select>").named("option")]


async def test_what_can_be_chosen_is_offered(board: Dashboard) -> None:
    text = await board.page(NEW)
    assert {str(one) for one in OVERLAPS} <= set(options(text, "overlap"))
    assert {str(one) for one in CatchUpMode} <= set(options(text, "mode"))
    assert {"report", "mail/digest"} <= set(options(text, "job"))
    assert "Europe/Berlin" in text.partition('<datalist id="zones">')[2].partition("</datalist>")[0]


@pytest.mark.parametrize(
    ("fields", "kept"),
    [
        ({"overlap": "allow", "overlap_most": "3"}, {"overlap": "allow(3)"}),
        ({"mode": "parallel", "mode_most": "2"}, {"catch_up": "parallel(2)"}),
    ],
)
async def test_a_policy_with_a_number_is_kept_and_shown_again(
    board: Dashboard, fields: dict[str, str], kept: dict[str, Any]
) -> None:
    previewed = await board.posted(with_fields(NEW, {**FRESH, **fields}))
    await board.do("schedules.add", **form_fields(previewed, "/do/schedules.add"))
    stored = await board.house.memory.schedules.get(NS, ScheduleId("fresh"))
    assert stored is not None
    spec = stored.spec
    assert kept == {name: str(spec.overlap) if name == "overlap" else spec.catch_up.words for name in kept}
    shown = values(await board.page("/schedules/fresh/edit"))
    assert {name: shown[name] for name in fields} == fields
