"""A mail server on loopback: as much of SMTP as a client speaks, and what it was handed."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field

from tests.servers.listening import listening


@dataclass
class MailBox:
    """What arrived; `refusals` are answered to the next messages in turn, after their text."""

    refusals: Sequence[str] = ()
    port: int = 0
    messages: list[str] = field(default_factory=list)
    senders: list[str] = field(default_factory=list)
    recipients: list[str] = field(default_factory=list)
    logins: list[str] = field(default_factory=list)
    offers: Sequence[str] = ("AUTH PLAIN",)
    tried: int = 0

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(ConnectionError, asyncio.IncompleteReadError):
            await _say(writer, "220 test")
            while line := (await reader.readline()).decode().strip():
                verb, _, rest = line.partition(" ")
                if verb.upper() == "QUIT":
                    await _say(writer, "221 bye")
                    break
                await self._answer(verb.upper(), rest, reader, writer)

    async def _answer(
        self, verb: str, rest: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        match verb:
            case "EHLO":
                said = ["test", *self.offers]
                lines = [f"250-{one}" for one in said[:-1]] + [f"250 {said[-1]}"]
                await _say(writer, *lines)
            case "AUTH":
                self.logins.append(rest)
                await _say(writer, "235 welcome")
            case "MAIL" | "RCPT":
                (self.senders if verb == "MAIL" else self.recipients).append(rest)
                await _say(writer, "250 ok")
            case "DATA":
                await _say(writer, "354 go on")
                text = (await reader.readuntil(b"\r\n.\r\n")).decode("latin-1")
                self.tried += 1
                if self.tried <= len(self.refusals):
                    await _say(writer, self.refusals[self.tried - 1])
                    return
                self.messages.append(text)
                await _say(writer, "250 taken")
            case _:
                await _say(writer, "250 ok")


@asynccontextmanager
async def mail_server(*refusals: str, **words: Sequence[str]) -> AsyncIterator[MailBox]:
    """A server until the block ends."""
    box = MailBox(refusals, **words)  # type: ignore[arg-type]
    async with listening(box.serve) as box.port:
        yield box


async def _say(writer: asyncio.StreamWriter, *lines: str) -> None:
    writer.write("".join(f"{line}\r\n" for line in lines).encode())
    await writer.drain()
