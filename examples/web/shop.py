"""FastAPI with its jobs in the same processes. In this folder: `uvicorn shop:web --workers 2`."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from fastapi import FastAPI

from fencepost import Every, Fencepost, Run
from fencepost.contrib.fastapi import lifespan

jobs = Fencepost()


@jobs.job()
async def send_receipt(run: Run, order: int) -> str:
    return f"receipt of order {order}"


@jobs.job(schedule=Every("1h"))
def tidy(run: Run) -> None:
    """Once an hour in the whole fleet, however many web processes there are."""


@asynccontextmanager
async def caches(web: FastAPI) -> AsyncIterator[dict[str, str]]:
    """A lifespan of your own: opened before any job starts, closed after the last has ended."""
    yield {"greeting": "hello"}


web = FastAPI(lifespan=lifespan(jobs, within=caches))


@web.post("/orders/{order}", status_code=202)
async def take(order: int) -> dict[str, str]:
    return {"run": await jobs.enqueue(send_receipt, key=str(order), order=order)}


@web.get("/runs/{key:path}")
async def look(key: str) -> dict[str, str]:
    return {"state": (await jobs.runs.get(key)).state}
