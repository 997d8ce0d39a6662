"""Rows whose rules need not ask for what they look at first: it is there already, or is assumed."""

from __future__ import annotations

from typing import Any, TypeVar

from fencepost.model.table import Keys
from fencepost.ports.rows import Rule
from fencepost.stores.mongodb.each import EachRows, EachTransaction
from fencepost.stores.mongodb.read_batch import ReadBatch
from fencepost.stores.mongodb.rows import MongoRows

T = TypeVar("T")


class BatchedRows:
    """See `ports.rows`. Of a replica set; a fence is drawn beside the batch where the rule is likely to need
    one."""

    def __init__(self, rows: MongoRows | EachRows, batch: ReadBatch, *, draws_fence: bool = False) -> None:
        self._rows = rows
        self._batch = batch
        self._draws_fence = draws_fence

    async def read(self, rule: Rule[T]) -> T:
        return await self._rows.read(self._after_batch(rule))

    async def write(self, rule: Rule[T]) -> T:
        return await self._rows.write(self._after_batch(rule))

    def _after_batch(self, rule: Rule[T]) -> Rule[T]:
        async def batched(tx: Any) -> T:
            if self._draws_fence and isinstance(tx, EachTransaction):
                tx.draw_fence()
            await tx.read_batch(self._batch, with_time=self._rows.has_servers_clock)
            return await rule(tx)

        return batched


class NewRows:
    """See `ports.rows`. The rows of these keys are expected not to be there, and are not looked for before
    they are written. Where one is, the rule runs again and looks."""

    def __init__(self, rows: MongoRows, expected: Keys) -> None:
        self._rows = rows
        self._expected = expected
        self._is_first_try = True

    async def read(self, rule: Rule[T]) -> T:
        return await self._rows.read(rule)

    async def write(self, rule: Rule[T]) -> T:
        return await self._rows.write(self._assuming(rule))

    def _assuming(self, rule: Rule[T]) -> Rule[T]:
        async def assuming(tx: Any) -> T:
            if self._is_first_try:
                self._is_first_try = False
                tx.assume_absent(self._expected)
            return await rule(tx)

        return assuming
