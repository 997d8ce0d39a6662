"""Jobs of every kind that have secrets and do not take care of them: they tell all they know, and fail."""

import os
import sys

from fencepost import Fencepost, PermanentFailure, Retry, Run

CANARY = os.environ["CANARY"]
"""What every secret here begins with; the whole of one ends in a letter of its own."""
TARGET = os.environ["CANARY_TARGET"]
ONCE = Retry(max_attempts=1)
SPILL = """
import os, sys
told = " ".join(os.environ[name] for name in ("API_TOKEN", "DATABASE", "PASSED_SECRET", "STRIPE"))
print(told, *sys.argv[1:])
sys.exit(70)
"""

app = Fencepost()
app.secret("stripe", "env:CANARY_STRIPE")


@app.job(retry=ONCE)
async def called(run: Run, **payload: object) -> None:
    told = f"{payload['url']} with {payload['header']} by {payload['hook']}"
    told += f" as Config(host='db', password={payload['password']!r}) of {payload}"
    run.log(told)
    run.heartbeat(told)
    try:
        raise ConnectionError(f"no answer from {told}")
    except ConnectionError as error:
        raise PermanentFailure(f"gave up: {told}") from error


app.add_command(
    "command",
    [sys.executable, "-c", SPILL, f"https://anna:{CANARY}f@db.example/", f"?password={CANARY}g"],
    retry=ONCE,
    environment={
        "API_TOKEN": f"{CANARY}h it's #{CANARY}",
        "DATABASE": f"postgres://anna:{CANARY}i@db.example/x",
    },
    pass_environment=["PASSED_SECRET"],
    pass_secrets={"STRIPE": "stripe"},
)
app.add_http(
    "http",
    f"{TARGET}/hook?access_token={CANARY}l&a=b",
    retry=ONCE,
    headers={"Authorization": "env:CANARY_BEARER", "X-Api-Key": f"{CANARY}n"},
    secret="env:CANARY_SIGNING",
    allow_private=True,
    ports=[int(TARGET.rpartition(":")[2])],
)
