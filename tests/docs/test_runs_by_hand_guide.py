"""The guide to runs by hand: its examples run, one after the other, and do what it says."""

from __future__ import annotations

import ast
import inspect
import re
from pathlib import Path
from typing import Any

from fencepost import Fencepost
from fencepost.model.run import RunFilter
from fencepost.testing.conformance.builders import NS

GUIDE = Path(__file__).parents[2] / "docs" / "guides" / "runs-by-hand.md"
BLOCK = re.compile(r"```python\n(.*?)```", re.DOTALL)


async def test_the_examples_of_the_guide_run(tmp_path: Path) -> None:
    app = Fencepost(f"sqlite:///{tmp_path / 'fencepost.db'}")
    names: dict[str, Any] = {"app": app}
    for block in BLOCK.findall(GUIDE.read_text("utf-8")):
        code = compile(block, str(GUIDE), "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
        running = eval(code, names)
        if inspect.isawaitable(running):
            await running
    assert names["again"] == names["first"] != names["other"]
    assert len(set(names["many"])) == 1
    store = await app.open()
    found = {run.run_key: run for run in await store.ledger.list(NS, RunFilter())}
    assert found.keys() == {names["first"], names["other"], names["soon"], *names["many"]}
    soon = found[names["soon"]]
    assert soon.expires_at is not None
    assert (soon.expires_at - soon.run_at).total_seconds() == 600
    await app.close()
