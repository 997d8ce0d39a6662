"""Django projects in processes of their own: Django is configured once a process, and not in ours."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from tests.cli.processes import clean_environment
from tests.examples.programs import EXAMPLES, PATIENCE_S

SET_UP = "import django, json; django.setup()\n"


@dataclass(frozen=True)
class Project:
    """One folder with a `manage.py`, and the environment that its processes get."""

    folder: Path
    environment: dict[str, str]

    def manage(self, *arguments: str, code: int = 0) -> str:
        """What `manage.py` printed."""
        return self._said(["manage.py", *arguments], code)

    def refused(self, *arguments: str, code: int) -> str:
        """What `manage.py` complained about."""
        return self._run(["manage.py", *arguments], code).stderr

    def does(self, program: str) -> Any:
        """What a program in the project prints as JSON in its last line."""
        return json.loads(self._said(["-c", SET_UP + program], 0).splitlines()[-1])

    def _said(self, arguments: list[str], code: int) -> str:
        return self._run(arguments, code).stdout

    def _run(self, arguments: list[str], code: int) -> subprocess.CompletedProcess[str]:
        ended = subprocess.run(
            [sys.executable, "-W", "error", *arguments],
            cwd=self.folder,
            env={**clean_environment(), **self.environment},
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
        )
        assert ended.returncode == code, ended.stdout + ended.stderr
        return ended


def shop(url: str) -> Project:
    """The example, on a database of the tests."""
    place = urlsplit(url)
    environment = {
        "PGHOST": place.hostname or "",
        "PGPORT": str(place.port),
        "PGUSER": place.username or "",
        "PGDATABASE": place.path.lstrip("/"),
        "PGPASSWORD": "not-for-any-log",
        "DJANGO_SETTINGS_MODULE": "shop.settings",
    }
    return Project(EXAMPLES / "django", environment)


SETTINGS = """
DATABASES = {{"default": {{
    "ENGINE": "django.db.backends.sqlite3", "NAME": {path!r}, "OPTIONS": {{"transaction_mode": "IMMEDIATE"}},
}}}}
INSTALLED_APPS = ["fencepost.contrib.django"]
FENCEPOST = {words!r}
USE_TZ = True
"""
JOBS = """
from django.db import connection
from fencepost import Fencepost, Retry, Run

app = Fencepost()

@app.job(retry=Retry(max_attempts=1))
def greet(run: Run, name: str) -> str:
    with run.transaction() as tx:
        tx.execute("INSERT INTO greeted VALUES (%s)", (name,))

@app.job(retry=Retry(max_attempts=1))
def by_django(run: Run) -> None:
    connection.cursor().execute("SELECT 1")
"""


def small_project(folder: Path, **words: str) -> Project:
    """A project on a SQLite file, with a table of its own."""
    path = folder / "site.db"
    (folder / "site_settings.py").write_text(SETTINGS.format(path=str(path), words=words))
    (folder / "site_jobs.py").write_text(JOBS)
    manage = EXAMPLES / "django" / "manage.py"
    (folder / "manage.py").write_text(manage.read_text())
    return Project(folder, {"DJANGO_SETTINGS_MODULE": "site_settings"})
