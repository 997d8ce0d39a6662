"""Celery: `celery -A proj beat -S fencepost.contrib.celery:Scheduler`, on any number of hosts.

| setting of Celery | what it says | unless given |
| --- | --- | --- |
| `beat_fencepost_store` | the URL of the ledger | `FENCEPOST_STORE`, or a file in the current folder |
| `beat_fencepost_namespace` | the namespace of its schedules | `FENCEPOST_NAMESPACE`, or `default` |
| `beat_fencepost_leases` | where leases live | `FENCEPOST_LEASES`, or the ledger itself |

An entry may say more of itself in `options["fencepost"]`: `overlap`, `catch_up`, `max_lateness`. A task as a
job of an application is `app.celery_task("proj.tasks.report", celery=…)`.
"""

from fencepost.errors import MissingExtra

try:
    import celery as _celery  # noqa: F401
except ModuleNotFoundError:
    raise MissingExtra("fencepost.contrib.celery needs the extra: pip install 'fencepost[celery]'") from None

from fencepost.contrib.celery.beat import Scheduler

__all__ = ["Scheduler"]
