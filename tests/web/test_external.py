"""External jobs: how they are declared, in code and in a file."""

from datetime import timedelta
from pathlib import Path

import pytest

from fencepost import Every, Fencepost, Retry
from fencepost.errors import InvalidPayload, InvalidSpec
from fencepost.manifest import load
from fencepost.model.codec import job_from_text, job_to_text
from fencepost.model.identifiers import JobName, NodeId, is_outside, outside_worker
from fencepost.model.job import JobSpec, Parameter
from fencepost.model.notification import DELIVERY

TAKES = (Parameter("image_id", True, "integer"), Parameter("width", False, "integer"))


def loaded(tmp_path: Path, job: str) -> JobSpec:
    file = tmp_path / "fencepost.toml"
    file.write_text(f"[jobs.resize]\n{job}\n")
    return load(file).jobs[JobName("resize")].spec


def test_code_and_file_declare_the_same_job(tmp_path: Path) -> None:
    app = Fencepost()
    app.add_external(
        "resize",
        {"image_id": "integer", "width": "integer?"},
        queue="images",
        priority=1,
        retry=Retry(2),
        timeout="10m",
        delivery="at_most_once",
    )
    spec = app.jobs[JobName("resize")].spec
    assert (spec.external, spec.parameters, spec.open_payload) == (True, TAKES, False)
    assert (spec.queue, spec.timeout, spec.at_most_once) == ("images", timedelta(minutes=10), True)
    told = """
external = true
parameters = { image_id = "integer", width = "integer?" }
queue = "images"
priority = 1
retry = { max_attempts = 2 }
timeout = "10m"
delivery = "at_most_once"
"""
    assert loaded(tmp_path, told) == spec
    assert job_from_text(job_to_text(spec)) == spec


def test_a_payload_is_checked_by_what_the_job_says_that_it_takes(tmp_path: Path) -> None:
    app = Fencepost()
    app.add_external("resize", {"image_id": "integer"})
    app.add_external("anything")
    app.add_schedule("any", job="anything", trigger=Every("1h"), payload={"a": 1})
    app.add_schedule("fits", job="resize", trigger=Every("1h"), payload={"image_id": 1})
    with pytest.raises(InvalidPayload, match="'image_id' is missing"):
        app.add_schedule("not", job="resize", trigger=Every("1h"))
    assert loaded(tmp_path, "external = true").open_payload


@pytest.mark.parametrize(
    ("job", "complaint"),
    [
        ('external = true\ncommand = ["x"]', r"\[jobs.resize\] command stands beside external"),
        ("external = true\nparameters = { a = 1 }", "expected a text"),
        ('external = true\nparameters = { a = "int" }', "parameter a is .*expected one of any, boolean"),
        ('command = ["x"]\nparameters = { a = "any" }', "write also: external = true"),
        ("external = 1", "expected true or false"),
    ],
)
def test_what_makes_no_sense_is_refused(tmp_path: Path, job: str, complaint: str) -> None:
    with pytest.raises(InvalidSpec, match=complaint):
        loaded(tmp_path, job)


async def test_no_worker_of_the_program_has_the_job(tmp_path: Path) -> None:
    app = Fencepost(f"sqlite:///{tmp_path / 'store.db'}")
    app.add_external("resize")

    @app.job()
    async def local() -> None: ...

    async with app:
        node = await app.node(plans=False)
        assert node.working is not None
        assert set(node.working.worker._jobs) == {"local", DELIVERY}
        assert (await app.open()) is not None
        store = await app.open()
        assert (await store.jobs.all(app.settings.namespace))[JobName("resize")].external


def test_a_worker_outside_cannot_be_taken_for_a_node() -> None:
    assert is_outside(outside_worker("host-1-abc", "t0"))
    assert not is_outside(NodeId("host-1-abc"))


def test_the_token_is_not_shown_with_the_settings() -> None:
    token = "x" * 40
    assert token not in repr(Fencepost(token=token).settings)
