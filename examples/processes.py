"""Work for a processor, in child processes. In this folder: `fencepost run processes:app`."""

from fencepost import Every, Fencepost, Run

app = Fencepost(processes=2)


@app.job(
    executor="process", memory_limit="512MB", recycle_after=100, timeout="30s",
    schedule=Every("5s"), payload={"below": 200_000},
)  # fmt: skip
def count_primes(run: Run, below: int) -> str:
    """Killed at its timeout, also where it hangs in C code; the worker beats and works on meanwhile."""
    composite = bytearray(below)
    for number in range(2, below):
        if number % 20_000 == 0:
            run.heartbeat(progress=number / below)
        if not composite[number]:
            composite[number * number :: number] = b"\1" * len(range(number * number, below, number))
    found = composite.count(0) - 2
    print(f"{found} primes below {below}")
    return str(found)


app.add_command(
    "uptime",
    ["uptime"],
    timeout="10s",
    limits={"cpu": "5s", "memory": "500MB", "files": 64},
)
app.add_schedule("uptimes", job="uptime", trigger=Every("5s"))
