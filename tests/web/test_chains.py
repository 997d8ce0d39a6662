"""Jobs after others over HTTP: no job is defined there, and what is shown leaves no link of a chain out."""

from __future__ import annotations

from urllib.parse import quote

from fencepost.model.identifiers import JobName
from fencepost.model.job import AfterOn, JobSpec
from fencepost.web.dashboard import links
from tests.services.house import NS
from tests.web.dashboard.house import Dashboard, somebody, words_of
from tests.web.house import Web

FIRST, SECOND, JOINED = "resize#7", "load#after#resize#7", "report#join#7"


def run_url(key: str) -> str:
    return f"/api/v1/runs/{quote(key, safe='')}"


async def test_a_chain_over_http_is_shown_from_its_definition_to_its_last_run(web: Web) -> None:
    load = JobSpec(JobName("load"), external=True, after=(JobName("resize"),), after_on=AfterOn.ANY)
    both = (JobName("load"), JobName("rates"))
    others = [JobSpec(JobName("rates")), JobSpec(JobName("report"), after=both)]
    await web.house.memory.jobs.register(NS, [load, *others])

    shown = (await web.get("/api/v1/jobs/load")).body
    assert (shown["after"], shown["after_on"]) == (["resize"], "any")
    assert "runs after each end of resize" in shown["description"]
    listed = {one["job"]: one["after"] for one in (await web.get("/api/v1/jobs")).body["items"]}
    assert (listed["resize"], listed["load"], listed["report"]) == ([], ["resize"], ["load", "rates"])

    assert (await web.post("/api/v1/jobs/resize/enqueue", {"key": "7"})).body["run_key"] == FIRST
    (run,) = await web.claim()
    await web.report(run, "complete", result={"width": 800})
    (run,) = await web.claim("w1", "load")
    await web.report(run, "complete")

    first, second = (await web.get(run_url(FIRST))).body, (await web.get(run_url(SECOND))).body
    assert (first["after"], first["then"]) == (
        [],
        [{"run_key": SECOND, "job": "load", "state": "succeeded"}],
    )
    (followed,) = second["after"]
    assert (followed["run_key"], followed["state"], followed["result"]) == (
        FIRST,
        "succeeded",
        '{"width":800}',
    )
    assert second["then"] == [{"run_key": JOINED, "job": "report", "state": None}]
    sentences = (await web.get(f"{run_url(SECOND)}/why")).body["sentences"]
    assert f"It follows {FIRST}, which succeeded." in sentences
    assert any(one.startswith(f"{JOINED} is not enqueued") for one in sentences)

    page = words_of(await Dashboard(web.house, somebody()).page(links.run(run["run_key"])))
    assert all(key in page for key in (FIRST, SECOND, f"{JOINED} waits for another run"))


async def test_no_request_defines_a_job_or_what_it_runs_after(web: Web) -> None:
    """Programs and files do: a server has no code to run."""
    answers = [
        await web.post("/api/v1/jobs", {"name": "load", "after": ["resize"]}),
        await web.post("/api/v1/jobs/resize/enqueue", {"key": "7", "after": ["local"]}),
    ]
    assert [one.status // 100 for one in answers] == [4, 4]
    assert await web.claim() == []
