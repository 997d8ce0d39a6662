"""The other end of a webhook: checks who sent it, and does each run once however often it is told.

export WEBHOOK_SECRET=…            # the same as in webhook.toml
python webhook_receiver.py [PORT]
"""

from __future__ import annotations

import json
import os
import sqlite3
import sys
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, HTTPServer

from fencepost.errors import BadSignature
from fencepost.executors.http import verify

PORT = int(sys.argv[1]) if len(sys.argv) > 1 else 8581
BODY_BYTES_MAX = 1_000_000
SECRETS = [os.environ["WEBHOOK_SECRET"]]
DATABASE = sqlite3.connect(os.environ.get("RECEIVER_DB", ":memory:"))
DATABASE.execute("CREATE TABLE IF NOT EXISTS nudges (run TEXT PRIMARY KEY, fence INTEGER, text TEXT)")


class Receiver(BaseHTTPRequestHandler):
    """Answers 200 to what is done, also when it was done before, and 401 to strangers."""

    def do_POST(self) -> None:
        body = self.rfile.read(min(int(self.headers.get("Content-Length", "0")), BODY_BYTES_MAX))
        try:
            run = verify(dict(self.headers.items()), body, SECRETS, datetime.now(UTC))
        except BadSignature as error:
            return self.answer(401, f"refused: {error}")
        return self.answer(200, self.do_once(run, json.loads(body)["text"]))

    def do_once(self, run: str, text: str) -> str:
        """The effect and the note that it was done are one transaction."""
        fence = int(self.headers["Fencepost-Fence"])
        with DATABASE:
            added = DATABASE.execute(
                "INSERT INTO nudges VALUES (?, ?, ?) ON CONFLICT DO NOTHING", (run, fence, text)
            ).rowcount
        return f"did {run}: {text}" if added else f"did {run} before"

    def answer(self, status: int, text: str) -> None:
        print(text, flush=True)
        self.send_response(status)
        self.end_headers()
        self.wfile.write(text.encode())

    def log_message(self, format: str, *args: object) -> None:
        """What is worth a line is printed already."""


if __name__ == "__main__":
    server = HTTPServer(("127.0.0.1", PORT), Receiver)
    print(f"listening on 127.0.0.1:{server.server_port}", flush=True)
    server.serve_forever()
