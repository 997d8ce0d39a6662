"""The example of a highly available fleet, as its README tells it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.processes import clean_environment
from tests.examples.programs import EXAMPLES
from tests.servers.binaries import MONGODB

FOLDER = EXAMPLES / "highly-available"
PATIENCE_S = 300


@pytest.mark.proof
@pytest.mark.timeout(900)
def test_the_tour_kills_the_leader_and_no_tick_is_missing_or_doubled(tmp_path: Path) -> None:
    """Nine processes start, and a lease has to run out: half a minute."""
    place = {"FLEET_DATA": str(tmp_path / "data"), "MONGOD": str(MONGODB.path()), "PYTHON": sys.executable}
    environment = {**clean_environment(), **place, "PATH": os.environ["PATH"]}
    with subprocess.Popen(
        [sys.executable, "fleet.py"], cwd=FOLDER, env=environment, stdout=subprocess.PIPE, text=True
    ) as fleet:
        try:
            assert fleet.stdout is not None
            said = list(iter(fleet.stdout.readline, "now, in another terminal: ./tour.sh\n"))
            assert sum("scheduler-" in line for line in said) == 3, said
            tour = subprocess.run(
                ["./tour.sh"], cwd=FOLDER, env=environment, capture_output=True, text=True, timeout=PATIENCE_S
            )
        finally:
            fleet.send_signal(signal.SIGTERM)
            fleet.wait(PATIENCE_S)
    assert tour.returncode == 0, tour.stdout + tour.stderr
    assert "took over" in tour.stdout
    assert "4. No tick is missing, none is doubled" in tour.stdout
