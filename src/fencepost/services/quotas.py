"""Refusals over quota are counted where they are made, whoever asked."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from fencepost.errors import QuotaExceeded
from fencepost.model.quotas import Quota
from fencepost.telemetry.events import QuotaRefused, emit


@contextmanager
def refusals_counted() -> Iterator[None]:
    """Count a refusal inside, and let it go on."""
    try:
        yield
    except QuotaExceeded as error:
        count_refusal(error)
        raise


def count_refusal(error: QuotaExceeded) -> None:
    """Count a refusal that is told and not raised."""
    emit(QuotaRefused(Quota(error.quota)))
