"""TLS before a server that speaks none, as many run Redis: not every build of it has TLS inside."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

from tests.servers.certificates import Certificates
from tests.servers.listening import listening

CHUNK = 65_536


@asynccontextmanager
async def tls_before(
    port: int, certificates: Certificates, *, asks_for_certificate: bool
) -> AsyncIterator[int]:
    """The port on which the server at `port` is reached over TLS."""
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cafile=str(certificates.authority_file))
    context.load_cert_chain(certificates.certificate_file, certificates.key_file)
    context.verify_mode = ssl.CERT_REQUIRED if asks_for_certificate else ssl.CERT_NONE

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError):
            back_reader, back_writer = await asyncio.open_connection("127.0.0.1", port)
            await asyncio.gather(_carry(reader, back_writer), _carry(back_reader, writer))

    async with listening(serve, tls=context) as own:
        yield own


async def _carry(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        while chunk := await reader.read(CHUNK):
            writer.write(chunk)
            await writer.drain()
    except OSError:
        pass
    finally:
        writer.close()
