"""Jobs called on a bench: plain calls reach its store too, from a test and from a job."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest
from flask import Flask

from fencepost import Fencepost, Run
from fencepost.testing import Bench, PlainBench

app = Fencepost("sqlite:///never-opened.db")


@app.job()
def resize(image_id: int) -> int:
    return image_id * 2


@app.job()
def begin(run: Run, image_id: int) -> str:
    return str(resize.delay(image_id=image_id).key)


@pytest.mark.parametrize("store", ["memory", "sqlite"])
async def test_plain_calls_stay_on_the_bench(store: str) -> None:
    async with Bench(app, store=store) as bench:
        plain = resize.delay(image_id=1)
        handle = await resize.enqueue(image_id=2)
        begun = await begin.enqueue(image_id=3)
        await bench.drain()
        bench.assert_enqueued(resize, payload={"image_id": 3}, state="succeeded")
        assert await handle.result() == 4
        assert plain.result() == 2
        assert await resize.handle((await begun.result()).partition("#")[2]).result() == 6


@pytest.mark.parametrize("store", ["memory", "sqlite"])
def test_threads_and_views_call_on_a_plain_bench(store: str) -> None:
    web = Flask("shop")

    @web.get("/resize/<int:image_id>")
    def ask(image_id: int) -> str:
        return str(resize.delay(image_id=image_id).key)

    with PlainBench(app, store=store) as bench, ThreadPoolExecutor(4) as threads:
        keys = {one.key for one in threads.map(resize.delay, range(1, 9))}
        assert web.test_client().get("/resize/9").text not in keys
        bench.drain()
        bench.assert_enqueued(resize, state="succeeded", count=9)
        assert len(keys) == 8


def test_plain_calls_stay_on_a_plain_bench() -> None:
    with PlainBench(app) as bench:
        handle = resize.options(delay="1h").delay(image_id=1)
        bench.enqueue(resize, image_id=2)
        bench.drain()
        assert handle.state() == "planned"
        bench.advance("1h")
        assert handle.result() == 2
        bench.assert_enqueued(resize, state="succeeded", count=2)
