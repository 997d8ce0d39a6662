"""Django: `INSTALLED_APPS += ["fencepost.contrib.django"]` and `FENCEPOST = {"APP": "project.jobs:app"}`.

| word of FENCEPOST | what it says | unless given |
| --- | --- | --- |
| `APP` | where the `Fencepost` application is, module:name | needed |
| `DATABASE` | the alias in DATABASES of the database that the ledger is in | `default` |
| `STORE` | the ledger's URL | the application's own, or on PostgreSQL that of `DATABASE` |

`enqueue` writes a run in the current atomic block; `manage.py fencepost …` is the command line; the admin
shows runs and schedules, and changes nothing.
"""

from fencepost.errors import MissingExtra

try:
    import django as _django  # noqa: F401
except ModuleNotFoundError:
    raise MissingExtra("fencepost.contrib.django needs Django; run: pip install django") from None

from fencepost.contrib.django.configuration import application
from fencepost.contrib.django.enqueueing import aenqueue, enqueue

__all__ = ["aenqueue", "application", "enqueue"]
