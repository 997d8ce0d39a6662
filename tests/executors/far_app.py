"""An application whose module a child process imports, secrets and all."""

from __future__ import annotations

from fencepost import Fencepost, Run
from fencepost.model.secret import Secret

app = Fencepost("sqlite:///unused.db")
app.secret("token", "env:FAR_TOKEN")


@app.job(executor="process")
def blab(run: Run, token: Secret, fails: bool = False) -> str:
    """Says the secret in every way that there is."""
    value = token.reveal()
    print("printed", value, flush=True)  # noqa: T201 - this is what is tested
    run.heartbeat(f"at {value}", value)
    run.log(f"logged {value}")
    if fails:
        raise ValueError(f"raised {value}")
    return f"{len(value)} characters: {value}"
