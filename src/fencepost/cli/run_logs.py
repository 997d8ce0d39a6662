"""`fencepost runs logs`: what a run left to be read."""

from __future__ import annotations

import time
from collections.abc import Iterator

import click

from fencepost.cli.calling import Caller, calling
from fencepost.cli.options import Place, asks, json_option
from fencepost.cli.output import print_json, printable
from fencepost.core.lifecycle import ENDED
from fencepost.operations.responses.runs import LogChunk
from fencepost.operations.runs import ReadLogRequest, RunRequest, read_log, show_run

LOOK_EVERY_S = 1.0


@click.command("logs")
@click.argument("run_key", metavar="KEY")
@click.option("--attempt", type=click.IntRange(min=1), metavar="N", help="Only of that attempt.")
@click.option("--follow", "-f", is_flag=True, help="Go on as more is written, until the run has ended.")
@asks
@json_option
def logs(run_key: str, attempt: int | None, follow: bool, place: Place, as_json: bool) -> None:
    """Show what a run has written: with run.log, with logging, or as a command's output.

    Of a long log the first lines and the last are kept. What looks like a secret is masked.

    \b
    Example:
      fencepost runs logs 'invoices#2026-03-01T00:00:00Z#3' --follow
      fencepost runs logs 'resize#resize-7' --attempt 2
    """
    if follow and as_json:
        raise click.UsageError("--json prints one document, and --follow has no end; leave one of them out")
    with calling(place) as caller:
        log = Log(caller, run_key, attempt)
        if as_json:
            print_json(list(log.written()))
        else:
            _show(log.followed() if follow else log.written())


def _show(chunks: Iterator[LogChunk]) -> None:
    teller = Teller()
    for one in chunks:
        for line in teller.lines(one):
            click.echo(line)
    if teller.last is None:
        click.echo("nothing is logged", err=True)


class Log:
    """The log of one run, or of one attempt of it, read on from where it was left."""

    def __init__(self, caller: Caller, run_key: str, attempt: int | None) -> None:
        self._caller = caller
        self._run_key = run_key
        self._attempt = attempt
        self._after: str | None = None

    def written(self) -> Iterator[LogChunk]:
        """To its present end."""
        while True:
            request = ReadLogRequest(run_key=self._run_key, attempt=self._attempt, after=self._after)
            page = self._caller.call(read_log, request)
            yield from page.items
            self._after = page.next
            if not page.items:
                return

    def followed(self) -> Iterator[LogChunk]:
        """Until the run has ended; the state is read before the log, so that nothing is missed at the end."""
        over = False
        while True:
            ended = self._has_ended()
            yield from self.written()
            if over:
                return
            over = ended
            time.sleep(LOOK_EVERY_S)

    def _has_ended(self) -> bool:
        run = self._caller.call(show_run, RunRequest(run_key=self._run_key))
        return run.state in ENDED or (self._attempt is not None and run.attempt > self._attempt)


class Teller:
    """A log as people read it: a heading for each attempt, and a word where lines are missing."""

    def __init__(self) -> None:
        self.last: LogChunk | None = None

    def lines(self, chunk: LogChunk) -> Iterator[str]:
        """The lines of the next chunk."""
        if self.last is None or self.last.attempt != chunk.attempt:
            yield f"attempt {chunk.attempt}:"
            read = 0
        else:
            read = self.last.line + len(self.last.lines)
        if chunk.line > read:
            yield f"  … {chunk.line - read} lines are not kept"
        for line in chunk.lines:
            yield f"  {printable(line)}"
        self.last = chunk
