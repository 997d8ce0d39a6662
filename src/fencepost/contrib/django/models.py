"""The ledger as models, to be read, on PostgreSQL: nothing of it is Django's to make or to change."""

from __future__ import annotations

from typing import Any, NoReturn

from django.db import models

from fencepost.errors import UsageError
from fencepost.model.run import RunState


class ReadOnly(models.Model):
    """A row that only Fencepost writes."""

    class Meta:
        abstract = True
        managed = False
        default_permissions = ("view",)

    def save(self, *args: Any, **options: Any) -> NoReturn:
        """Refused."""
        raise UsageError(
            "the ledger is read-only here; use fencepost.contrib.django.enqueue or the command line"
        )

    def delete(self, *args: Any, **options: Any) -> NoReturn:
        """Refused."""
        raise UsageError("the ledger is read-only here; see: manage.py fencepost runs cancel --help")


class Run(ReadOnly):
    """One run of one namespace."""

    run_key = models.TextField(primary_key=True)
    namespace = models.TextField()
    job = models.TextField()
    schedule_id = models.TextField(null=True)
    state = models.TextField(choices=[(str(state), str(state)) for state in RunState])
    reason = models.TextField(null=True)
    fire_time = models.DateTimeField()
    run_at = models.DateTimeField()
    started_at = models.DateTimeField(null=True)
    finished_at = models.DateTimeField(null=True)
    attempt = models.IntegerField()
    fence = models.BigIntegerField()
    queue = models.TextField()
    priority = models.SmallIntegerField()
    worker = models.TextField(null=True)
    progress = models.TextField(null=True)
    error = models.TextField(null=True)

    class Meta(ReadOnly.Meta):
        abstract = False
        db_table = '"fencepost"."runs"'

    def __str__(self) -> str:
        return str(self.run_key)


class Schedule(ReadOnly):
    """One schedule of one namespace."""

    schedule_id = models.TextField(primary_key=True)
    namespace = models.TextField()
    job = models.TextField()
    state = models.TextField(choices=[(word, word) for word in ("active", "paused", "removed")])
    version = models.IntegerField()
    queue = models.TextField(null=True)
    frozen = models.BooleanField()
    updated_at = models.DateTimeField()

    class Meta(ReadOnly.Meta):
        abstract = False
        db_table = '"fencepost"."schedules"'

    def __str__(self) -> str:
        return str(self.schedule_id)
