"""Real workers and beats of the project in `celery_project`, and what the worker has received."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import redis

from tests.cli.forks import ROOT
from tests.contrib.celery_project import NOTES
from tests.contrib.servers import Program, program

PATIENCE_S = 60
PROJECT = "tests.contrib.celery_project"
SCHEDULER = "fencepost.contrib.celery:Scheduler"


class Notes:
    """What the tasks of the project have said, in the order in which it came."""

    def __init__(self, url: str, *, clean: bool = True) -> None:
        self.url = url
        self.client = redis.Redis.from_url(url, socket_timeout=None)
        if clean:
            self.client.flushall()
        self.client.delete(NOTES)
        self.all: list[dict[str, Any]] = []

    def next(self) -> dict[str, Any]:
        """The next one, waited for."""
        found = self.client.blpop([NOTES], timeout=PATIENCE_S)
        assert found is not None, "no task was received"
        self.all.append(json.loads(found[1]))
        return self.all[-1]

    def take(self, number: int) -> list[dict[str, Any]]:
        return [self.next() for _ in range(number)]

    def let_go(self, name: str, word: str = "done") -> None:
        """End a task that waits."""
        self.client.rpush(name, word)

    def close(self) -> None:
        self.client.close()


@contextmanager
def celery(*words: str, place: str, **environment: str) -> Iterator[Program]:
    """A process of Celery's command line, in the project."""
    arguments = ("-m", "celery", "-A", PROJECT, *words)
    with program(*arguments, folder=ROOT, CELERY_PROJECT_REDIS=place, **environment) as process:
        yield process


@contextmanager
def worker(place: str, *more: str, **environment: str) -> Iterator[Program]:
    """A worker that takes tasks."""
    words = ("worker", "-l", "info", "-c", "2", "--without-gossip", "--without-mingle", *more)
    with celery(*words, place=place, **environment) as process:
        process.wait_for("ready.")
        yield process


@contextmanager
def beat(place: str, store: str, **environment: str) -> Iterator[Program]:
    """A beat on the ledger."""
    words = ("beat", "-S", SCHEDULER, "-l", "info")
    with celery(*words, place=place, FENCEPOST_STORE=store, **environment) as process:
        yield process
