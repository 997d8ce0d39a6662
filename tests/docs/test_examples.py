"""The examples run, and the ledger shows it."""

from pathlib import Path

import pytest

from tests.cli.calls import called_json
from tests.cli.processes import SIGTERM, started

EXAMPLES = Path(__file__).parents[2] / "examples"
CASES = [("hello:app", "hello"), ("commands.toml", "disk-usage"), ("processes:app", "count_primes")]
TRIED_BY_THEMSELVES = {"invoices", "webhook.toml", "webhook_receiver"}
"""Those that need something beside them."""


@pytest.mark.parametrize(("target", "schedule"), CASES)
def test_an_example_succeeds(target: str, schedule: str, tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'example.db'}"
    with started("run", target, "--store", url, folder=EXAMPLES) as process:
        process.wait_for(f"succeeded run_key={schedule}#")
        process.signal(SIGTERM)
        assert process.ended() == 0, process.said
    runs = called_json("runs", "list", "--schedule", schedule, "--state", "succeeded", "--store", url)
    assert runs
    assert runs[-1]["attempt"] == 1


def test_every_example_is_tried() -> None:
    tried = {target.removesuffix(":app") for target, _ in CASES} | TRIED_BY_THEMSELVES
    assert {path.name.removesuffix(".py") for path in EXAMPLES.iterdir() if path.is_file()} == tried
