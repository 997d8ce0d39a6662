"""A provider on loopback that says what a test tells it, the wrong things too."""

from __future__ import annotations

import json
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import jwt
from aiohttp import web
from cryptography.hazmat.primitives.asymmetric import ec, rsa

CLIENT_ID = "fencepost"
RSA_KEY = rsa.generate_private_key(public_exponent=65537, key_size=2048)
OTHER_KEY = rsa.generate_private_key(public_exponent=65537, key_size=2048)
EC_KEY = ec.generate_private_key(ec.SECP256R1())
Change = Callable[[dict[str, Any]], Any]


def public(key: Any, algorithm: str, kid: str) -> dict[str, Any]:
    """The public half as a member of a key set."""
    made: dict[str, Any] = jwt.get_algorithm_by_name(algorithm).to_jwk(key.public_key(), as_dict=True)
    return {**made, "kid": kid, "use": "sig", "alg": algorithm}


@dataclass
class Forger:
    """What it answers, to be changed by a test."""

    port: int = 0
    keys: list[dict[str, Any]] = field(
        default_factory=lambda: [public(RSA_KEY, "RS256", "one"), public(EC_KEY, "ES256", "two")]
    )
    sign_with: Any = RSA_KEY
    algorithm: str = "RS256"
    headers: dict[str, Any] = field(default_factory=lambda: {"kid": "one"})
    claims: dict[str, Any] = field(
        default_factory=lambda: {"groups": ["staff"], "preferred_username": "anna"}
    )
    document: dict[str, Any] = field(default_factory=dict)
    userinfo: dict[str, Any] | None = None
    token: Callable[[str], str] = lambda token: token
    nonce: str = ""
    challenge: str = ""
    asked: list[str] = field(default_factory=list)
    forms: list[dict[str, str]] = field(default_factory=list)
    shown: list[str] = field(default_factory=list)
    token_status: int = 200
    token_error: str = "invalid_grant"
    moved: str = ""

    @property
    def issuer(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def sent(self, address: str) -> dict[str, str]:
        """What the browser brings; the code that comes of it is for this attempt."""
        asked = dict(parse_qsl(urlsplit(address).query))
        self.nonce, self.challenge = asked["nonce"], asked["code_challenge"]
        return asked

    def id_token(self) -> str:
        now = int(time.time())
        claims = {"iss": self.issuer, "sub": "248", "aud": CLIENT_ID, "iat": now, "exp": now + 60}
        claims |= {"nonce": self.nonce, **self.claims}
        given = {name: value for name, value in claims.items() if value is not None}
        return self.token(jwt.encode(given, self.sign_with, self.algorithm, self.headers))

    async def discovery(self, request: web.Request) -> web.Response:
        self.asked.append("discovery")
        if self.moved:
            raise web.HTTPFound(self.moved)
        told = {
            "issuer": self.issuer,
            "authorization_endpoint": f"{self.issuer}/authorize",
            "token_endpoint": f"{self.issuer}/token",
            "jwks_uri": f"{self.issuer}/keys",
            "end_session_endpoint": f"{self.issuer}/out",
            **({} if self.userinfo is None else {"userinfo_endpoint": f"{self.issuer}/userinfo"}),
            **self.document,
        }
        return web.json_response(told)

    async def key_set(self, request: web.Request) -> web.Response:
        self.asked.append("keys")
        return web.json_response({"keys": self.keys})

    async def exchange(self, request: web.Request) -> web.Response:
        self.asked.append("token")
        self.forms.append({name: str(value) for name, value in (await request.post()).items()})
        self.shown.append(request.headers.get("Authorization", ""))
        if self.token_status != 200:
            return web.json_response({"error": self.token_error}, status=self.token_status)
        return web.json_response({"id_token": self.id_token(), "access_token": "access-token-1"})

    async def about(self, request: web.Request) -> web.Response:
        self.asked.append("userinfo")
        return web.Response(text=json.dumps(self.userinfo), content_type="application/json")


@asynccontextmanager
async def forging() -> AsyncIterator[Forger]:
    """One that listens."""
    forger = Forger()
    app = web.Application()
    app.router.add_get("/.well-known/openid-configuration", forger.discovery)
    app.router.add_get("/keys", forger.key_set)
    app.router.add_post("/token", forger.exchange)
    app.router.add_get("/userinfo", forger.about)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    forger.port = runner.addresses[0][1]
    try:
        yield forger
    finally:
        await runner.cleanup()
