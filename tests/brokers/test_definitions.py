"""Message jobs and intakes as code and files say them, and what is refused in one line."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

from fencepost.app import JOB_THREAD, Fencepost
from fencepost.core.payload import check_payload
from fencepost.errors import InvalidPayload, InvalidSpec
from fencepost.manifest.file import load_file
from fencepost.model.codec import job_from_text, job_to_text
from fencepost.model.identifiers import JobName
from fencepost.model.intake import Intake
from fencepost.model.job import JobSpec, Parameter
from fencepost.model.message import Reply, Route
from tests.cli.calls import refused

THUMBS = JobName("thumbs")
FILE = """
[jobs.thumbs]
message = { destination = "images.thumbs", reply = "result", start_within = "5m", ahead_max = 7 }
parameters = { image = "integer", width = "integer?" }
timeout = "1m"

[jobs.bus]
message = { }

[jobs.handle]
command = ["/bin/true"]

[intake.orders]
source = "shop.orders"
job = "handle"
key = "order"
"""


def new_app() -> Fencepost:
    return Fencepost("sqlite:///not-used.db")


def write(folder: Path, text: str) -> str:
    path = folder / "fencepost.toml"
    path.write_text(text)
    return str(path)


def test_a_file_says_what_code_says(tmp_path: Path) -> None:
    app = load_file(write(tmp_path, FILE))
    spec = app.jobs[THUMBS].spec
    assert spec.message == Route("images.thumbs", Reply.RESULT, 300.0, 7)
    assert [one.name for one in spec.parameters] == ["image", "width"]
    assert app.jobs[JobName("bus")].spec.message == Route("bus")
    assert app.intakes == [Intake("shop.orders", JobName("handle"), "order")]
    assert sorted(app.jobs_here) == ["handle"]


def test_the_store_does_not_forget_how_a_job_is_sent() -> None:
    for route in (Route("a"), Route("a.b", Reply.RESULT, 1.5, 3), Route("a", body="data")):
        spec = JobSpec(THUMBS, message=route)
        assert job_from_text(job_to_text(spec)) == spec
    assert "message" not in job_to_text(JobSpec(THUMBS))


def test_a_function_says_what_its_message_job_takes() -> None:
    app = new_app()

    @app.message_job("thumbs", reply="result")
    def thumbs(image: int, width: int = 800) -> None: ...

    job = app.jobs[THUMBS]
    assert [(one.name, one.required) for one in job.spec.parameters] == [("image", True), ("width", False)]
    assert sorted(app.jobs_here) == ["thumbs"]
    with pytest.raises(InvalidPayload, match="image"):
        job.executor.check({"image": "seven"})


def test_a_job_that_sends_bytes_takes_nothing_that_is_not_sent(tmp_path: Path) -> None:
    app = new_app()
    app.message_job("thumbs", body="data", reply="result")
    file = '[jobs.thumbs]\nmessage = { body = "data", reply = "result" }'
    spec = app.jobs[THUMBS].spec
    assert load_file(write(tmp_path, file)).jobs[THUMBS].spec == spec
    assert (spec.message, spec.open_payload) == (Route("thumbs", Reply.RESULT, body="data"), False)
    assert spec.parameters == (Parameter("data", True, "string"),)
    check_payload(spec, {"data": "AAH/"})
    for payload, said in (
        ({"data": "AAH/", "more": 1}, "unknown name 'more'"),
        ({"data": "no Base64!"}, "data: expected Base64, the bytes to send"),
        ({"data": "AAH"}, "data: expected Base64, the bytes to send"),
        ({"data": 7}, "data = 7: expected string"),
        ({"data": "ä"}, "data: expected Base64, the bytes to send"),
    ):
        with pytest.raises(InvalidPayload, match=said):
            check_payload(spec, payload)


def test_a_function_behind_bytes_takes_nothing_else() -> None:
    sends = new_app().message_job("thumbs", body="data")
    with pytest.raises(InvalidSpec, match=r'job thumbs: the function takes "data" and nothing else'):

        @sends
        def other(data: bytes, width: int) -> None: ...

    with pytest.raises(InvalidSpec, match="and nothing else, as bytes are sent"):
        sends(lambda image: None)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ({"body": "data", "parameters": {"a": "integer"}}, 'job thumbs: with body only "data" is sent'),
        ({"reply": "maybe"}, 'job thumbs: reply "maybe": expected "none" or "result"'),
        ({"destination": "a b"}, 'job thumbs: destination "a b": expected 1 to 200 letters'),
        ({"start_within": "5m"}, 'job thumbs: start_within and ahead_max are for reply="result"'),
        ({"reply": "result", "ahead_max": 0}, "job thumbs: ahead_max 0: expected 1 or more"),
        ({"replies": "none"}, "job thumbs: unknown word 'replies'; did you mean reply"),
    ],
)
def test_words_that_make_no_sense_are_refused(words: dict[str, Any], said: str) -> None:
    with pytest.raises(InvalidSpec) as refusal:
        new_app().message_job("thumbs", **words)
    assert str(refusal.value).startswith(said)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('[jobs.a]\nmessage = { reply = "?" }', 'reply "?": expected "none" or "result"'),
        ('[jobs.a]\nmessage = { body = "b" }\nparameters = { c = "any" }', 'with body only "b" is sent'),
        ("[jobs.a]\nmessage = { }\nexternal = true", "external stands beside message"),
        ('[jobs.a]\nmessage = { }\ncommand = ["/bin/true"]', "command stands beside message"),
        ('[jobs.a]\nmessage = { queue = "x" }', "queue is unknown; expected one of destination"),
        ('[intake.a]\njob = "x"', "source is missing"),
        ('[intake.a]\nsource = "s"\njob = "x"', "job x: not defined in this application"),
        ('[jobs.a]\nmessage = { }\n[intake.a]\nsource = "s"\njob = "a"', "job a is done elsewhere"),
    ],
)
def test_a_file_that_makes_no_sense_is_refused_in_one_line(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(Exception, match=r"fencepost\.toml") as refusal:
        load_file(write(tmp_path, text))
    assert said in str(refusal.value)
    assert "\n" not in str(refusal.value)


def test_a_processor_without_a_broker_is_refused(tmp_path: Path) -> None:
    file = write(tmp_path, FILE)
    assert refused("processor", file).startswith("no broker is set; add --broker URL")
    assert "no message job has a function here" in refused("processor", file, "--broker", "nats://localhost")


def test_a_processor_of_what_is_no_destination_is_refused(tmp_path: Path) -> None:
    said = refused("processor", write(tmp_path, FILE), "--from", "a *", "--broker", "nats://localhost")
    assert said.startswith('destination "a *": expected')


def test_an_unknown_broker_is_refused_without_its_password(tmp_path: Path) -> None:
    file = write(tmp_path, FILE)
    said = refused("processor", file, "--from", "x", "--broker", "carrier://me:secret@pigeon")
    assert said == 'broker "carrier://…": expected amqp://host, nats://host, kafka://host or redis://host'


def test_a_refused_command_does_not_end_the_process_for_a_thread_of_others(tmp_path: Path) -> None:
    """In a process of its own it ends at once where a job's thread goes on, which nothing can stop."""
    done = threading.Event()
    others = threading.Thread(target=done.wait, name=f"{JOB_THREAD}_0", daemon=True)
    others.start()
    with patch("os._exit", side_effect=AssertionError):
        refused("processor", write(tmp_path, FILE), "--from", "x", "--broker", "carrier://pigeon")
    done.set()
    others.join()
