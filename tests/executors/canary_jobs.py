"""Jobs that do with a secret all that a careless job does; one of them in a child process."""

import logging
import os
import sys

from fencepost import Fencepost, Retry, Run, Secret

app = Fencepost(os.environ.get("CANARY_STORE", "sqlite:////nowhere/at/all.db"))
app.secret("canary", "env:CANARY_KEY")

log = logging.getLogger("careless")
ONCE = Retry(max_attempts=1)


def spill(run: Run, token: Secret) -> str:
    """Everywhere it can be put."""
    value = token.reveal()
    sys.stdout.write(f"out {value}\n")
    sys.stderr.write(f"err {value!r}\n")
    log.warning("the key is %s", value)
    run.log(f"log {value}")
    run.heartbeat(f"at {value}")
    return value


@app.job(retry=ONCE)
async def returns(run: Run, token: Secret) -> dict[str, str]:
    return {"header": f"Bearer {spill(run, token)}"}


@app.job(retry=ONCE)
def raises(run: Run, token: Secret) -> None:
    value = spill(run, token)
    try:
        raise ValueError(f"first {value}")
    except ValueError as error:
        raise RuntimeError(f"cannot use {value} {value!r}") from error


@app.job(retry=ONCE, executor="process")
def far_returns(run: Run, token: Secret) -> str:
    return spill(run, token)


@app.job(retry=ONCE, executor="process")
def far_raises(run: Run, token: Secret) -> None:
    raise RuntimeError(f"cannot use {spill(run, token)}")
