"""Programs of plain code that call jobs: `python -m tests.app.calling_programs NAME`."""

from __future__ import annotations

import asyncio
import os
import sys
from concurrent.futures import ThreadPoolExecutor
from threading import Thread, current_thread

from celery import Celery

from fencepost import Fencepost

PATIENCE_S = 60

app = Fencepost()
celery = Celery("calling", broker=os.environ.get("CALLING_BROKER", "memory://"))
celery.conf.update(worker_hijack_root_logger=False, broker_connection_retry_on_startup=True)


@app.job()
def resize(image_id: int) -> int:
    return image_id * 2


@celery.task  # type: ignore[untyped-decorator]
def ask_for_resize(image_id: int) -> None:
    """A task of Celery's, in its forked worker."""
    handle = resize.options(key=f"celery-{image_id}").delay(image_id=image_id)
    sys.stderr.write(f"asked for {handle.key}\n")


def script() -> None:
    """Each way that a script has, and some that look as if they would do nothing."""
    handle = resize.delay(image_id=1)
    assert handle.created
    assert handle.state() == "ready"
    for image_id in (2, 3):
        asyncio.run(app.enqueue(resize, image_id=image_id))
    app.enqueue(resize, image_id=4)  # type: ignore[unused-coroutine]
    resize.enqueue(image_id=5)  # type: ignore[unused-coroutine]
    assert handle.cancel() == "cancelled"


def pool() -> None:
    with ThreadPoolExecutor(8) as threads:
        keys = {one.key for one in threads.map(lambda image_id: resize.delay(image_id), range(1, 25))}
    assert len(keys) == 24


def fork() -> None:
    """The parent has its connections; two children after it have their own, and the parent keeps its."""
    resize.delay(image_id=1)
    for image_id in (2, 3):
        child = os.fork()
        if child == 0:
            resize.delay(image_id=image_id)
            sys.exit(0)
        assert os.waitpid(child, 0)[1] == 0
    resize.delay(image_id=4)


def fork_in_a_loop() -> None:
    """The application is open in the loop from which a worker is forked."""

    async def main() -> None:
        async with app:
            await resize.enqueue(image_id=1)
            child = os.fork()
            if child == 0:
                resize.delay(image_id=2)
                os._exit(0)
            assert await asyncio.to_thread(os.waitpid, child, 0) == (child, 0)
            await resize.enqueue(image_id=3)

    asyncio.run(main())


def late() -> None:
    """A thread that outlives the main thread."""

    def work() -> None:
        main.join()
        resize.delay(image_id=2)

    main = current_thread()
    resize.delay(image_id=1)
    Thread(target=work).start()


if __name__ == "__main__":
    {one.__name__: one for one in (script, pool, fork, fork_in_a_loop, late)}[sys.argv[1]]()
