"""The Django example on PostgreSQL: pages, workers, the command line and the admin, as real processes."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from tests.cli.processes import SIGTERM
from tests.contrib.projects import Project, shop
from tests.contrib.servers import Program, program
from tests.examples.programs import ended_runs, rows_of

pytestmark = pytest.mark.postgres

RUNS = "select run_key, state from fencepost.runs order by run_key"
POST = (
    "from django.test import Client; answer = Client().post('/orders/anna'); print(json.dumps(answer.json()))"
)


@pytest.fixture
def project(postgres_url: str) -> Project:
    made = shop(postgres_url)
    made.manage("migrate", "-v", "0")
    return made


@contextmanager
def worker(project: Project) -> Iterator[Program]:
    with program("manage.py", "fencepost", "run", folder=project.folder, **project.environment) as one:
        one.wait_for("started")
        yield one


def test_an_order_and_its_run_are_one_commit_and_so_are_the_receipt_and_the_success(
    project: Project, postgres_url: str
) -> None:
    """Several commands of Django, each a process."""
    with worker(project) as process:
        answer = project.does(POST)
        ended_runs(postgres_url, "send_receipt")
        process.signal(SIGTERM)
        assert process.ended() == 0, process.said
        assert "not-for-any-log" not in process.said
    assert rows_of(postgres_url, "select id, receipt from shop_order") == [(answer["order"], answer["run"])]
    assert rows_of(postgres_url, RUNS) == [(answer["run"], "succeeded")]


def test_a_block_that_is_rolled_back_leaves_no_run(project: Project, postgres_url: str) -> None:
    """Several commands of Django, each a process."""
    program = """
from django.db import transaction
from fencepost.contrib.django import aenqueue, enqueue
try:
    with transaction.atomic():
        enqueue("send_receipt", key="lost", order_id=1)
        raise ZeroDivisionError
except ZeroDivisionError:
    pass
with transaction.atomic():
    enqueue("send_receipt", key="kept", order_id=1)
    try:
        with transaction.atomic():
            enqueue("send_receipt", key="lost-inside", order_id=1)
            raise ZeroDivisionError
    except ZeroDivisionError:
        pass
enqueue("send_receipt", key="alone", order_id=1)
import asyncio
asyncio.run(aenqueue("send_receipt", key="awaited", order_id=1))
print("null")
"""
    project.does(program)
    keys = [key for key, _ in rows_of(postgres_url, RUNS)]
    assert keys == [f"send_receipt#{key}" for key in ("alone", "awaited", "kept")]


COMMANDS = """
import contextlib, io
from django.core.management import call_command

def said(*arguments):
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            call_command("fencepost", *arguments)
        except SystemExit as ended:
            code = ended.code
    return [code, out.getvalue(), err.getvalue()]

print(json.dumps([
    said("runs", "list", "--json"),
    said("status", "--json", "--settings=shop.settings", "--pythonpath", "."),
    said("scheduler", "--help"),
    said("nonsense"),
]))
"""


def test_the_command_line_goes_to_the_ledger_of_the_settings(project: Project) -> None:
    runs, status, helped, wrong = project.does(COMMANDS)
    assert (runs[0], json.loads(runs[1])) == (0, [])
    assert status[0] == 0
    assert "queue" in json.loads(status[1])
    assert (helped[0], "TARGET" in helped[1]) == (0, True)
    assert (wrong[0], "nonsense" in wrong[2]) == (2, True)


@pytest.mark.proof
def test_django_makes_no_migrations_of_the_ledger(project: Project) -> None:
    assert "No changes detected" in project.manage("makemigrations", "--check", "--dry-run")


BUSY = "select count(*) from pg_stat_activity where application_name = 'shop-jobs'"


@pytest.mark.proof
def test_a_job_leaves_no_connection_of_django_behind(project: Project, postgres_url: str) -> None:
    """Without the hook, the thread of a plain job would keep its connection for as long as it lives."""
    named = Project(project.folder, {**project.environment, "PGAPPNAME": "shop-jobs"})
    with worker(named):
        project.does(POST)
        ended_runs(postgres_url, "send_receipt")
        # The worker's own connections do not read PGAPPNAME.
        for _ in range(100):
            if rows_of(postgres_url, BUSY) == [(0,)]:
                return
    raise AssertionError("a connection was left open")


ADMIN = """
from django.contrib.auth.models import Permission, User
from django.test import Client
from fencepost.contrib.django import enqueue
from fencepost.contrib.django.models import Run, Schedule
from fencepost.errors import UsageError

key = enqueue("send_receipt", key="1", order_id=1)
User.objects.create_superuser("root")
viewer = User.objects.create_user("viewer", is_staff=True)
viewer.user_permissions.add(Permission.objects.get(codename="view_run"))
User.objects.create_user("stranger", is_staff=True)

def answers(name):
    client = Client()
    client.force_login(User.objects.get(username=name))
    page = "/admin/fencepost/run/"
    one = page + "send_receipt_231/"
    return {
        "list": client.get(page).status_code,
        "shown": key in client.get(page).content.decode(),
        "one": client.get(one + "change/").status_code,
        "save": client.post(one + "change/", {"state": "succeeded"}).status_code,
        "add": client.get(page + "add/").status_code,
        "delete": client.post(one + "delete/", {"post": "yes"}).status_code,
        "schedules": client.get("/admin/fencepost/schedule/").status_code,
    }

refusals = []
for act in (Run.objects.get().save, Run.objects.get().delete):
    try:
        act()
    except UsageError:
        refusals.append(True)
ours = Permission.objects.filter(content_type__app_label="fencepost")
perms = sorted(ours.values_list("codename", flat=True))
print(json.dumps({name: answers(name) for name in ("root", "viewer", "stranger")}
    | {"refusals": refusals, "state": Run.objects.get().state, "perms": perms}))
"""


@pytest.mark.proof
def test_the_admin_shows_the_ledger_and_changes_nothing_whoever_asks(project: Project) -> None:
    found = project.does(ADMIN)
    looked = {"list": 200, "shown": True, "one": 200, "save": 403, "add": 403, "delete": 403}
    assert found["root"] == {**looked, "schedules": 200}
    assert found["viewer"] == {**looked, "schedules": 403}
    assert found["stranger"]["list"] == found["stranger"]["one"] == 403
    assert not found["stranger"]["shown"]
    assert (found["refusals"], found["state"]) == ([True, True], "ready")
    assert found["perms"] == ["view_run", "view_schedule"]
