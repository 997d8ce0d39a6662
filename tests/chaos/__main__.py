"""The long chaos run: `python -m tests.chaos`. See `make chaos`.

Fleets of real processes on real servers, a nemesis for each, until what must have happened has happened; then
the shared checkers on what was recorded. The answer is the exit code: 0 where every promise was kept and
every floor is met, 1 otherwise.
"""

from __future__ import annotations

import argparse
import asyncio
import shutil
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from pathlib import Path

from tests.chaos import programme, report
from tests.chaos.campaign import Campaign, Part, Result
from tests.chaos.stage import faketime
from tests.numbers import count, span

PROGRESS_EVERY_S = 5.0
BAR = 24
OUT = Path("build/chaos")
EXAMPLE = "example: python -m tests.chaos --minutes 15 --seed 7; one fleet alone: --only sqlite --failovers 0"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run, judge, tell."""
    parser = _parser()
    given = parser.parse_args(arguments)
    floors = {what: getattr(given, _dest(what)) for what in programme.FLOORS}
    lanes = programme.long(given.seed, given.rate)
    names = [part.name for lane in lanes for part in lane]
    if unknown := [name for name in given.only or () if name not in names]:
        parser.error(f"no such fleet: {', '.join(unknown)}; there are {', '.join(names)}")
    chosen = [[part for part in lane if not given.only or part.name in given.only] for lane in lanes]
    for told in _missing():
        _say(told)
    folder = Path(tempfile.mkdtemp(prefix="fencepost-chaos-"))
    try:
        return asyncio.run(_run([lane for lane in chosen if lane], given, floors, folder))
    except KeyboardInterrupt:
        _say("\nstopped; nothing was judged")
        return 130
    finally:
        shutil.rmtree(folder, ignore_errors=True)


async def _run(
    lanes: Sequence[Sequence[Part]], given: argparse.Namespace, floors: Mapping[str, int], folder: Path
) -> int:
    campaign = Campaign(lanes, given.minutes, floors, folder)
    async with AsyncExitStack() as exits:
        progress = asyncio.create_task(_progress(campaign, given.minutes * 60))
        try:
            await campaign.run(exits)
        except BaseExceptionGroup as group:
            raise group.exceptions[0] from group
        finally:
            progress.cancel()
        _say("\njudging")
        results = await campaign.results()
        out: Path = given.out
        _say(report.write(campaign, results, given.seed, out))
        _keep_evidence(results, folder, out)
    broken = any(True for result in results for _ in result.faults)
    return 1 if broken or campaign.lacking else 0


async def _progress(campaign: Campaign, planned_s: float) -> None:
    """One line that is written over on a terminal, and one line after the other elsewhere."""
    began, overwrite = time.monotonic(), sys.stdout.isatty()
    while True:
        await asyncio.sleep(PROGRESS_EVERY_S)
        passed_s = time.monotonic() - began
        filled = min(int(BAR * passed_s / planned_s), BAR)
        counts = campaign.counts
        told = ", ".join(f"{counts[what]:,}/{floor:,} {what}" for what, floor in campaign.floors.items())
        line = (
            f"[{'#' * filled}{'.' * (BAR - filled)}] {int(passed_s) // 60}:{int(passed_s) % 60:02d}  {told}"
        )
        _say(f"\r{line}\x1b[K" if overwrite else line, end="" if overwrite else "\n")


def _keep_evidence(results: Sequence[Result], folder: Path, out: Path) -> None:
    """Of a fleet that broke a promise: its logs, and all changes of the runs in question."""
    for result in results:
        if faults := list(result.faults):
            kept = out / f"{result.scene.part.name}-evidence"
            shutil.copytree(folder / result.scene.part.name, kept, dirs_exist_ok=True)
            (kept / "faults.txt").write_text("\n\n".join([*faults, *report.evidence(result)]) + "\n")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m tests.chaos", description="The long chaos run.", epilog=EXAMPLE
    )
    parser.add_argument("--minutes", type=span, default=15.0, help="how long at least; at most twice that")
    parser.add_argument(
        "--seed", type=int, default=1, help="decides what is done to whom, and in which order"
    )
    parser.add_argument("--rate", type=count, default=130, help="ticks a second, over all fleets")
    parser.add_argument("--only", action="append", help="this fleet, and not all; may be repeated")
    parser.add_argument(
        "--out", type=Path, default=OUT, help="where the table, the figures and the picture go"
    )
    for what, floor in programme.FLOORS.items():
        parser.add_argument(
            f"--{_dest(what).replace('_', '-')}",
            dest=_dest(what),
            type=int,
            default=floor,
            help=f"go on until there were so many {what}",
        )
    return parser


def _dest(what: str) -> str:
    return what.replace(" ", "_")


def _missing() -> list[str]:
    told = [
        f"no fleet with leases there: {why}"
        for kind in programme.PROGRAMS
        if (why := programme.missing(kind))
    ]
    return told if faketime() else [*told, "no clock jumps: apt-get install faketime"]


def _say(text: str, end: str = "\n") -> None:
    sys.stdout.write(text + end)
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
