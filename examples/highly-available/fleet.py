"""Three MongoDB nodes, three schedulers, two workers and a web server: `python fleet.py`; Ctrl-C ends it.

Everything is a process of this host, its data and its logs are in the folder `data`. What other programs
need to know is in `data/fleet.env`. Needs `pip install 'fencepost[mongodb,web]'`, and `mongod` (6 or newer)
on the PATH or named by MONGOD.
"""

import os
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from pymongo import MongoClient
from pymongo.errors import PyMongoError

HERE = Path(__file__).resolve().parent
DATA = Path(os.environ.get("FLEET_DATA", HERE / "data"))
FENCEPOST = [sys.executable, "-m", "fencepost"]
PATIENCE_S = 120.0
NODES, SCHEDULERS, WORKERS = 3, 3, 2


def main() -> None:
    mongod = os.environ.get("MONGOD") or shutil.which("mongod")
    if mongod is None:
        sys.exit("mongod is not on the PATH; install MongoDB 6 or newer, or name the program: MONGOD=…")
    shutil.rmtree(DATA, ignore_errors=True)
    DATA.mkdir(parents=True)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    with ended_at_last() as processes, suppress(KeyboardInterrupt):
        ports = free_ports(NODES + 1)
        store = start_mongodb(mongod, ports[:NODES], processes)
        start_fleet(store, ports[-1], processes)
        watch(processes)


def start_mongodb(mongod: str, ports: list[int], processes: dict[str, subprocess.Popen[bytes]]) -> str:
    """A replica set; the URL of a store in it."""
    for number, port in enumerate(ports, 1):
        folder = DATA / f"mongodb-{number}"
        folder.mkdir()
        command = [mongod, "--replSet", "rs0", "--bind_ip", "127.0.0.1", "--port", str(port)]
        command += ["--dbpath", str(folder), "--wiredTigerCacheSizeGB", "0.25", "--nounixsocket"]
        command += ["--setParameter", "transactionLifetimeLimitSeconds=10"]
        start(f"mongodb-{number}", command, processes)
    for port in ports:
        until(lambda port=port: answers(port), "MongoDB")
    hosts = [f"127.0.0.1:{port}" for port in ports]
    members = [{"_id": number, "host": host} for number, host in enumerate(hosts)]
    settings = {"electionTimeoutMillis": 2_000}
    with MongoClient(hosts[0], directConnection=True) as client:
        client.admin.command("replSetInitiate", {"_id": "rs0", "members": members, "settings": settings})
    url = f"mongodb://{','.join(hosts)}/shop?replicaSet=rs0"
    with MongoClient(url) as client:
        until(lambda: bool(client.is_primary), "a primary")
    return url


def start_fleet(store: str, port: int, processes: dict[str, subprocess.Popen[bytes]]) -> None:
    """All processes of Fencepost; none of them needs to be the first."""
    token = secrets.token_urlsafe(32)
    facts = {
        "FENCEPOST_STORE": store,
        "FENCEPOST_TOKEN": token,
        "SERVER": f"http://127.0.0.1:{port}",
        "DATA": str(DATA),
    }
    known = "".join(f"export {name}='{value}'\n" for name, value in facts.items())
    os.environ |= facts
    subprocess.run([*FENCEPOST, "migrate"], check=True, cwd=HERE, stdout=subprocess.DEVNULL)
    for number in range(1, SCHEDULERS + 1):
        start(f"scheduler-{number}", [*FENCEPOST, "scheduler", "shop:app"], processes)
    for number in range(1, WORKERS + 1):
        start(f"worker-{number}", [*FENCEPOST, "worker", "shop:app"], processes)
    start("web", [*FENCEPOST, "web", "shop:app", "--bind", f"127.0.0.1:{port}"], processes)
    until(lambda: answers(port), "the web server")
    (DATA / "fleet.env").write_text(known, "utf-8")
    print(f"the dashboard is at {facts['SERVER']}, its token is {token}")
    print("now, in another terminal: ./tour.sh", flush=True)


def start(name: str, command: list[str], processes: dict[str, subprocess.Popen[bytes]]) -> None:
    with (DATA / f"{name}.log").open("wb") as log:
        processes[name] = subprocess.Popen(command, cwd=HERE, stdout=log, stderr=log, start_new_session=True)
    print(f"{name}: process {processes[name].pid}", flush=True)


def watch(processes: dict[str, subprocess.Popen[bytes]]) -> None:
    """Say who ends, until all have."""
    alive = dict(processes)
    while alive:
        for name, process in list(alive.items()):
            if process.poll() is not None:
                print(f"{name}: ended with {process.returncode}", flush=True)
                del alive[name]
        time.sleep(0.2)


@contextmanager
def ended_at_last() -> Iterator[dict[str, subprocess.Popen[bytes]]]:
    """End what was started, the latest first: the database outlives those who use it."""
    processes: dict[str, subprocess.Popen[bytes]] = {}
    try:
        yield processes
    finally:
        fleet = [one for name, one in processes.items() if not name.startswith("mongodb")]
        nodes = [one for name, one in processes.items() if name.startswith("mongodb")]
        for group in (fleet, nodes):
            for process in group:
                process.terminate()
            for process in group:
                with suppress(subprocess.TimeoutExpired):
                    process.wait(30)
                process.kill()


def answers(port: int) -> bool:
    with suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
        return True
    return False


def until(holds, what: str) -> None:
    end = time.monotonic() + PATIENCE_S
    while time.monotonic() < end:
        with suppress(PyMongoError):
            if holds():
                return
        time.sleep(0.1)
    sys.exit(f"{what} did not come up; see the logs in {DATA}")


def free_ports(count: int) -> list[int]:
    sockets = [socket.socket() for _ in range(count)]
    for one in sockets:
        one.bind(("127.0.0.1", 0))
    ports = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    return ports


if __name__ == "__main__":
    main()
