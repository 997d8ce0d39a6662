"""Django on SQLite: pages enqueue in their transactions, and workers keep Django off the ledger's file."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.calls import called, called_json
from tests.contrib.projects import Project, small_project
from tests.contrib.servers import program
from tests.examples.programs import ended_runs, rows_of

APP = "site_jobs:app"


@pytest.fixture
def url(tmp_path: Path) -> str:
    made = f"sqlite:///{tmp_path / 'site.db'}"
    called("migrate", "--store", made)
    return made


@pytest.fixture
def project(tmp_path: Path, url: str) -> Project:
    return small_project(tmp_path, APP=APP, STORE=url)


def test_a_page_enqueues_in_its_transaction_and_a_worker_does_it(project: Project, url: str) -> None:
    program_of_a_page = """
from django.db import connection, transaction
from fencepost.contrib.django import enqueue
connection.cursor().execute("CREATE TABLE greeted (name text)")
try:
    with transaction.atomic():
        enqueue("greet", key="lost", name="nobody")
        raise ZeroDivisionError
except ZeroDivisionError:
    pass
with transaction.atomic():
    connection.cursor().execute("INSERT INTO greeted VALUES ('page')")
    enqueue("greet", key="kept", name="anna")
print("null")
"""
    project.does(program_of_a_page)
    assert rows_of(url, "select run_key from runs") == [("greet#kept",)]
    with program("manage.py", "fencepost", "worker", folder=project.folder, **project.environment):
        ended_runs(url, "greet")
    assert rows_of(url, "select name from greeted") == [("page",), ("anna",)]


def test_a_job_cannot_open_the_ledgers_file_by_django(project: Project, url: str) -> None:
    with program("manage.py", "fencepost", "worker", folder=project.folder, **project.environment) as worker:
        worker.wait_for("started")
        called("enqueue", "by_django", "--key", "1", "--store", url)
        worker.wait_for("dead")
    (run,) = called_json("runs", "list", "--state", "dead", "--store", url)
    assert "another copy of the SQLite library" in run["error"]


def test_a_database_that_is_not_the_ledgers_is_refused(tmp_path: Path) -> None:
    project = small_project(tmp_path, APP=APP, STORE=f"sqlite:///{tmp_path / 'elsewhere.db'}")
    refusal = """
from fencepost.contrib.django import enqueue
from fencepost.errors import UnfitConnection
try:
    enqueue("greet", name="anna")
except UnfitConnection as error:
    print(json.dumps(str(error)))
"""
    assert "is not the ledger's" in project.does(refusal)
    (tmp_path / "again").mkdir()
    project = small_project(tmp_path / "again", APP=APP, STORE="postgresql://anna:secret@db/ledger")
    said = project.does(refusal)
    assert "is not the ledger's" in said
    assert "secret" not in said


COMPLAINTS = {
    "{}": "expected module:name",
    '{"APP": "site_jobs"}': "expected module:name",
    '{"APP": "nowhere:app"}': "no module nowhere",
    '{"APP": "site_jobs:greet"}': "is no Fencepost application",
    '{"APP": "site_jobs:app", "STOR": "x"}': "unknown word 'STOR'",
    "null": "expected FENCEPOST =",
}


def test_settings_that_say_nothing_sensible_are_refused_in_words(tmp_path: Path) -> None:
    said = small_project(tmp_path, APP=APP).does(
        f"""
from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from fencepost.contrib.django import application

def said_of(words):
    settings.FENCEPOST = json.loads(words)
    try:
        application()
    except ImproperlyConfigured as error:
        return str(error)

print(json.dumps([said_of(words) for words in {list(COMPLAINTS)!r}]))
"""
    )
    for found, complaint in zip(said, COMPLAINTS.values(), strict=True):
        assert complaint in found
