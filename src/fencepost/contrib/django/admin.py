"""Runs and schedules in Django's admin, read only: users who may view them can change nothing.

Only on PostgreSQL: on SQLite the ledger is not Django's to open.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

from django.contrib import admin
from django.core.paginator import Paginator
from django.db import connections

from fencepost.contrib.django.configuration import alias, application
from fencepost.contrib.django.models import Run, Schedule

COUNTED_MAX = 10_000


class BoundedPaginator(Paginator):
    """Counts only as many pages as people turn: a ledger may have millions of rows."""

    @cached_property
    def count(self) -> int:
        found: int = self.object_list[:COUNTED_MAX].count()
        return found


class ReadOnlyAdmin(admin.ModelAdmin):
    """A list and a page, of one namespace."""

    paginator = BoundedPaginator
    show_full_result_count = False
    list_per_page = 50
    actions = None

    def get_queryset(self, request: Any) -> Any:
        """The rows of the application's namespace, from the database that the ledger is in."""
        rows = super().get_queryset(request).using(alias())
        return rows.filter(namespace=application().settings.namespace)

    def has_add_permission(self, request: Any) -> bool:
        return False

    def has_change_permission(self, request: Any, obj: Any = None) -> bool:
        return False

    def has_delete_permission(self, request: Any, obj: Any = None) -> bool:
        return False


class RunAdmin(ReadOnlyAdmin):
    """The ledger, the latest first."""

    list_display = ("run_key", "job", "state", "attempt", "fire_time", "started_at", "finished_at", "worker")
    list_filter = ("state",)
    search_fields = ("run_key__startswith",)
    ordering = ("-fire_time",)


class ScheduleAdmin(ReadOnlyAdmin):
    """The schedules as they are now."""

    list_display = ("schedule_id", "job", "state", "version", "frozen", "updated_at")
    list_filter = ("state",)
    search_fields = ("schedule_id__startswith",)
    ordering = ("schedule_id",)


if connections[alias()].vendor == "postgresql":
    admin.site.register(Run, RunAdmin)
    admin.site.register(Schedule, ScheduleAdmin)
