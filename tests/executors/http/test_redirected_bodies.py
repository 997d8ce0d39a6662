"""Redirects that keep the method: a body goes nowhere but to the origin that the job names."""

from __future__ import annotations

from typing import Any

import pytest

from fencepost.errors import PermanentFailure
from tests.executors.http.calls import OUTSIDE, calling, with_an_outside
from tests.executors.http.servers import said, served
from tests.executors.runs import make_run


@pytest.mark.parametrize("status", [307, 308])
@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH"])
async def test_the_body_goes_to_no_origin_that_the_job_does_not_name(
    status: int, method: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with_an_outside(monkeypatch)
    async with served(said(200), host=OUTSIDE) as other:
        there = f"http://{OUTSIDE}:{other.port}"
        async with served(said(status, headers=[("Location", f"{there}/there")]), host=OUTSIDE) as server:
            words: dict[str, Any] = {"ports": [server.port, other.port], "schemes": ["http"], "redirects": 3}
            call = calling(f"http://{OUTSIDE}:{server.port}/", method=method, **words)
            with pytest.raises(PermanentFailure, match=f"a redirect to {there}, .* would get its body"):
                await call.execute(make_run({"month": 3}))
    assert other.requests == []
