"""A claim belongs to the credential that made it, and the role worker may do nothing else."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

import pytest

from fencepost.errors import InvalidSpec
from fencepost.model.access import Role
from fencepost.model.audit import Action, LogFilter
from fencepost.model.identifiers import outside_worker
from fencepost.model.run import RunState
from fencepost.operations import credentials
from fencepost.operations.control import Control
from fencepost.operations.responses.access import MintedToken
from fencepost.web.application import WORKER_PROTOCOL
from fencepost.web.auth.reading import FORM
from tests.rows import change_run
from tests.services.house import NS
from tests.web.attacks.stage import PARAMETER, Stage, everything
from tests.web.door import HERE
from tests.web.house import CLAIMS, TOKEN, Answer, Web, run_path

VERBS: dict[str, dict[str, str]] = {"heartbeat": {}, "complete": {}, "fail": {"error": "Busy: no"}}
OPEN = {"/healthz", "/readyz", "/static/x", "/favicon.ico", "/sign-out", "/api/v1/openapi.json"}
REFUSED = LogFilter(action=Action.RUN_REPORT_REFUSED)


async def worker_token(web: Web, name: str = "resizer", role: Role = Role.WORKER) -> MintedToken:
    return await credentials.create(Control(web.house.store, NS), name, role)


async def claim(web: Web, token: str, worker: str = "w1", **more: Any) -> list[dict[str, Any]]:
    answer = await web.post(CLAIMS, {"worker": worker, "jobs": ["resize"], **more}, token)
    assert answer.status == 200, answer.content
    found: list[dict[str, Any]] = answer.body["claims"]
    return found


async def report(web: Web, run: dict[str, Any], verb: str, token: str) -> Answer:
    ticket = {"attempt": run["attempt"], "fence": run["fence"]}
    return await web.post(run_path(run["run_key"], verb), {**ticket, **VERBS[verb]}, token)


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("role", [Role.WORKER, Role.OPERATOR, Role.ADMIN])
async def test_no_credential_reports_on_a_run_that_another_claimed(web: Web, verb: str, role: Role) -> None:
    await web.house.enqueue("1", "resize")
    mine, other = await worker_token(web), await worker_token(web, "other", role)
    (run,) = await claim(web, mine.credential.reveal())
    before = await web.house.run(run["run_key"])
    for _ in range(3):
        answer = await report(web, run, verb, other.credential.reveal())
        assert (answer.status, answer.problem) == (403, "forbidden")
    assert await web.house.run(run["run_key"]) == before
    (entry,) = await web.house.memory.audit_log.list(NS, REFUSED)
    assert (entry.author.credential, entry.subject) == (other.record.token_id, run["run_key"])
    assert entry.after == {
        "attempt": 1,
        "fence": run["fence"],
        "claimed_with": mine.record.token_id,
    }
    assert (await report(web, run, verb, mine.credential.reveal())).status == 200


async def test_a_run_says_which_credential_claimed_it(web: Web) -> None:
    await web.house.enqueue("1", "resize")
    made = await worker_token(web)
    (run,) = await claim(web, made.credential.reveal())
    record = await web.house.run(run["run_key"])
    assert record.worker == outside_worker("w1", made.record.token_id) == f"http/w1@{made.record.token_id}"


async def test_no_credential_adopts_a_claim_of_another_under_its_name(web: Web) -> None:
    await web.house.enqueue("1", "resize")
    mine, other = await worker_token(web), await worker_token(web, "other")
    (run,) = await claim(web, mine.credential.reveal())
    assert await claim(web, other.credential.reveal()) == []
    (again,) = await claim(web, mine.credential.reveal())
    assert (again["run_key"], again["fence"]) == (run["run_key"], run["fence"])


async def test_workers_that_share_a_token_report_on_each_others_runs(web: Web) -> None:
    """They are one to the ledger, as they are to whoever gave them the token."""
    await web.house.enqueue("1", "resize")
    token = (await worker_token(web)).credential.reveal()
    (run,) = await claim(web, token, "w1")
    assert (await report(web, run, "complete", token)).body == {"receipt": "accepted"}


async def test_a_rotation_takes_no_run_from_its_worker(web: Web) -> None:
    await web.house.enqueue("1", "resize")
    made = await worker_token(web)
    (run,) = await claim(web, made.credential.reveal())
    verbs = Control(web.house.store, NS)
    second = await credentials.rotate(verbs, made.record.token_id)
    third = await credentials.rotate(verbs, second.record.token_id)
    assert (await report(web, run, "heartbeat", third.credential.reveal())).status == 200
    assert (await report(web, run, "complete", third.credential.reveal())).status == 200


async def test_a_fence_that_was_not_given_yet_ends_no_run(web: Web, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who guesses the next fence and reports in the moment before the claim changes nothing."""
    key = await web.house.enqueue("1", "resize")
    mine, other = await worker_token(web), await worker_token(web, "other", Role.OPERATOR)
    ledger = type(web.house.memory.ledger)
    finish, claims = ledger.finish, list[dict[str, Any]]()

    async def late(self: Any, outcomes: Any) -> Any:
        claims.extend(await claim(web, mine.credential.reveal()))
        return await finish(self, outcomes)

    monkeypatch.setattr(ledger, "finish", late)
    guessed = {"run_key": key, "attempt": 1, "fence": 1}
    assert (await report(web, guessed, "complete", other.credential.reveal())).problem == "run-lost"
    monkeypatch.undo()
    claims = claims or await claim(web, mine.credential.reveal())
    assert (claims[0]["attempt"], claims[0]["fence"]) == (1, 1), "the guess was right"
    assert (await web.house.run(key)).state is RunState.RUNNING


async def test_a_claim_of_an_earlier_release_is_reported_on_with_its_fence_alone(web: Web) -> None:
    key = await web.house.enqueue("1", "resize")
    (run,) = await claim(web, TOKEN)
    change_run(web.house.memory, key, worker="http/w1")
    made = await worker_token(web)
    assert (await report(web, run, "complete", made.credential.reveal())).status == 200


async def test_a_worker_may_claim_and_report_and_nothing_else() -> None:
    stage = await Stage().open()
    token = (await stage.token(Role.WORKER)).credential.reveal()
    passed = set()
    for method, path in everything(stage.serving):
        if method == "OPTIONS":
            continue
        mark = stage.marked()
        answer = await stage.ask(method, path, {} if method == "POST" else None, token=token)
        if answer.status not in (403, 404, 405) or stage.asked_since(mark):
            passed.add((method, path))
    own = {("POST", f"/api/v1{PARAMETER.sub('x', one.path)}") for one in WORKER_PROTOCOL}
    assert own <= passed
    assert {path for _, path in passed - own} - OPEN == set(), "what is open has nothing of a tenant in it"


async def test_no_session_has_the_role_worker() -> None:
    stage = await Stage().open()
    made = await stage.token(Role.WORKER)
    body = urlencode({"token": made.credential.reveal()}).encode()
    headers = {name.replace("-", "_"): value for name, value in HERE.items()}
    assert (await stage.ask("POST", "/sign-in", body, content_type=FORM, **headers)).status == 403
    with pytest.raises(InvalidSpec, match="signs nobody in"):
        await credentials.open_link(Control(stage.house.store, NS), Role.WORKER)
