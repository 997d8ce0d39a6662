"""A stand-in for a mongos: it says that it is one, and passes on to one server what a router would pass on to
the shards. What a router refuses or does otherwise, as its manual and its source have it, it does too:

- its clock is its own, an hour off here; what asks for `$$NOW` would get it, and is refused here;
- it does not know the commands of a replica set, nor the database `local`;
- outside of transactions it does not know how many documents an update of many has changed: refused here;
- it refuses `$lookup` within a transaction, as before 8.0 where the collection is sharded;
- a snapshot is of the latest cluster time that the router has heard of in requests and answers.

It shards nothing. `shardCollection` is noted, and so is every other command.
"""

from __future__ import annotations

import socketserver
import struct
from collections.abc import Mapping
from contextlib import suppress
from datetime import timedelta
from socket import create_connection, socket
from threading import Lock, Thread
from typing import Any
from urllib.parse import urlsplit

import bson
from bson import Timestamp
from bson.raw_bson import RawBSONDocument

from tests.servers.ports import free_port
from tests.servers.process import Address

HEADER = struct.Struct("<iiii")
OP_REPLY, OP_QUERY, OP_MSG = 1, 2004, 2013
NO_ANSWER = 2
"""A flag of requests without an answer."""
HELLO = frozenset({"hello", "ismaster", "isMaster"})
TIMES = frozenset({"$clusterTime", "operationTime"})
OF_A_MEMBER = TIMES | {
    *("setName", "setVersion", "hosts", "primary", "me", "electionId"),
    *("lastWrite", "secondary", "topologyVersion"),
}
UNAUTHORIZED, NOT_FOUND, NO_SUCH_OPTION, NO_LOOKUP, LOCAL = 13, 59, 72, 3904800, 20
MULTI = b"\x08multi\0\1"
"""What is in the statement for an update of many."""
AHEAD = timedelta(hours=1)

Document = dict[str, Any]


class Listener(socketserver.ThreadingTCPServer):
    """A thread for each connection; a driver opens many at once."""

    daemon_threads = True
    request_queue_size = 128


class MongoRouter:
    """Listens on a port of its own, before a server."""

    def __init__(self, server: Address) -> None:
        asked = urlsplit(server.url)
        self.target = (str(asked.hostname), asked.port or 27017)
        self.sharded: set[str] = set()
        self.may_shard = True
        self.lags = False
        """Whether the shard with the collections that are not sharded has heard nothing of late."""
        self.commands: list[Document] = []
        self.heard = Timestamp(0, 0)
        self._lock = Lock()
        self._server = Listener(("127.0.0.1", free_port()), self._handler())
        self.port = self._server.server_address[1]
        Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()

    def url(self, database: str) -> str:
        return f"mongodb://127.0.0.1:{self.port}/{database}"

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()

    def hear(self, said: Mapping[str, Any]) -> None:
        if "$clusterTime" in said:
            with self._lock:
                self.heard = max(self.heard, said["$clusterTime"]["clusterTime"])

    def answer(self, command: Mapping[str, Any]) -> Document | None:
        """What the router answers by itself."""
        name, value = next(iter(command.items()))
        self.commands.append(dict(command))
        if name == "shardCollection":
            if not self.may_shard:
                return refusal(UNAUTHORIZED, "not authorized on admin to execute command")
            self.sharded.add(value.partition(".")[2])
            return {"collectionsharded": value, "ok": 1.0}
        if name.startswith("replSet"):
            return refusal(NOT_FOUND, f"no such command: '{name}'")
        if name == "getParameter":
            return refusal(NO_SUCH_OPTION, "no option found to get")
        if command["$db"] == "local":
            return refusal(LOCAL, "Can't use 'local' database through mongos")
        if command.get("autocommit") is False and any(
            "$lookup" in one for one in command.get("pipeline", ())
        ):
            return refusal(NO_LOOKUP, "Cannot run $lookup with a sharded foreign collection in a transaction")
        return None

    def passed_on(self, command: Mapping[str, Any]) -> Document | None:
        """The command with the time of its snapshot, where the server would choose it."""
        concern = dict(command.get("readConcern") or {})
        if concern.get("level") != "snapshot" or "atClusterTime" in concern:
            return None
        concern["atClusterTime"] = max(self.heard, concern.pop("afterClusterTime", self.heard))
        return {**command, "readConcern": concern} if concern["atClusterTime"].time else None

    def rewritten(self, command: Mapping[str, Any], answer: Mapping[str, Any]) -> Document | None:
        name, value = next(iter(command.items()))
        if name in HELLO:
            kept = {field: one for field, one in answer.items() if field not in OF_A_MEMBER}
            return {**kept, "msg": "isdbgrid", "localTime": answer["localTime"] + AHEAD}
        if name == "collStats":
            return {**answer, "sharded": value in self.sharded}
        if self.lags and str(value) not in self.sharded:
            return {field: one for field, one in answer.items() if field not in TIMES}
        return None

    def _handler(self) -> type[socketserver.BaseRequestHandler]:
        router = self

        class Handler(socketserver.BaseRequestHandler):
            def handle(self) -> None:
                with suppress(OSError, EOFError), create_connection(router.target) as server:
                    while True:
                        _serve(router, self.request, server)

        return Handler


def refusal(code: int, message: str) -> Document:
    return {"ok": 0.0, "errmsg": message, "code": code}


def _serve(router: MongoRouter, client: socket, server: socket) -> None:
    """One request and its answer."""
    request = _message(client)
    number, flags, command = _command(request)
    own = None if flags & NO_ANSWER else router.answer(command)
    if b"$$NOW" in request:
        own = refusal(NO_SUCH_OPTION, "$$NOW is the router's clock")
    if command.get("autocommit") is None and MULTI in request:
        own = refusal(NO_SUCH_OPTION, "nothing is known of an update of many outside of a transaction")
    if own is not None:
        client.sendall(_packed(OP_MSG, number, own))
        return
    name = next(iter(command))
    if name not in HELLO:
        router.hear(command)
    dated = router.passed_on(command)
    if dated is not None:
        _run_context(server, dated["readConcern"]["atClusterTime"])
    server.sendall(_replaced(request, dated))
    if flags & NO_ANSWER:
        return
    message = _message(server)
    opcode, answer = _answer(message)
    instead = router.rewritten(command, answer)
    router.hear(answer if instead is None else instead)
    client.sendall(message if instead is None else _packed(opcode, number, instead))


def _run_context(server: socket, time: Timestamp) -> None:
    """Have the server write up to a cluster time, as a shard does before it reads at one."""
    note = {"appendOplogNote": 1, "maxClusterTime": time, "data": {"msg": "noop"}, "$db": "admin"}
    server.sendall(_packed(OP_MSG, 0, note))
    _message(server)


def _message(end: socket) -> bytes:
    size = HEADER.unpack(head := _exactly(end, HEADER.size))[0]
    return head + _exactly(end, size - HEADER.size)


def _exactly(end: socket, size: int) -> bytes:
    read = b""
    while len(read) < size:
        if not (more := end.recv(size - len(read))):
            raise EOFError
        read += more
    return read


def _command(request: bytes) -> tuple[int, int, Mapping[str, Any]]:
    """The number, the flags and the command. A query is the driver's first word on a connection."""
    _, number, _, opcode = HEADER.unpack_from(request)
    if opcode == OP_QUERY:
        return number, 0, RawBSONDocument(request[request.index(b"\0", 20) + 9 :])
    (flags,) = struct.unpack_from("<I", request, 16)
    return number, flags, RawBSONDocument(_body(request))


def _body(message: bytes) -> bytes:
    """The document behind flags and the kind of the first section, which is the command in all drivers."""
    assert message[20] == 0
    return message[21 : 21 + struct.unpack_from("<i", message, 21)[0]]


def _replaced(request: bytes, command: Document | None) -> bytes:
    """The request with another command; what follows stays."""
    if command is None:
        return request
    rest = request[16:21] + bson.encode(command) + request[21 + len(_body(request)) :]
    return HEADER.pack(HEADER.size + len(rest), *HEADER.unpack_from(request)[1:]) + rest


def _answer(message: bytes) -> tuple[int, Mapping[str, Any]]:
    opcode = HEADER.unpack_from(message)[3]
    return opcode, RawBSONDocument(message[36:] if opcode == OP_REPLY else _body(message))


def _packed(opcode: int, to: int, answer: Document) -> bytes:
    before = struct.pack("<iqii", 8, 0, 0, 1) if opcode == OP_REPLY else struct.pack("<IB", 0, 0)
    body = before + bson.encode(answer)
    return HEADER.pack(HEADER.size + len(body), 0, to, opcode) + body
