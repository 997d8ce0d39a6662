"""A double of the Kubernetes API server, in this process: Lease objects, and nothing else.

It is a double and not the real thing because the real one has to be built (`make test-kubernetes`), and
because some of what the adapter must bear cannot be had from a real one on request: an answer that takes
long by a virtual clock, a write that is held and arrives much later, a version that is forgotten at once, a
429. What both do is held together by `behaviour.py`, which runs against the two of them.
"""

from __future__ import annotations

import asyncio
import json
import ssl
from collections.abc import Awaitable, Callable
from copy import deepcopy
from itertools import count
from typing import Any

from aiohttp import web

from tests.servers.ports import free_port

VERBS = frozenset({"get", "list", "watch", "create", "update"})
LEASES = "/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases"
REVIEWS = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"

Body = dict[str, Any]


class Refusal(Exception):
    """A Status object instead of what was asked for."""

    def __init__(self, code: int, reason: str, message: str = "") -> None:
        super().__init__(message or reason)
        self.code = code
        self.body = {"kind": "Status", "code": code, "reason": reason, "message": message or reason}


class Double:
    """One API server. Whatever stands here in public may be changed by a test."""

    def __init__(self) -> None:
        self.authorizations = {"Bearer secret"}
        self.rights = set(VERBS)
        self.namespaces = {"default", "fleet"}
        self.objects: dict[tuple[str, str], Body] = {}
        self.requests: list[str] = []
        self.shown: list[str] = []
        """The authorization of each request."""
        self.refused: list[str] = []
        """Method and status of each refusal."""
        self.refusals: dict[str, Refusal] = {}
        """By method: every request of that kind is answered so, and changes nothing."""
        self.before: Callable[[str], Awaitable[None]] | None = None
        """Awaited with the method before a request is carried out."""
        self.after: Callable[[str], None] | None = None
        """Called with the method once a request is carried out, before it is answered."""
        self.ends_watches = False
        """End each stream as soon as it has begun."""
        self.resumed_from: list[int] = []
        """The versions that watches asked to go on from."""
        self.told = 0
        """The last version that a watcher was told of."""
        self.port = free_port()
        self._versions = count(100)
        self._uids = count(1)
        self._history: list[tuple[int, str, Body]] = []
        self.forgotten = 0
        self._news = asyncio.Condition()
        self._epoch_of_watches = 0
        self._runner: web.AppRunner | None = None

    async def start(self, context: ssl.SSLContext | None = None) -> None:
        app = web.Application()
        app.router.add_get(LEASES, self._guarded(self._list_or_watch))
        app.router.add_post(LEASES, self._guarded(self._create))
        app.router.add_get(LEASES + "/{name}", self._guarded(self._get))
        app.router.add_put(LEASES + "/{name}", self._guarded(self._replace))
        app.router.add_post(REVIEWS, self._guarded(self._review))
        self._runner = web.AppRunner(app, shutdown_timeout=0.1)
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", self.port, ssl_context=context).start()

    async def close(self) -> None:
        await self.end_watches()
        assert self._runner is not None
        await self._runner.cleanup()

    async def put(self, namespace: str, body: Body) -> Body:
        """Write as somebody who may do everything, whatever was there before."""
        key = (namespace, body["metadata"]["name"])
        kind = "MODIFIED" if key in self.objects else "ADDED"
        metadata = {"uid": f"uid-{next(self._uids)}"} | body["metadata"]
        return await self._store(kind, key, {**body, "metadata": metadata})

    async def delete(self, namespace: str, name: str) -> None:
        await self._store("DELETED", (namespace, name), self.objects[namespace, name])
        del self.objects[namespace, name]

    async def bookmark(self) -> int:
        """Tell all watchers how far the world is, though nothing of theirs has changed."""
        body = await self._tell("BOOKMARK", {"kind": "Lease", "metadata": {}})
        return int(body["metadata"]["resourceVersion"])

    async def forget(self) -> None:
        """As after a compaction: no watch can go on from anything that was."""
        self.forgotten = next(self._versions)
        self._history.clear()
        await self.end_watches()

    async def end_watches(self) -> None:
        """End every stream in good order, as the server does from time to time."""
        async with self._news:
            self._epoch_of_watches += 1
            self._news.notify_all()

    def count(self, method: str) -> int:
        return sum(one.startswith(f"{method} ") for one in self.requests)

    def _guarded(
        self, handle: Callable[[web.Request], Awaitable[web.StreamResponse]]
    ) -> Callable[[web.Request], Awaitable[web.StreamResponse]]:
        async def guarded(request: web.Request) -> web.StreamResponse:
            self.requests.append(f"{request.method} {request.path}")
            self.shown.append(request.headers.get("Authorization", ""))
            await request.read()
            try:
                if self.shown[-1] not in self.authorizations:
                    raise Refusal(401, "Unauthorized")
                if refusal := self.refusals.get(request.method):
                    raise refusal
                if self.before is not None:
                    await self.before(request.method)
                answer = await handle(request)
                if self.after is not None:
                    self.after(request.method)
                return answer
            except Refusal as refusal:
                self.refused.append(f"{request.method} {refusal.code}")
                return web.json_response(refusal.body, status=refusal.code)

        return guarded

    def _need(self, verb: str) -> None:
        if verb not in self.rights:
            raise Refusal(
                403, "Forbidden", f'leases is forbidden: User "node" cannot {verb} resource "leases"'
            )

    async def _list_or_watch(self, request: web.Request) -> web.StreamResponse:
        if "watch" in request.query:
            self._need("watch")
            return await self._watch(request)
        self._need("list")
        found = [
            {key: value for key, value in body.items() if key not in {"kind", "apiVersion"}}
            for (namespace, _), body in sorted(self.objects.items())
            if namespace == request.match_info["namespace"] and _is_selected(body, request)
        ]
        return web.json_response({"metadata": {"resourceVersion": str(next(self._versions))}, "items": found})

    async def _get(self, request: web.Request) -> web.Response:
        self._need("get")
        return web.json_response(self._present(_key(request)))

    async def _create(self, request: web.Request) -> web.Response:
        self._need("create")
        body = await request.json()
        key = (request.match_info["namespace"], body["metadata"]["name"])
        if key[0] not in self.namespaces:
            raise Refusal(404, "NotFound", f'namespaces "{key[0]}" not found')
        if key in self.objects:
            raise Refusal(409, "AlreadyExists")
        body["metadata"]["uid"] = f"uid-{next(self._uids)}"
        if "dryRun" not in request.query:
            body = await self._store("ADDED", key, body)
        return web.json_response(body, status=201)

    async def _replace(self, request: web.Request) -> web.Response:
        """A PUT upon nothing creates, unless it says which object it means."""
        self._need("update")
        body, key = await request.json(), _key(request)
        if key not in self.objects:
            if body["metadata"].get("uid"):
                raise Refusal(409, "Conflict", "Precondition failed: UID")
            body["metadata"]["uid"] = f"uid-{next(self._uids)}"
            return web.json_response(await self._store("ADDED", key, body), status=201)
        present = self._present(key)["metadata"]
        if not body["metadata"].get("resourceVersion"):
            raise Refusal(422, "Invalid", "metadata.resourceVersion: must be specified for an update")
        if any(body["metadata"].get(one, present[one]) != present[one] for one in ("resourceVersion", "uid")):
            raise Refusal(409, "Conflict", "the object has been modified")
        body["metadata"]["uid"] = present["uid"]
        return web.json_response(await self._store("MODIFIED", key, body))

    async def _review(self, request: web.Request) -> web.Response:
        asked = (await request.json())["spec"]["resourceAttributes"]
        allowed = asked["resource"] == "leases" and asked["verb"] in self.rights
        return web.json_response({"status": {"allowed": allowed}}, status=201)

    async def _watch(self, request: web.Request) -> web.StreamResponse:
        at, born = int(request.query["resourceVersion"]), self._epoch_of_watches
        self.resumed_from.append(at)
        response = web.StreamResponse()
        await response.prepare(request)
        if at < self.forgotten:
            gone = Refusal(410, "Expired", "too old resource version")
            await response.write(json.dumps({"type": "ERROR", "object": gone.body}).encode() + b"\n")
            return response
        while born == self._epoch_of_watches and not self.ends_watches:
            for version, kind, body in self._history.copy():
                if version > at and (kind == "BOOKMARK" or _is_selected(body, request)):
                    await response.write(json.dumps({"type": kind, "object": body}).encode() + b"\n")
                at = self.told = max(at, version)
            await self._wait_for_news(at, born)
        return response

    async def _wait_for_news(self, version: int, born: int) -> None:
        def is_news() -> bool:
            is_behind = bool(self._history) and self._history[-1][0] > version
            return is_behind or born != self._epoch_of_watches

        async with self._news:
            await self._news.wait_for(is_news)

    def _present(self, key: tuple[str, str]) -> Body:
        if key not in self.objects:
            raise Refusal(404, "NotFound")
        return self.objects[key]

    async def _store(self, kind: str, key: tuple[str, str], body: Body) -> Body:
        self.objects[key] = await self._tell(kind, body)
        return self.objects[key]

    async def _tell(self, kind: str, body: Body) -> Body:
        version = next(self._versions)
        body = deepcopy(body)
        body["metadata"]["resourceVersion"] = str(version)
        self._history.append((version, kind, body))
        async with self._news:
            self._news.notify_all()
        return body


def _key(request: web.Request) -> tuple[str, str]:
    return request.match_info["namespace"], request.match_info["name"]


def _is_selected(body: Body, request: web.Request) -> bool:
    """As the equality form of a label selector says."""
    labels = body["metadata"].get("labels") or {}
    wanted = (pair.split("=", 1) for pair in request.query.get("labelSelector", "").split(",") if pair)
    return all(labels.get(key) == value for key, value in wanted)
